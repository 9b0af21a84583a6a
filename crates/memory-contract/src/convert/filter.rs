//! Converts filters of messages.

use prost_types::Struct;
use serde_json::{Map, Value};

use super::part::role_from;
use super::{json, timestamp_of};
use crate::{Invalid, MessageFilter, Role, check, limits, proto};

/// Reads a filter; a missing one keeps every message.
///
/// # Errors
/// Unknown roles, too many names or keys, an empty time range, and metadata values that
/// cannot be compared.
pub fn filter_from(filter: Option<proto::MessageFilter>) -> Result<MessageFilter, Invalid> {
    let Some(filter) = filter else {
        return Ok(MessageFilter::default());
    };
    filter_fields(filter).map_err(|invalid| invalid.within("filter"))
}

fn filter_fields(filter: proto::MessageFilter) -> Result<MessageFilter, Invalid> {
    let proto::MessageFilter {
        roles,
        names,
        start_time,
        end_time,
        metadata,
    } = filter;
    let mut unique = Vec::with_capacity(roles.len().min(Role::ALL.len()));
    for (index, role) in roles.into_iter().enumerate() {
        let role = role_from(&format!("roles[{index}]"), role)?;
        if !unique.contains(&role) {
            unique.push(role);
        }
    }
    if names.len() > limits::FILTER_NAMES {
        return Err(Invalid::new(
            "names",
            format!("must be at most {} names", limits::FILTER_NAMES),
        ));
    }
    let names = names
        .into_iter()
        .enumerate()
        .map(|(index, name)| {
            check::required_text(&format!("names[{index}]"), name, limits::NAME_CHARS)
        })
        .collect::<Result<_, _>>()?;
    let start = timestamp_of("start_time", start_time)?;
    let end = timestamp_of("end_time", end_time)?;
    if let (Some(start), Some(end)) = (start, end)
        && start >= end
    {
        return Err(Invalid::new("end_time", "must be later than start_time"));
    }
    Ok(MessageFilter {
        roles: unique,
        names,
        start,
        end,
        metadata: conditions_from("metadata", metadata)?,
    })
}

/// Reads conditions on metadata: at most 16 keys, each with a string, an integer or a
/// boolean.
///
/// # Errors
/// Too many keys, keys with other characters, and values that cannot be compared.
pub fn conditions_from(
    field: &str,
    conditions: Option<Struct>,
) -> Result<Map<String, Value>, Invalid> {
    let conditions = json::object(field, conditions, limits::METADATA_BYTES, 2)?;
    if conditions.len() > limits::FILTER_KEYS {
        return Err(Invalid::new(
            field,
            format!("must have at most {} keys", limits::FILTER_KEYS),
        ));
    }
    for (key, value) in &conditions {
        check_condition(field, key, value)?;
    }
    Ok(conditions)
}

/// A key becomes part of a path in the index's filter, so it must not name another path.
fn check_condition(field: &str, key: &str, value: &Value) -> Result<(), Invalid> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if key.is_empty() || key.len() > limits::FILTER_KEY_CHARS || !key.bytes().all(plain) {
        return Err(Invalid::new(
            field,
            format!(
                "keys must be 1 to {} letters, digits, _ or -",
                limits::FILTER_KEY_CHARS
            ),
        ));
    }
    if value.is_string() || value.is_boolean() || value.is_i64() {
        return Ok(());
    }
    Err(Invalid::new(
        format!("{field}.{key}"),
        "must be a string, an integer or a boolean",
    ))
}
