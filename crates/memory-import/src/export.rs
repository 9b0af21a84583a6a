//! Reads the files that `recollect export` writes: one record a line.

use std::sync::LazyLock;

use memory_contract::proto::{DESCRIPTORS, Record, record::Kind};
use prost_reflect::{DescriptorPool, DeserializeOptions, DynamicMessage, MessageDescriptor};
use serde_json::Value;

/// The description of a record; `None` if this build lacks it.
static RECORD: LazyLock<Option<MessageDescriptor>> = LazyLock::new(|| {
    let pool = DescriptorPool::decode(DESCRIPTORS).ok()?;
    pool.get_message_by_name("recollect.v1.Record")
});

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
pub(crate) fn is_record(json: &Value) -> bool {
    let object = |key: &str| json.get(key).is_some_and(Value::is_object);
    let alone = json.as_object().is_some_and(|fields| fields.len() == 1);
    object("thread") || object("message") || (alone && KEYS.into_iter().any(object))
}

/// Reads a line that is a record. Fields that this version does not know are passed over.
///
/// # Errors
/// The line is not a record, in words.
pub fn record_from(json: &Value) -> Result<Kind, String> {
    let descriptor = RECORD.clone();
    let descriptor = descriptor.ok_or("this build lacks the description of records")?;
    let options = DeserializeOptions::new().deny_unknown_fields(false);
    let message = DynamicMessage::deserialize_with_options(descriptor, json, &options);
    let record: Result<Record, _> = message.map_err(|error| error.to_string())?.transcode_to();
    record
        .map_err(|error| error.to_string())?
        .kind
        .ok_or_else(|| "a record of no known kind".to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_of_a_newer_version_are_passed_over() {
        let newer = json!({"thread": {"threadId": "x", "color": "blue"}});
        match record_from(&newer).unwrap() {
            Kind::Thread(thread) => assert_eq!(thread.thread_id, "x"),
            other => panic!("{other:?}"),
        }
        assert!(record_from(&json!([])).is_err());
    }
}
