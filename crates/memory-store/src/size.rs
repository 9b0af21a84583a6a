//! Estimates the heap bytes of values: allocations, and the free capacity of maps.

use memory_contract::{FileLocation, FileRef, Message, Part, ToolCall, ToolOutput, ToolResult};
use serde_json::{Map, Value};

/// The overhead of a map's entry: its control bytes, its share of the free capacity, and
/// the allocator's.
pub(crate) const ENTRY: usize = 64;

/// The bytes of a message, its heap included.
pub(crate) fn of_message(message: &Message) -> usize {
    let parts: usize = message.parts.iter().map(of_part).sum();
    size_of::<Message>()
        + message.external_id.len()
        + message.name.len()
        + of_object(&message.metadata)
        + parts
}

/// A JSON object's own entries.
pub(crate) fn of_object(object: &Map<String, Value>) -> usize {
    object
        .iter()
        .map(|(key, value)| ENTRY + size_of::<(String, Value)>() + key.len() + of_value(value))
        .sum()
}

fn of_part(part: &Part) -> usize {
    size_of::<Part>()
        + match part {
            Part::Text(text) => text.len(),
            Part::Json(value) => of_value(value),
            Part::ToolCall(ToolCall {
                id,
                name,
                arguments,
            }) => id.len() + name.len() + of_object(arguments),
            Part::ToolResult(ToolResult {
                call_id,
                name,
                output,
                is_error: _,
            }) => {
                let output = match output {
                    Some(ToolOutput::Text(text)) => text.len(),
                    Some(ToolOutput::Json(value)) => of_value(value),
                    None => 0,
                };
                call_id.len() + name.len() + output
            }
            Part::File(FileRef {
                kind: _,
                location,
                name,
                mime_type,
                size_bytes: _,
                caption,
            }) => {
                let (FileLocation::UploadFileId(place)
                | FileLocation::ToolFileId(place)
                | FileLocation::Url(place)) = location;
                place.len() + name.len() + mime_type.len() + caption.len()
            }
        }
}

/// The heap bytes of a value.
fn of_value(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.len(),
        Value::Array(values) => values
            .iter()
            .map(|value| size_of::<Value>() + of_value(value))
            .sum(),
        Value::Object(object) => of_object(object),
    }
}
