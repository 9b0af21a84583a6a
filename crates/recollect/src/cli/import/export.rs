//! Reads the files that `recollect export` writes: one record a line.

use memory_contract::proto::{Record, record::Kind};
use serde_json::Value;

use crate::cli::output::message_from_json;

/// The keys of records that simple messages have not.
const KEYS: [&str; 13] = [
    "appPolicy",
    "attempt",
    "checkpoint",
    "checkpointValue",
    "checkpointWrite",
    "document",
    "event",
    "file",
    "memory",
    "node",
    "nodeMessage",
    "plan",
    "summary",
];

/// Whether a line is a record of an export.
pub fn is_record(json: &Value) -> bool {
    let object = |key: &str| json.get(key).is_some_and(Value::is_object);
    let alone = json.as_object().is_some_and(|fields| fields.len() == 1);
    object("thread") || object("message") || (alone && KEYS.into_iter().any(object))
}

/// Reads a line that is a record.
///
/// # Errors
/// What is wrong with it.
pub fn record(json: &Value) -> Result<Kind, String> {
    let record: Record = message_from_json("Record", json)?;
    record
        .kind
        .ok_or_else(|| "a record of no known kind".to_owned())
}
