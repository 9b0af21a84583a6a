//! The times of a search.

use memory_contract::proto::{MessageFilter, QueryTime};
use prost_types::Timestamp;

use crate::failure::Failure;

/// The filter for messages said between two times (RFC 3339), each empty for no bound.
pub(super) fn said_between(start: &str, end: &str) -> Result<Option<MessageFilter>, Failure> {
    let start_time = parsed("start_time", start)?;
    let end_time = parsed("end_time", end)?;
    let is_set = start_time.is_some() || end_time.is_some();
    Ok(is_set.then(|| MessageFilter {
        start_time,
        end_time,
        ..Default::default()
    }))
}

/// A query that is asked now, in a time zone; empty: UTC.
pub(super) fn asked_in(time_zone: String) -> Option<QueryTime> {
    Some(QueryTime {
        time_zone,
        ..Default::default()
    })
}

fn parsed(name: &str, text: &str) -> Result<Option<Timestamp>, Failure> {
    if text.is_empty() {
        return Ok(None);
    }
    let time = text.parse();
    time.map(Some).map_err(|_error| {
        Failure::input(format!(
            "`{name}` must be a time such as 2026-03-05T00:00:00+01:00"
        ))
    })
}
