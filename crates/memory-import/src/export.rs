//! Reads the files that `recollect export` writes: one record a line.

use std::sync::LazyLock;

use memory_contract::proto::{DESCRIPTORS, Record, record::Kind};
use prost_reflect::{DescriptorPool, DeserializeOptions, DynamicMessage, MessageDescriptor};
use serde_json::{Map, Value};

/// The description of a record; `None` if this build lacks it.
static RECORD: LazyLock<Option<MessageDescriptor>> = LazyLock::new(|| {
    let pool = DescriptorPool::decode(DESCRIPTORS).ok()?;
    pool.get_message_by_name("recollect.v1.Record")
});

/// Whether a line is a record of an export: one kind of records, most of whose fields are known.
/// A newer version may have added fields.
pub(crate) fn is_record(json: &Value) -> bool {
    kind_of(json).is_some_and(|(kind, fields)| {
        let is_known = |name: &&String| {
            kind.get_field_by_json_name(name).is_some() || kind.get_field_by_name(name).is_some()
        };
        let known = fields.keys().filter(is_known).count();
        fields.is_empty() || 2 * known > fields.len()
    })
}

/// Whether a line of a file that may be an export names a kind of records alone.
pub(crate) fn names_kind(json: &Value) -> bool {
    kind_of(json).is_some()
}

/// The kind of a record, and its fields.
fn kind_of(json: &Value) -> Option<(MessageDescriptor, &Map<String, Value>)> {
    let mut kinds = json.as_object()?.iter();
    let (Some((name, Value::Object(fields))), None) = (kinds.next(), kinds.next()) else {
        return None;
    };
    let record = RECORD.as_ref()?;
    let field = record.get_field_by_json_name(name);
    let field = field.or_else(|| record.get_field_by_name(name))?;
    Some((field.kind().as_message()?.clone(), fields))
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

    #[test]
    fn a_record_has_one_key_and_fields_that_are_mostly_known() {
        for record in [
            json!({"thread": {"title": "T", "appId": "x", "sessionKey": "k"}}),
            json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": [], "mood": "x"}}),
            json!({"appPolicy": {"appId": "x"}}),
            json!({"node": {}}),
        ] {
            assert!(is_record(&record), "{record}");
        }
        for other in [
            json!({"type": "user", "message": {"role": "user", "content": "fix"}}),
            json!({"message": {"message_id": 5, "from": {}, "chat": {}, "date": 1, "text": "Hi"}}),
            json!({"event": {"kind": "click", "x": 1}}),
            json!({"thread": 7}),
            json!({"color": {}}),
            json!([]),
        ] {
            assert!(!is_record(&other), "{other}");
        }
    }
}
