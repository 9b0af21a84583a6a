//! Checks of single fields, shared by all conversions.

use std::collections::HashSet;

use uuid::Uuid;

use crate::{Invalid, MessageName, limits};

/// Checks the number of paths in an update mask.
pub fn mask(paths: &[String]) -> Result<(), Invalid> {
    match paths.len() <= limits::MASK_PATHS {
        true => Ok(()),
        false => Err(Invalid::new(
            "update_mask",
            format!("must name at most {} paths", limits::MASK_PATHS),
        )),
    }
}

/// Checks a text of at most `max` characters without NUL.
pub fn text(field: &str, value: String, max: usize) -> Result<String, Invalid> {
    if value.len() > max && value.chars().count() > max {
        return Err(Invalid::new(
            field,
            format!("must have at most {max} characters"),
        ));
    }
    no_nul(field, &value)?;
    Ok(value)
}

/// Checks a text of 1 to `max` characters without NUL.
pub fn required_text(field: &str, value: String, max: usize) -> Result<String, Invalid> {
    if value.is_empty() {
        return Err(Invalid::new(
            field,
            format!("is required: 1 to {max} characters"),
        ));
    }
    text(field, value, max)
}

/// Checks a text of at most `max` bytes without NUL.
pub fn long_text(field: &str, value: String, max: usize) -> Result<String, Invalid> {
    if value.len() > max {
        return Err(Invalid::new(
            field,
            format!("must have at most {max} bytes, has {}", value.len()),
        ));
    }
    no_nul(field, &value)?;
    Ok(value)
}

/// Checks the name of an API key.
pub fn key_name(field: &str, value: String) -> Result<String, Invalid> {
    let name = required_text(field, value, limits::API_KEY_NAME_CHARS)?;
    if name.contains(char::is_control) {
        return Err(Invalid::new(field, "must not contain control characters"));
    }
    if limits::RESERVED_KEY_NAMES.contains(&name.as_str()) {
        let reserved = limits::RESERVED_KEY_NAMES.join(", ");
        return Err(Invalid::new(
            field,
            format!("must not be any of {reserved}"),
        ));
    }
    Ok(name)
}

/// Checks the name of a secret.
pub fn secret_name(field: &str, value: String) -> Result<String, Invalid> {
    plain_name(field, value, limits::SECRET_NAME_CHARS)
}

/// Checks the name of a subscription.
pub fn subscription_name(field: &str, value: String) -> Result<String, Invalid> {
    plain_name(field, value, limits::SUBSCRIPTION_NAME_CHARS)
}

fn plain_name(field: &str, value: String, max: usize) -> Result<String, Invalid> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    if value.is_empty() || value.len() > max || !value.bytes().all(plain) {
        return Err(Invalid::new(
            field,
            format!("must be 1 to {max} of a-z, A-Z, 0-9, `_`, `-` and `.`"),
        ));
    }
    Ok(value)
}

/// Postgres cannot store NUL in a text.
pub fn no_nul(field: &str, value: &str) -> Result<(), Invalid> {
    if value.contains('\0') {
        return Err(Invalid::new(field, "must not contain NUL characters"));
    }
    Ok(())
}

/// Reads a required UUID.
pub fn uuid(field: &str, value: &str) -> Result<Uuid, Invalid> {
    if value.is_empty() {
        return Err(Invalid::new(field, "is required: a UUID"));
    }
    Uuid::try_parse(value).map_err(|_| {
        Invalid::new(
            field,
            "must be a UUID, such as 0198c1de-3e07-7a4b-9a56-0d6f3a5b8c11",
        )
    })
}

/// Reads a UUID that may be left empty.
pub fn optional_uuid(field: &str, value: &str) -> Result<Option<Uuid>, Invalid> {
    if value.is_empty() {
        return Ok(None);
    }
    uuid(field, value).map(Some)
}

/// Reads a whole number between `min` and `max`.
pub fn range(field: &str, value: i32, min: i32, max: i32) -> Result<i32, Invalid> {
    if (min..=max).contains(&value) {
        return Ok(value);
    }
    Err(Invalid::new(
        field,
        format!("must be {min} to {max}, is {value}"),
    ))
}

/// Reads a whole number between `min` and `max`; `default` if it is unset.
pub fn range_or(
    field: &str,
    value: Option<i32>,
    default: i32,
    min: i32,
    max: i32,
) -> Result<i32, Invalid> {
    value.map_or(Ok(default), |value| range(field, value, min, max))
}

/// Checks a caller's own id of a message; empty means that it has no such id.
pub fn external_id(field: &str, value: String) -> Result<String, Invalid> {
    let id = text(field, value, limits::EXTERNAL_ID_CHARS)?;
    if id.contains(char::is_control) {
        return Err(Invalid::new(field, "must not contain control characters"));
    }
    Ok(id)
}

/// Reads what names a message: its id, or the caller's own id.
pub fn message_name(field: &str, value: &str) -> Result<MessageName, Invalid> {
    optional_message_name(field, value)?
        .ok_or_else(|| Invalid::new(field, "is required: a message_id or external_id"))
}

/// Reads what names a message; `None` for an empty text.
pub fn optional_message_name(field: &str, value: &str) -> Result<Option<MessageName>, Invalid> {
    let name = external_id(field, value.to_owned())?;
    Ok((!name.is_empty()).then(|| MessageName::new(name)))
}

/// Reads a number of entries: 0 means `default`, more than `max` counts as
/// `max`, a negative one is invalid.
pub fn size(field: &str, value: i32, default: i32, max: i32) -> Result<usize, Invalid> {
    match value {
        ..0 => Err(Invalid::new(
            field,
            format!("must not be negative; 0 means {default}"),
        )),
        0 => Ok(default as usize),
        value => Ok(value.min(max) as usize),
    }
}

/// Finds the first duplicate id.
pub fn repeated<T: Copy + Eq + std::hash::Hash>(ids: impl Iterator<Item = T>) -> Option<usize> {
    let mut seen = HashSet::new();
    ids.enumerate()
        .find_map(|(index, id)| (!seen.insert(id)).then_some(index))
}

/// Checks a text of 1 to `max` bytes without NUL.
///
/// # Errors
/// An empty or longer text, or NUL in it.
pub fn required_bytes(field: &str, text: &str, max: usize) -> Result<(), Invalid> {
    if text.is_empty() || text.len() > max {
        return Err(Invalid::new(field, format!("must have 1 to {max} bytes")));
    }
    no_nul(field, text)
}
