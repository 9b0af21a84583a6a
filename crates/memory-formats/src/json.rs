//! JSON that keeps its bytes: values are slices of the text that they stand in, and what
//! is written is put together from texts. So numbers, the order of keys and white space
//! are what they were.

use std::borrow::Cow;

use serde::de::IgnoredAny;

use memory_contract::Invalid;

/// A JSON value within a text, with its path in that text.
#[derive(Clone, Debug)]
pub(crate) struct Node<'a> {
    text: &'a str,
    path: String,
}

/// The fields of a JSON object. Of a repeated key, the last one counts.
#[derive(Clone, Debug)]
pub(crate) struct Fields<'a> {
    fields: Vec<(Cow<'a, str>, &'a str)>,
    node: Node<'a>,
}

impl<'a> Node<'a> {
    /// Reads a text, whose path is `path`.
    pub(crate) fn parse(text: &'a str, path: String) -> Result<Self, Invalid> {
        match serde_json::from_str::<IgnoredAny>(text) {
            Ok(_) => Ok(Self {
                text: text.trim(),
                path,
            }),
            Err(error) => Err(Invalid::new(path, format!("must be JSON: {error}"))),
        }
    }

    /// The value as it is written.
    pub(crate) fn text(&self) -> &'a str {
        self.text
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// An error about the value.
    pub(crate) fn invalid(&self, problem: impl Into<String>) -> Invalid {
        Invalid::new(self.path.clone(), problem)
    }

    pub(crate) fn is_object(&self) -> bool {
        self.text.starts_with('{')
    }

    pub(crate) fn is_list(&self) -> bool {
        self.text.starts_with('[')
    }

    pub(crate) fn is_string(&self) -> bool {
        self.text.starts_with('"')
    }

    pub(crate) fn is_null(&self) -> bool {
        self.text == "null"
    }

    /// A string, decoded.
    pub(crate) fn string(&self) -> Result<String, Invalid> {
        if !self.is_string() {
            return Err(self.invalid("must be a string"));
        }
        serde_json::from_str(self.text).map_err(|error| self.invalid(format!("{error}")))
    }

    /// The items of a list.
    pub(crate) fn items(&self) -> Result<Vec<Self>, Invalid> {
        if !self.is_list() {
            return Err(self.invalid("must be a list"));
        }
        let mut items = Vec::new();
        let mut rest = self.text[1..].trim_start();
        while !rest.starts_with(']') && !rest.is_empty() {
            let end = value_end(rest);
            items.push(Self {
                text: &rest[..end],
                path: format!("{}[{}]", self.path, items.len()),
            });
            rest = after_comma(&rest[end..]);
        }
        Ok(items)
    }

    /// The fields of an object.
    pub(crate) fn fields(&self) -> Result<Fields<'a>, Invalid> {
        if !self.is_object() {
            return Err(self.invalid("must be an object"));
        }
        let mut fields = Vec::new();
        let mut rest = self.text[1..].trim_start();
        while !rest.starts_with('}') && !rest.is_empty() {
            let end = value_end(rest);
            let key = match rest[..end].contains('\\') {
                true => Cow::Owned(serde_json::from_str(&rest[..end]).unwrap_or_default()),
                false => Cow::Borrowed(rest[..end].trim_matches('"')),
            };
            rest = rest[end..].trim_start();
            rest = rest.strip_prefix(':').unwrap_or(rest).trim_start();
            let end = value_end(rest);
            fields.push((key, &rest[..end]));
            rest = after_comma(&rest[end..]);
        }
        Ok(Fields {
            fields,
            node: self.clone(),
        })
    }
}

impl<'a> Fields<'a> {
    /// The object itself.
    pub(crate) fn node(&self) -> &Node<'a> {
        &self.node
    }

    /// A field that is neither missing nor null, by any of its names.
    pub(crate) fn any(&self, keys: &[&str]) -> Option<Node<'a>> {
        keys.iter().find_map(|key| self.get(key))
    }

    /// A field that is neither missing nor null.
    pub(crate) fn get(&self, key: &str) -> Option<Node<'a>> {
        let text = self.fields.iter().rev().find(|(name, _)| name == key)?.1;
        let node = Node {
            text,
            path: format!("{}.{key}", self.node.path),
        };
        (!node.is_null()).then_some(node)
    }

    /// A field that must be there.
    pub(crate) fn required(&self, key: &str) -> Result<Node<'a>, Invalid> {
        self.get(key)
            .ok_or_else(|| Invalid::missing(format!("{}.{key}", self.node.path)))
    }

    /// A string; empty if it is missing.
    pub(crate) fn string(&self, key: &str) -> Result<String, Invalid> {
        self.get(key)
            .map_or(Ok(String::new()), |node| node.string())
    }

    /// A string that must be there.
    pub(crate) fn required_string(&self, key: &str) -> Result<String, Invalid> {
        self.required(key)?.string()
    }

    /// Whether a field is `true`.
    pub(crate) fn is_true(&self, key: &str) -> bool {
        self.get(key).is_some_and(|node| node.text == "true")
    }

    /// The names of the fields that are not null.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let fields = self.fields.iter().filter(|(_, text)| *text != "null");
        fields.map(|(name, _)| &**name)
    }
}

/// Where the value at the beginning of valid JSON ends.
fn value_end(text: &str) -> usize {
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    for (place, byte) in text.bytes().enumerate() {
        if quoted {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => {
                    quoted = false;
                    if depth == 0 {
                        return place + 1;
                    }
                }
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => quoted = true,
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 0 => return place,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return place + 1;
                }
            }
            b',' | b':' | b' ' | b'\t' | b'\n' | b'\r' if depth == 0 => return place,
            _ => {}
        }
    }
    text.len()
}

fn after_comma(text: &str) -> &str {
    let text = text.trim_start();
    text.strip_prefix(',').unwrap_or(text).trim_start()
}

/// A string as JSON.
pub(crate) fn quoted(text: &str) -> String {
    // A string always serializes.
    serde_json::to_string(text).unwrap_or_default()
}

/// A list of values that are JSON.
pub(crate) fn list(items: impl IntoIterator<Item = String>) -> String {
    let items: Vec<String> = items.into_iter().collect();
    format!("[{}]", items.join(","))
}

/// An object being written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Object(String);

impl Object {
    /// An object with a string in it, such as its type.
    pub(crate) fn with(key: &str, text: &str) -> Self {
        Self::default().string(key, text)
    }

    /// Adds a value that is JSON.
    pub(crate) fn json(mut self, key: &str, json: &str) -> Self {
        self.0.push(if self.0.is_empty() { '{' } else { ',' });
        self.0.push_str(&quoted(key));
        self.0.push(':');
        self.0.push_str(json);
        self
    }

    /// Adds a string.
    pub(crate) fn string(self, key: &str, text: &str) -> Self {
        self.json(key, &quoted(text))
    }

    /// Adds a string unless it is empty.
    pub(crate) fn optional(self, key: &str, text: &str) -> Self {
        match text {
            "" => self,
            text => self.string(key, text),
        }
    }

    /// The object as JSON.
    pub(crate) fn finish(self) -> String {
        match self.0.as_str() {
            "" => "{}".to_owned(),
            _ => self.0 + "}",
        }
    }
}
