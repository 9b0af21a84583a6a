//! Describes what a file holds, for errors.

use std::io::{self, ErrorKind};

use serde_json::Value;

use crate::format::Format;

/// Keys and kinds that are named; others are counted.
const KEYS: usize = 8;
/// Characters of a name that is shown. A longer one may be content.
const KEY_CHARS: usize = 24;

/// Why content of an unknown format is refused; `what` is what was seen.
pub(crate) fn unknown(what: &str) -> String {
    let names: Vec<&str> = Format::NAMED.iter().map(|(name, _)| *name).collect();
    format!(
        "its format is not known: it is {what}. Known formats are {}; choose one with --from",
        names.join(", ")
    )
}

/// Why the rest of a file is missing.
pub(crate) fn broken_off(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::UnexpectedEof => "the compressed file is cut off here".to_owned(),
        _ => format!("the file cannot be read further: {error}"),
    }
}

/// Why a conversation is refused that has only parts of these kinds, which no search finds;
/// `what` is what was seen.
pub(crate) fn opaque(what: &str, kinds: &[&str]) -> String {
    let (named, others) = plain(kinds.iter().copied());
    let kinds = match (named.as_slice(), others) {
        ([], _) => "of unknown kinds".to_owned(),
        ([kind], 0) => format!("of the kind {kind}"),
        (kinds, 0) => format!("of the kinds {}", kinds.join(", ")),
        (kinds, others) => format!("of the kinds {} and {others} more", kinds.join(", ")),
    };
    format!(
        "it has no text, call of a tool or file: it is {what}, with nothing but parts {kinds}. \
         With --from they are stored as they are"
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

/// The keys of an object, in words.
fn keys(object: &Value) -> String {
    let fields = object.as_object().into_iter();
    let mut keys: Vec<&str> = fields
        .flat_map(|fields| fields.keys().map(String::as_str))
        .collect();
    keys.sort_unstable();
    let (named, others) = plain(keys.into_iter());
    match (named.as_slice(), others) {
        ([], 0) => " without keys".to_owned(),
        ([], 1) => " with 1 key".to_owned(),
        ([], others) => format!(" with {others} keys"),
        ([key], 0) => format!(" with the key {key}"),
        (keys, 0) => format!(" with the keys {}", keys.join(", ")),
        (keys, others) => format!(" with the keys {} and {others} more", keys.join(", ")),
    }
}

/// The names that are shown, because they are plain, and the number of others, which may be
/// content or secrets.
fn plain<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> (Vec<&'a str>, usize) {
    let count = names.len();
    let is_plain = |name: &&str| {
        name.len() <= KEY_CHARS && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let named: Vec<&str> = names.filter(is_plain).take(KEYS).collect();
    let others = count - named.len();
    (named, others)
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
        check(json!({"my password is tea": 2}), "a JSON object with 1 key");
    }

    #[test]
    fn a_refusal_names_every_format() {
        let refusal = unknown("a JSON value, a number");
        for (name, _) in Format::NAMED {
            assert!(refusal.contains(name), "{name}: {refusal}");
        }
    }
}
