//! Describes what a file holds, for errors.

use serde_json::Value;

use crate::format::Format;

/// Keys that are named; others are counted.
const KEYS: usize = 8;
/// Characters of a key that is named. A longer one may be content.
const KEY_CHARS: usize = 24;

/// Why content of an unknown format is refused; `what` is what was seen.
pub(crate) fn unknown(what: &str) -> String {
    let names: Vec<&str> = Format::NAMED.iter().map(|(name, _)| *name).collect();
    format!(
        "its format is not known: it is {what}. Known formats are {}; choose one with --from",
        names.join(", ")
    )
}

/// What a JSON document is, such as "a JSON list of 8 objects with the keys data, type".
pub(crate) fn seen(document: &Value) -> String {
    match document {
        Value::Array(items) => list_of(items.len(), items.first()),
        Value::Object(_) => format!("a JSON object{}", keys(document)),
        other => format!("a JSON value, {}", kind(other)),
    }
}

/// What a list of so many items is, by its first one.
pub(crate) fn list_of(count: usize, first: Option<&Value>) -> String {
    let many = |one: &str| {
        if count == 1 {
            one.to_owned()
        } else {
            format!("{one}s")
        }
    };
    match first {
        None => "a JSON list without entries".to_owned(),
        Some(first @ Value::Object(_)) => {
            format!("a JSON list of {count} {}{}", many("object"), keys(first))
        }
        Some(other) => format!(
            "a JSON list of {count} {}, the first one {}",
            if count == 1 { "entry" } else { "entries" },
            kind(other)
        ),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// The keys of an object, as far as they are plain names: others may be content or secrets.
fn keys(object: &Value) -> String {
    let fields = object.as_object().into_iter();
    let mut keys: Vec<&String> = fields.flat_map(|fields| fields.keys()).collect();
    keys.sort();
    let is_plain = |key: &str| {
        key.len() <= KEY_CHARS && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let named: Vec<&str> = keys
        .iter()
        .map(|key| key.as_str())
        .filter(|key| is_plain(key))
        .take(KEYS)
        .collect();
    match (named.len(), keys.len() - named.len()) {
        (0, 0) => " without keys".to_owned(),
        (0, others) => format!(" with {others} keys"),
        (1, 0) => format!(" with the key {}", named[0]),
        (_, 0) => format!(" with the keys {}", named.join(", ")),
        (_, others) => format!(" with the keys {} and {others} more", named.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn content_is_described_by_its_shape_and_plain_keys() {
        let check = |json: Value, expected: &str| assert_eq!(seen(&json), expected);
        check(json!([]), "a JSON list without entries");
        check(json!({}), "a JSON object without keys");
        check(json!(7), "a JSON value, a number");
        check(
            json!([{"type": "x", "data": 1}, {"type": "y"}]),
            "a JSON list of 2 objects with the keys data, type",
        );
        check(
            json!([["x"], ["y"]]),
            "a JSON list of 2 entries, the first one a list",
        );
        check(
            json!({"sk-live-51Habc": 1, "my password is tea": 2, "name": 3}),
            "a JSON object with the keys name and 2 more",
        );
    }

    #[test]
    fn a_refusal_names_every_format() {
        let refusal = unknown("a JSON value, a number");
        for (name, _) in Format::NAMED {
            assert!(refusal.contains(name), "{name}: {refusal}");
        }
    }
}
