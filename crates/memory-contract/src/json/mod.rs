//! JSON as text, so that numbers keep their digits.

mod quoted;

use std::collections::BTreeMap;

use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

pub use quoted::{json_line, to_the_second};

/// The members of an object by name, each as its JSON text.
pub type Members = BTreeMap<String, Box<RawValue>>;

/// A JSON object: valid text, kept as it was given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct JsonObject {
    /// Empty for an object without members.
    text: String,
}

impl JsonObject {
    /// Takes the JSON text of an object.
    ///
    /// # Errors
    /// Text that is no JSON object.
    pub fn parse(text: String) -> Result<Self, serde_json::Error> {
        let members: Members = serde_json::from_str(&text)?;
        Ok(match members.is_empty() {
            true => Self::default(),
            false => Self { text },
        })
    }

    /// Takes text that was parsed before, into the object `value`.
    pub(crate) fn of_parsed(text: String, value: &Value) -> Self {
        match value.as_object().is_none_or(Map::is_empty) {
            true => Self::default(),
            false => Self { text },
        }
    }

    /// The JSON text; `{}` without members.
    pub fn as_str(&self) -> &str {
        match self.text.is_empty() {
            true => "{}",
            false => &self.text,
        }
    }

    /// The JSON text; empty without members.
    pub fn into_text(self) -> String {
        self.text
    }

    /// The bytes of the text; 0 without members.
    pub fn bytes(&self) -> usize {
        self.text.len()
    }

    /// Whether it has no members.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Removes all members.
    pub fn clear(&mut self) {
        self.text.clear();
    }

    /// The members.
    pub fn members(&self) -> Members {
        serde_json::from_str(self.as_str()).unwrap_or_default()
    }

    /// Whether the member `name` is `true`.
    pub fn is_true(&self, name: &str) -> bool {
        self.text.contains(name)
            && self
                .members()
                .get(name)
                .is_some_and(|value| value.get() == "true")
    }

    /// Applies a JSON merge patch (RFC 7396): null removes a member, an object is merged
    /// into the existing one, any other value replaces it.
    #[must_use]
    pub fn patched(&self, patch: &Self) -> Self {
        let mut members = self.members();
        merge(&mut members, patch.members());
        Self::from(members)
    }
}

fn merge(target: &mut Members, patch: Members) {
    for (name, value) in patch {
        if value.get() == "null" {
            target.remove(&name);
            continue;
        }
        let Ok(inner) = serde_json::from_str::<Members>(value.get()) else {
            target.insert(name, value);
            continue;
        };
        let current = target.get(&name).map_or("", |value| value.get());
        let mut current: Members = serde_json::from_str(current).unwrap_or_default();
        merge(&mut current, inner);
        if let Ok(merged) = serde_json::value::to_raw_value(&current) {
            target.insert(name, merged);
        }
    }
}

/// Whether a JSON value is a string, a number, a boolean or null.
pub fn is_scalar(value: &RawValue) -> bool {
    !value.get().starts_with(['[', '{'])
}

/// The text of a JSON value that is equal for equal values: members are sorted by name, and
/// numbers that are equal have the same digits.
pub fn canonical_json(value: &RawValue) -> String {
    let text = value.get();
    let parsed = || serde_json::from_str::<Value>(text).map(|value| value.to_string());
    match text.as_bytes().first() {
        Some(b'{') => {
            let members: Members = serde_json::from_str(text).unwrap_or_default();
            let members = members.iter().map(|(name, value)| {
                format!("{}:{}", Value::from(name.as_str()), canonical_json(value))
            });
            format!("{{{}}}", members.collect::<Vec<_>>().join(","))
        }
        Some(b'[') => {
            let items: Vec<Box<RawValue>> = serde_json::from_str(text).unwrap_or_default();
            let items = items.iter().map(|item| canonical_json(item));
            format!("[{}]", items.collect::<Vec<_>>().join(","))
        }
        Some(b'-' | b'0'..=b'9') => canonical_number(text),
        _ => parsed().unwrap_or_default(),
    }
}

