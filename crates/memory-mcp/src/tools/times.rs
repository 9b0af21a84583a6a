//! The times of a search, and those that its query names.

use memory_contract::proto::{MessageFilter, NamedTime, QueryTime};
use prost_types::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::failure::Failure;
use crate::shown::time;

/// A past time that a query names, as it was read.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ReadTime {
    /// The words of the query, such as `last week`.
    text: String,
    /// The first moment (RFC 3339).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    start_time: Option<String>,
    /// The moment after the last one (RFC 3339).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    end_time: Option<String>,
}

impl From<NamedTime> for ReadTime {
    fn from(named: NamedTime) -> Self {
        Self {
            text: named.text,
            start_time: time(named.start_time),
            end_time: time(named.end_time),
        }
    }
}

/// The filter for messages said between two times (RFC 3339), each empty for no bound.
pub(super) fn said_between(start: &str, end: &str) -> Result<Option<MessageFilter>, Failure> {
    let start_time = moment("start_time", start)?;
    let end_time = moment("end_time", end)?;
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

/// The time (RFC 3339) of an argument, which is empty for none.
pub(super) fn moment(name: &str, text: &str) -> Result<Option<Timestamp>, Failure> {
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
