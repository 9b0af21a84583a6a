//! Estimates the heap bytes of values: allocations, and the free capacity of maps.

use crate::{Message, Part, message_bytes};
use serde_json::{Map, Value};

/// The overhead of a map's entry: its control bytes, its share of the free capacity, and
/// the allocator's.
pub const ENTRY: usize = 64;

/// The bytes of a message, its heap included.
pub fn of_message(message: &Message) -> usize {
    let parts = message.parts.len() * size_of::<Part>();
    size_of::<Message>()
        + message.external_id.len()
        + parts
        + of_object(&message.metadata)
        + message_bytes(message)
}

/// A JSON object's own entries.
fn of_object(object: &Map<String, Value>) -> usize {
    object
        .iter()
        .map(|(key, value)| ENTRY + size_of::<(String, Value)>() + key.len() + of_value(value))
        .sum()
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
