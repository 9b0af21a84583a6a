//! Converts working memories.

use std::collections::HashSet;

use super::{json, memory, message::messages_within};
use crate::{
    Fields, Invalid, InvalidFields, check, json::JsonObject, limits, memory::ListedMemory,
    message::NewMessage, proto,
};
use uuid::Uuid;

/// Reads the messages of a working memory: at most 500, at most 3.5 MiB together. The error
/// names the first 20 wrong fields.
///
/// # Errors
/// Any field beyond its limit; then nothing may be stored.
pub fn working_messages_from(
    messages: Vec<proto::Message>,
) -> Result<Vec<NewMessage>, InvalidFields> {
    if messages.is_empty() {
        return Ok(Vec::new());
    }
    let mut fields = Fields::default();
    let inputs = messages
        .into_iter()
        .enumerate()
        .map(|(index, message)| input_of(message, index, &mut fields))
        .collect();
    let limits = (limits::WORKING_MESSAGES, limits::ANSWER_BYTES);
    let read = fields.get_all(messages_within(inputs, limits));
    fields.all(read).map_err(InvalidFields::first)
}

/// Reads the memories of a session: at most 256, at most 1 MiB together.
///
/// # Errors
/// As [`working_messages_from`].
pub fn working_records_from(
    memories: Vec<proto::Memory>,
) -> Result<Vec<ListedMemory>, InvalidFields> {
    let memories: Vec<(String, proto::MemoryInput)> = memories.into_iter().map(record_of).collect();
    let inputs = memories.iter().map(|(_, input)| input);
    let bytes: usize = inputs.map(prost::Message::encoded_len).sum();
    if memories.len() > limits::WORKING_RECORDS || bytes > limits::WORKING_RECORDS_BYTES {
        let problem = format!(
            "must be at most {} with {} bytes together, are {} with {bytes}",
            limits::WORKING_RECORDS,
            limits::WORKING_RECORDS_BYTES,
            memories.len(),
        );
        return Err(Invalid::new("memories", problem).into());
    }
    let ids = memories.iter().map(|(id, _)| id);
    let ids = ids.enumerate().filter(|(_, id)| !id.is_empty());
    let mut seen = HashSet::new();
    for (index, id) in ids {
        if !seen.insert(id.as_str()) {
            let field = format!("memories[{index}].memory_id");
            return Err(Invalid::new(field, "must be unique within the request").into());
        }
    }
    memory::each_from("memories", memories, |field, (id, input)| {
        let mut fields = Fields::default();
        let id = fields.take(check::optional_uuid(&format!("{field}.memory_id"), &id));
        let content = fields.get_all(memory::memory_from(field, Some(input)));
        Ok(ListedMemory {
            id: id.map(Into::into),
            content: fields.all(content)?,
        })
    })
}

/// Reads a session's data: at most 256 KiB as JSON, 32 levels deep.
///
/// # Errors
/// Data over these limits.
pub fn working_data_from(field: &str, data: String) -> Result<JsonObject, Invalid> {
    json::object(field, data, limits::WORKING_DATA_BYTES, limits::JSON_DEPTH)
}

/// Reads a caller's summary: at most 64 KiB.
///
/// # Errors
/// A longer summary.
pub fn working_summary_from(summary: Option<String>) -> Result<Option<String>, Invalid> {
    let text = |text| check::long_text("summary", text, limits::WORKING_SUMMARY_BYTES);
    summary.map(text).transpose()
}

/// The fields of a message that a caller decides.
fn input_of(message: proto::Message, index: usize, fields: &mut Fields) -> proto::MessageInput {
    let proto::Message {
        message_id,
        thread_id: _,
        parent_message_id: _,
        seq: _,
        branch: _,
        depth: _,
        role,
        name,
        parts,
        metadata,
        token_count: _,
        create_time,
        external_id,
        user_id,
    } = message;
    let is_uuid = message_id.is_empty() || Uuid::try_parse(&message_id).is_ok();
    let is_external = (external_id.is_empty() || external_id == message_id)
        && check::external_id("message_id", message_id.clone()).is_ok();
    let (message_id, external_id) = match (is_uuid, is_external) {
        (true, _) => (message_id, external_id),
        // Text that is not a UUID is the caller's own id.
        (false, true) => (String::new(), message_id),
        (false, false) => {
            let problem = format!(
                "must be a UUID, or an external id of 1 to {} characters without control \
                 characters; where external_id has another value, it must be a UUID",
                limits::EXTERNAL_ID_CHARS
            );
            let field = format!("messages[{index}].message_id");
            fields.take(Err::<(), _>(Invalid::new(field, problem)));
            (String::new(), external_id)
        }
    };
    proto::MessageInput {
        message_id,
        role,
        name,
        parts,
        metadata,
        create_time,
        external_id,
        user_id,
        ..Default::default()
    }
}

/// The id of a memory, and the fields that a caller decides.
fn record_of(memory: proto::Memory) -> (String, proto::MemoryInput) {
    let input = proto::MemoryInput {
        external_id: memory.external_id,
        text: memory.text,
        r#type: memory.r#type,
        topics: memory.topics,
        entities: memory.entities,
        event_time: memory.event_time,
        source_message_ids: memory.source_message_ids,
        pinned: memory.pinned,
        metadata: memory.metadata,
        kind: memory.kind,
        attributes: memory.attributes,
    };
    (memory.memory_id, input)
}