/// The digits of a JSON number without zeros at the ends, and the power of ten of the last
/// one: `1`, `1.0` and `10e-1` are `1e0`.
fn canonical_number(number: &str) -> String {
    let (sign, number) = match number.strip_prefix('-') {
        Some(number) => ("-", number),
        None => ("", number),
    };
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let significant = digits.trim_end_matches('0');
    let dropped = i64::try_from(digits.len() - significant.len()).unwrap_or_default();
    let shift = i64::try_from(fraction.len()).unwrap_or_default();
    let exponent = exponent.parse::<i64>().unwrap_or_default() - shift + dropped;
    match significant.trim_start_matches('0') {
        "" => "0".to_owned(),
        significant => format!("{sign}{significant}e{exponent}"),
    }
}

impl From<Members> for JsonObject {
    fn from(members: Members) -> Self {
        match members.is_empty() {
            true => Self::default(),
            false => Self {
                text: serde_json::to_string(&members).unwrap_or_default(),
            },
        }
    }
}

impl From<Map<String, Value>> for JsonObject {
    fn from(object: Map<String, Value>) -> Self {
        match object.is_empty() {
            true => Self::default(),
            false => Self {
                text: Value::Object(object).to_string(),
            },
        }
    }
}

impl Serialize for JsonObject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = serde_json::from_str(self.as_str()).map_err(S::Error::custom)?;
        raw.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for JsonObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        Self::parse(Box::<str>::from(raw).into()).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(text: &str) -> JsonObject {
        JsonObject::parse(text.to_owned()).unwrap()
    }

    /// Within a member, so that patches that are no object count too.
    fn check(original: &str, patch: &str, result: &str) {
        let of = |value: &str| object(&format!("{{\"member\":{value}}}"));
        assert_eq!(of(original).patched(&of(patch)), of(result));
    }

    /// Appendix A of RFC 7396. Its patches that are null as a whole remove the
    /// member here.
    #[test]
    fn the_examples_of_the_rfc_hold() {
        check(r#"{"a":"b"}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#);
        check(r#"{"a":"b"}"#, r#"{"b":"c"}"#, r#"{"a":"b","b":"c"}"#);
        check(r#"{"a":"b"}"#, r#"{"a":null}"#, "{}");
        check(r#"{"a":"b","b":"c"}"#, r#"{"a":null}"#, r#"{"b":"c"}"#);
        check(r#"{"a":["b"]}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#);
        check(r#"{"a":"c"}"#, r#"{"a":["b"]}"#, r#"{"a":["b"]}"#);
        check(
            r#"{"a":{"b":"c"}}"#,
            r#"{"a":{"b":"d","c":null}}"#,
            r#"{"a":{"b":"d"}}"#,
        );
        check(r#"{"a":[{"b":"c"}]}"#, r#"{"a":[1]}"#, r#"{"a":[1]}"#);
        check(r#"["a","b"]"#, r#"["c","d"]"#, r#"["c","d"]"#);
        check(r#"{"a":"b"}"#, r#"["c"]"#, r#"["c"]"#);
        check(r#"{"a":"foo"}"#, r#""bar""#, r#""bar""#);
        check(r#"{"e":null}"#, r#"{"a":1}"#, r#"{"a":1,"e":null}"#);
        check("[1,2]", r#"{"a":"b","c":null}"#, r#"{"a":"b"}"#);
        check("{}", r#"{"a":{"bb":{"ccc":null}}}"#, r#"{"a":{"bb":{}}}"#);
    }

    #[test]
    fn null_removes_a_member_or_does_nothing() {
        let target = object(r#"{"a":"foo"}"#);
        assert_eq!(target.patched(&object(r#"{"b":null}"#)), target);
        assert!(target.patched(&object(r#"{"a":null}"#)).is_empty());
    }

    #[test]
    fn numbers_keep_their_digits() {
        let text = r#"{"id":1234567890123456789012345678901,"x":0.10000000000000000000001}"#;
        let read = object(text);
        assert_eq!(read.as_str(), text);
        assert_eq!(serde_json::to_string(&read).unwrap(), text);
        let patched = read.patched(&object(r#"{"y":18446744073709551617}"#));
        assert_eq!(
            patched.as_str(),
            &format!("{},\"y\":18446744073709551617}}", &text[..text.len() - 1])
        );
        assert_eq!(serde_json::from_str::<JsonObject>(text).unwrap(), read);
    }

    #[test]
    fn an_object_without_members_is_empty() {
        for text in ["{}", " { } "] {
            assert_eq!(object(text), JsonObject::default());
        }
        assert_eq!(JsonObject::default().as_str(), "{}");
        assert!(JsonObject::parse("[]".to_owned()).is_err());
    }
}
