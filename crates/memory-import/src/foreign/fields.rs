//! Takes the fields of a JSON object one by one; the rest becomes metadata.

use memory_contract::limits;
use prost_types::Timestamp;
use serde_json::{Map, Value};

use crate::values::{object_text, time_from};

/// The fields of an object that were not taken yet.
#[derive(Debug, Clone)]
pub(super) struct Fields {
    left: Map<String, Value>,
    /// The metadata that the object has itself.
    own: Map<String, Value>,
}

impl Fields {
    /// # Errors
    /// If the value is no object.
    pub(super) fn from_json(json: Value) -> Result<Self, String> {
        match json {
            Value::Object(left) => Ok(Self {
                left,
                own: Map::new(),
            }),
            _ => Err("it has to be an object".to_owned()),
        }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.left.get(name).is_some_and(|value| !value.is_null())
    }

    /// Takes the first of these fields that is a text, or a number as one.
    pub(super) fn text(&mut self, names: &[&str]) -> Option<String> {
        let set = names.iter().find_map(|name| match self.left.get(*name)? {
            Value::String(text) if !text.is_empty() => Some((name, text.clone())),
            Value::Number(number) => Some((name, number.to_string())),
            _ => None,
        });
        let (name, text) = set?;
        self.left.remove(*name);
        Some(text)
    }

    /// Takes the first of these fields that is set, as a time. A time without an offset is
    /// in UTC.
    ///
    /// # Errors
    /// If it is no time.
    pub(super) fn time(&mut self, names: &[&str]) -> Result<Option<Timestamp>, String> {
        let set = names.iter().find(|name| self.has(name));
        let Some(value) = set.and_then(|name| self.left.remove(*name)) else {
            return Ok(None);
        };
        time_of(&value).map(Some)
    }

    /// Takes a list; one text counts as a list of one.
    pub(super) fn list(&mut self, name: &str) -> Vec<Value> {
        match self.left.remove(name) {
            Some(Value::Array(items)) => items,
            Some(text @ Value::String(_)) => vec![text],
            _ => Vec::new(),
        }
    }

    /// Takes a list of texts.
    pub(super) fn texts(&mut self, name: &str) -> Vec<String> {
        let items = self.list(name).into_iter();
        let texts = items.filter_map(|item| item.as_str().map(str::to_owned));
        texts.filter(|text| !text.is_empty()).collect()
    }

    /// Takes an object.
    pub(super) fn object(&mut self, name: &str) -> Option<Map<String, Value>> {
        if !self.left.get(name)?.is_object() {
            return None;
        }
        match self.left.remove(name)? {
            Value::Object(object) => Some(object),
            _ => None,
        }
    }

    pub(super) fn flag(&mut self, name: &str) -> bool {
        matches!(self.left.remove(name), Some(Value::Bool(true)))
    }

    pub(super) fn number(&mut self, name: &str) -> Option<i64> {
        self.left.remove(name)?.as_i64()
    }

    /// Drops fields that the source computes from others.
    pub(super) fn discard(&mut self, names: &[&str]) {
        for name in names {
            self.left.remove(*name);
        }
    }

    /// Labels within the limits; the others stay.
    pub(super) fn labels(&mut self, name: &str, most: usize, chars: usize) -> Vec<String> {
        let mut fit: Vec<String> = Vec::new();
        let mut others = Vec::new();
        for label in self.texts(name) {
            match fit.len() < most && label.chars().count() <= chars {
                true if fit.contains(&label) => {}
                true => fit.push(label),
                false => others.push(Value::String(label)),
            }
        }
        if !others.is_empty() {
            self.left.insert(name.to_owned(), Value::Array(others));
        }
        fit
    }

    /// Adds a field to the metadata.
    pub(super) fn keep(&mut self, name: &str, value: Value) {
        self.left.insert(name.to_owned(), value);
    }

    /// Takes the object's own metadata, which comes first where a name stands twice.
    pub(super) fn take_metadata(&mut self) {
        self.own = self.object("metadata").unwrap_or_default();
    }

    /// All that is left, and whether it exceeds the limits of metadata: then only the
    /// object's own metadata, if that fits.
    pub(super) fn metadata(self) -> (String, bool) {
        let fits = |fields: &Map<String, Value>| {
            let (bytes, depth) = (limits::METADATA_BYTES, limits::METADATA_DEPTH);
            memory_contract::convert::object_from("", object_text(fields), bytes, depth).is_ok()
        };
        let mut all = self.own.clone();
        for (name, value) in self.left {
            let is_empty = match &value {
                Value::Null => true,
                Value::Array(items) => items.is_empty(),
                Value::Object(fields) => fields.is_empty(),
                _ => false,
            };
            if !is_empty {
                all.entry(name).or_insert(value);
            }
        }
        match (fits(&all), fits(&self.own)) {
            (true, _) => (object_text(&all), false),
            (false, true) => (object_text(&self.own), true),
            (false, false) => (String::new(), true),
        }
    }
}

/// The time in a field of an object; `None` without the field.
///
/// # Errors
/// The field is set, and is no time.
pub(super) fn time_in(object: &Value, name: &str) -> Result<Option<Timestamp>, String> {
    match object.get(name) {
        None | Some(Value::Null) => Ok(None),
        // A cell of a table that is not set.
        Some(Value::String(text)) if text.is_empty() => Ok(None),
        Some(value) => time_of(value)
            .map(Some)
            .map_err(|problem| format!("`{name}`: {problem}")),
    }
}

/// A time as Python or Postgres prints it: with a space instead of the `T`, with an offset
/// such as `+01` or `+0100` or without one, or a day alone.
pub(super) fn time_of(value: &Value) -> Result<Timestamp, String> {
    let Value::String(text) = value else {
        return time_from(value);
    };
    let text = text.trim().replacen(' ', "T", 1);
    let with_time = match text.contains('T') {
        true => text,
        false => text + "T00:00:00",
    };
    let clock = with_time.split_once('T').map_or("", |(_, clock)| clock);
    let offset = clock.rsplit_once(['+', '-']).map(|(_, offset)| offset);
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let full = match offset.map(|offset| (offset.len(), is_number(offset))) {
        Some((2, true)) => with_time + ":00",
        Some((4, true)) => {
            let (hours, minutes) = with_time.split_at(with_time.len() - 2);
            format!("{hours}:{minutes}")
        }
        None if !clock.ends_with(['Z', 'z']) => with_time + "Z",
        _ => with_time,
    };
    time_from(&Value::String(full)).map_err(|_| format!("{value} is not a time"))
}
