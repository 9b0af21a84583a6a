//! Converts filters of messages.

use super::part::role_from;
use super::{check_period, json, timestamp_of};
use crate::{
    Invalid, UserId, check,
    json::{JsonObject, is_scalar},
    limits,
    message::{MessageFilter, Role},
    proto,
};

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
        user_ids,
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
    if user_ids.len() > limits::FILTER_NAMES {
        return Err(Invalid::new(
            "user_ids",
            format!("must be at most {} users", limits::FILTER_NAMES),
        ));
    }
    let users = user_ids
        .into_iter()
        .enumerate()
        .map(|(index, user)| {
            let field = format!("user_ids[{index}]");
            check::required_text(&field, user, limits::USER_ID_CHARS).map(UserId::new)
        })
        .collect::<Result<_, _>>()?;
    let start = timestamp_of("start_time", start_time)?;
    let end = timestamp_of("end_time", end_time)?;
    check_period(start, end)?;
    Ok(MessageFilter {
        roles: unique,
        names,
        users,
        start,
        end,
        metadata: conditions_from("metadata", metadata)?,
    })
}

/// Reads conditions on metadata: a JSON object of at most 16 keys, each with a string, a
/// number, a boolean or null.
///
/// # Errors
/// Text that is no JSON object, too many keys, and values that cannot be compared.
pub fn conditions_from(field: &str, conditions: String) -> Result<JsonObject, Invalid> {
    let conditions = json::object(field, conditions, limits::METADATA_BYTES, 2)?;
    let members = conditions.members();
    if members.len() > limits::FILTER_KEYS {
        return Err(Invalid::new(
            field,
            format!("must have at most {} keys", limits::FILTER_KEYS),
        ));
    }
    match members.iter().find(|(_, value)| !is_scalar(value)) {
        Some((key, _)) => Err(Invalid::new(
            format!("{field}.{key}"),
            "must be a string, a number, a boolean or null",
        )),
        None => Ok(conditions),
    }
}
