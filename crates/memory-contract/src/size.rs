//! Estimates the bytes that messages and memories take in an answer, without encoding
//! them. Estimates are rather too high than too low.

use serde_json::{Map, Value};

use crate::{File, FileRef, Memory, Message, Part, ToolOutput, limits};

/// Bytes of a message besides its content: ids, times, scores.
const MESSAGE_FRAME: usize = 256;
/// Bytes of a JSON value besides its text, and of a number.
const VALUE_FRAME: usize = 12;
/// Bytes of an id in a list.
const ID_FRAME: usize = 40;
/// Bytes of a registered file besides its texts: tags, numbers, times.
const FILE_FRAME: usize = 96;

/// Estimates the bytes of a message, without the registered data of its files.
pub fn message_bytes(message: &Message) -> usize {
    let parts: usize = message.parts.iter().map(part_bytes).sum();
    MESSAGE_FRAME
        + message.external_id.len()
        + message.name.len()
        + object_bytes(&message.metadata)
        + parts
}

/// Estimates the bytes of a message with the largest possible registered data of its
/// files.
pub fn message_bytes_at_most(message: &Message) -> usize {
    let files = message.parts.iter().map(|part| match part {
        Part::File(file) => known_bytes_at_most(file),
        Part::Text(_) | Part::Json(_) | Part::ToolCall(_) | Part::ToolResult(_) => 0,
    });
    message_bytes(message) + files.sum::<usize>()
}

/// The most bytes of a file's registered data.
fn known_bytes_at_most(file: &FileRef) -> usize {
    FILE_FRAME + file.location.as_str().len() + limits::FILE_TEXT_BYTES
}

/// Estimates the bytes of a memory.
pub fn memory_bytes(memory: &Memory) -> usize {
    let labels = memory.topics.iter().chain(&memory.entities);
    let labels: usize = labels.map(|label| label.len() + VALUE_FRAME).sum();
    let names = memory.owner.app.as_str().len() + memory.owner.user.as_str().len();
    let sources = memory.sources.len() * ID_FRAME;
    let texts = memory.text.len() + memory.record.len() + names + labels;
    2 * MESSAGE_FRAME + texts + sources + object_bytes(&memory.metadata)
}

/// Removes metadata of memories that together would take more than `room` bytes.
pub fn fit_metadata<'a>(memories: impl IntoIterator<Item = &'a mut Memory>, room: usize) {
    let mut memories: Vec<&mut Memory> = memories.into_iter().collect();
    let metadata = |memory: &Memory| object_bytes(&memory.metadata);
    let others = memories
        .iter()
        .map(|memory| memory_bytes(memory) - metadata(memory));
    let mut room = room.saturating_sub(others.sum());
    for memory in &mut memories {
        match room.checked_sub(metadata(memory)) {
            Some(rest) => room = rest,
            None => memory.metadata.clear(),
        }
    }
}

/// Estimates the bytes of a file's registered data.
pub fn file_bytes(file: &File) -> usize {
    FILE_FRAME + file.text_bytes()
}

fn part_bytes(part: &Part) -> usize {
    VALUE_FRAME
        + match part {
            Part::Text(text) => text.len(),
            Part::Json(value) => value_bytes(value),
            Part::ToolCall(call) => call.id.len() + call.name.len() + object_bytes(&call.arguments),
            Part::ToolResult(result) => {
                let output = match &result.output {
                    Some(ToolOutput::Text(text)) => text.len(),
                    Some(ToolOutput::Json(value)) => value_bytes(value),
                    None => 0,
                };
                result.call_id.len() + result.name.len() + output
            }
            Part::File(file) => {
                FILE_FRAME
                    + file.location.as_str().len()
                    + file.name.len()
                    + file.mime_type.len()
                    + file.caption.len()
            }
        }
}

/// A number takes more than its digits.
fn value_bytes(value: &Value) -> usize {
    VALUE_FRAME
        + match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
            Value::String(text) => text.len(),
            Value::Array(values) => values.iter().map(value_bytes).sum(),
            Value::Object(object) => object_bytes(object),
        }
}

fn object_bytes(object: &Map<String, Value>) -> usize {
    let entry = |(key, value): (&String, &Value)| VALUE_FRAME + key.len() + value_bytes(value);
    object.iter().map(entry).sum()
}
