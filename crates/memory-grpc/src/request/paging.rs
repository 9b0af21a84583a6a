//! Reads page sizes and page tokens.

use std::hash::Hash;

use memory_contract::{
    Invalid,
    page::{PageToken, page_size},
};
use time::OffsetDateTime;
use uuid::Uuid;

/// Reads `page_size` as the store counts.
pub fn page_limit(requested: i32) -> Result<u32, Invalid> {
    page_size(requested).map(|size| u32::try_from(size).unwrap_or(u32::MAX))
}

/// The token of the next page; empty after the last one. `identity` is all of the request
/// that decides which entries are listed.
pub fn next_token(identity: &impl Hash, next: Option<i64>) -> String {
    next.map(|key| PageToken::after(identity, key))
        .unwrap_or_default()
}

/// Microseconds since 1970, as page tokens have times.
pub fn micros_of(time: OffsetDateTime) -> i64 {
    i64::try_from(time.unix_timestamp_nanos() / 1_000).unwrap_or_default()
}

/// The time of [`micros_of`]; a forged one is moved into the range of times.
pub fn time_of(micros: i64) -> OffsetDateTime {
    OffsetDateTime::from_unix_timestamp_nanos(i128::from(micros) * 1_000)
        .ok()
        .filter(|time| time.year() > 0)
        .unwrap_or(OffsetDateTime::UNIX_EPOCH)
}

/// A place in a list by time and id, as page tokens have it.
pub fn place_of((time, id): (OffsetDateTime, Uuid)) -> [i64; 3] {
    let (high, low) = id.as_u64_pair();
    [micros_of(time), high.cast_signed(), low.cast_signed()]
}

/// The time and the id of [`place_of`].
pub fn place_from([micros, high, low]: [i64; 3]) -> (OffsetDateTime, Uuid) {
    let id = Uuid::from_u64_pair(high.cast_unsigned(), low.cast_unsigned());
    (time_of(micros), id)
}

/// Reads `order_by` of a list that has one order, by `key`: whether it is reversed.
pub fn descends(key: &str, order_by: &str) -> Result<bool, Invalid> {
    let order_by = order_by.trim();
    match order_by.strip_prefix(key) {
        _ if order_by.is_empty() => Ok(false),
        Some("") => Ok(false),
        Some(direction) if direction.trim() == "desc" && direction.starts_with(' ') => Ok(true),
        _ => Err(Invalid::new(
            "order_by",
            format!("must be `{key}`, `{key} desc` or empty"),
        )),
    }
}
