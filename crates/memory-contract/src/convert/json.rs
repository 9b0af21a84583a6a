//! Reads JSON text.

use std::collections::HashMap;

use serde::de::IgnoredAny;
use serde_json::Value;

use crate::{Invalid, check, json::JsonObject, limits};

/// Reads the JSON text of an object of at most `max_bytes`, `max_depth` levels deep, that a
/// database of numbers without rounding can store. Empty text is an object without members.
pub fn object(
    field: &str,
    text: String,
    max_bytes: usize,
    max_depth: usize,
) -> Result<JsonObject, Invalid> {
    if text.is_empty() {
        return Ok(JsonObject::default());
    }
    let value = storable_object(field, &text, max_bytes, max_depth)?;
    Ok(JsonObject::of_parsed(text, &value))
}

/// Reads metadata within its limits.
///
/// # Errors
/// Text that is no such object.
pub fn metadata_from(field: &str, text: String) -> Result<JsonObject, Invalid> {
    object(field, text, limits::METADATA_BYTES, limits::METADATA_DEPTH)
}

/// Reads the JSON text of an object that a database of numbers without rounding can store.
pub fn storable_object(
    field: &str,
    text: &str,
    max_bytes: usize,
    max_depth: usize,
) -> Result<Value, Invalid> {
    let value = storable(field, text, max_bytes, max_depth)?;
    match value.is_object() {
        true => Ok(value),
        false => Err(Invalid::new(field, "must be a JSON object")),
    }
}

/// Reads JSON text that a database of numbers without rounding can store.
pub fn storable(
    field: &str,
    text: &str,
    max_bytes: usize,
    max_depth: usize,
) -> Result<Value, Invalid> {
    if text.len() > max_bytes {
        let problem = format!("must have at most {max_bytes} bytes, has {}", text.len());
        return Err(Invalid::new(field, problem));
    }
    let value: Value =
        serde_json::from_str(text).map_err(|error| match has_non_finite_number(text) {
            true => Invalid::new(
                field,
                "must not contain NaN or Infinity: JSON has no such numbers",
            ),
            false => malformed(field, &error),
        })?;
    if depth_of(&value) > max_depth {
        let problem = format!("must be at most {max_depth} levels deep");
        return Err(Invalid::new(field, problem));
    }
    if has_nul(&value) {
        return Err(Invalid::new(field, "must not contain NUL characters"));
    }
    if !numbers_fit(text) {
        let problem =
            "must not contain numbers of more than 400 digits, or closer to 0 than 1e-400";
        return Err(Invalid::new(field, problem));
    }
    Ok(value)
}

fn malformed(field: &str, error: &serde_json::Error) -> Invalid {
    Invalid::new(field, format!("must be JSON: {error}"))
}

/// Reads JSON text of one value: at most 256 KiB, 32 levels deep. It is kept as it is.
pub fn text(field: &str, text: String) -> Result<String, Invalid> {
    let text = check::long_text(field, text, limits::TEXT_BYTES)?;
    let value: Value = serde_json::from_str(&text).map_err(|error| malformed(field, &error))?;
    if depth_of(&value) > limits::JSON_DEPTH {
        return Err(Invalid::new(
            field,
            format!("must be at most {} levels deep", limits::JSON_DEPTH),
        ));
    }
    Ok(text)
}

/// Reads JSON text of an object: at most 256 KiB. It is kept as it is.
pub fn object_text(field: &str, text: String) -> Result<String, Invalid> {
    let text = check::long_text(field, text, limits::TEXT_BYTES)?;
    let object = serde_json::from_str::<HashMap<String, IgnoredAny>>(&text);
    match object {
        Ok(_) => Ok(text),
        Err(error) => Err(Invalid::new(
            field,
            format!("must be a JSON object: {error}"),
        )),
    }
}

fn depth_of(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
        Value::Array(items) => 1 + items.iter().map(depth_of).max().unwrap_or(0),
        Value::Object(object) => 1 + object.values().map(depth_of).max().unwrap_or(0),
    }
}

fn has_nul(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
        Value::String(text) => text.contains('\0'),
        Value::Array(items) => items.iter().any(has_nul),
        Value::Object(object) => object
            .iter()
            .any(|(key, value)| key.contains('\0') || has_nul(value)),
    }
}

/// Whether each number of a valid JSON text has at most 400 characters and an exponent of at
/// least -400, so that Postgres can store it.
fn numbers_fit(text: &str) -> bool {
    outside_strings(text)
        .split(|c: char| !(c.is_ascii_digit() || matches!(c, '+' | '-' | '.' | 'e' | 'E')))
        .all(|number| {
            let exponent = number.split_once(['e', 'E']).map_or("0", |(_, rest)| rest);
            let exponent = exponent.parse::<i32>();
            number.len() <= 400 && exponent.map_or(!number.starts_with(is_number), |e| e >= -400)
        })
}

fn is_number(c: char) -> bool {
    c.is_ascii_digit() || c == '-'
}

/// Whether a text has `NaN` or `Infinity` outside its strings, which some writers of JSON
/// produce.
fn has_non_finite_number(text: &str) -> bool {
    outside_strings(text)
        .split(|c: char| !c.is_ascii_alphabetic())
        .any(|word| matches!(word, "NaN" | "nan" | "Infinity" | "inf"))
}

/// The text with spaces in the place of its strings.
fn outside_strings(text: &str) -> String {
    let mut quoted = false;
    let mut escaped = false;
    text.chars()
        .map(|c| {
            let was_quoted = quoted;
            match c {
                _ if escaped => escaped = false,
                '\\' if quoted => escaped = true,
                '"' => quoted = !quoted,
                _ => {}
            }
            if was_quoted || quoted { ' ' } else { c }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_read_within_its_limits() {
        let problem = |text: &str| {
            object("metadata", text.to_owned(), 64, 2)
                .unwrap_err()
                .problem
        };
        for text in ["", "{}", r#"{"a": {"b": 1}}"#] {
            assert!(object("metadata", text.to_owned(), 64, 2).is_ok(), "{text}");
        }
        for (text, expected) in [
            (r#"{"a": NaN}"#, "NaN"),
            (r#"{"a": -Infinity}"#, "Infinity"),
            (r#"{"a": "NaN", "b": x}"#, "must be JSON"),
            ("[1]", "object"),
            (r#"{"a": {"b": {}}}"#, "levels"),
            (r#"{"a": "\u0000"}"#, "NUL"),
            (r#"{"a": 1e-401}"#, "digits"),
            (&format!("{{\"a\": \"{}\"}}", "x".repeat(64)), "bytes"),
        ] {
            assert!(
                problem(text).contains(expected),
                "{text}: {}",
                problem(text)
            );
        }
    }

    #[test]
    fn numbers_that_postgres_cannot_store_are_found() {
        for good in [
            "{}",
            r#"{"e": -1.5e3, "1e-9999": "2e-9999", "t": [true, null, 1e-400]}"#,
            r#"{"a": "\"1e-9999"}"#,
            "123456789012345678901234567890",
        ] {
            assert!(numbers_fit(good), "{good}");
        }
        for bad in ["[1e-401]", "[1E-99999999999]", &"7".repeat(401)] {
            assert!(!numbers_fit(bad), "{bad}");
        }
    }
}
