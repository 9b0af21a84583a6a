//! Estimates the bytes that messages and memories take in an answer, without encoding
//! them. Estimates are rather too high than too low.

use crate::{
    file::{File, FileRef},
    limits,
    memory::Memory,
    message::{Content, Message, Part, ToolOutput},
};

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
        + message.said_by.as_str().len()
        + message.metadata.bytes()
        + parts
}

/// Estimates the bytes of a message with the largest possible registered data of its
/// files.
pub fn message_bytes_at_most(message: &Message) -> usize {
    let files = message.parts.iter().flat_map(Part::files);
    let files = files.map(known_bytes_at_most);
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
    let kind = memory.own_kind.len() + memory.attributes.bytes();
    let texts = memory.text.len() + memory.record.len() + names + labels + kind;
    2 * MESSAGE_FRAME + texts + sources + memory.metadata.bytes()
}

/// Removes metadata of memories that together would take more than `room` bytes.
pub fn fit_metadata<'a>(memories: impl IntoIterator<Item = &'a mut Memory>, room: usize) {
    let mut memories: Vec<&mut Memory> = memories.into_iter().collect();
    let metadata = |memory: &Memory| memory.metadata.bytes();
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
        + part.signature.len()
        + match &part.content {
            Content::Text(text) | Content::Json(text) => text.len(),
            Content::ToolCall(call) => call.id.len() + call.name.len() + call.arguments.len(),
            Content::ToolResult(result) => {
                let output: usize = result.output.iter().map(output_bytes).sum();
                result.call_id.len() + result.name.len() + output
            }
            Content::File(file) => reference_bytes(file),
            Content::Reasoning(reasoning) => {
                let text = |text: &str| VALUE_FRAME + text.len();
                reasoning.id.len() + reasoning.texts().map(text).sum::<usize>()
            }
            Content::Opaque(opaque) => opaque.kind.len() + opaque.json.len(),
        }
}

fn output_bytes(output: &ToolOutput) -> usize {
    VALUE_FRAME
        + match output {
            ToolOutput::Text(text) | ToolOutput::Json(text) => text.len(),
            ToolOutput::File(file) => reference_bytes(file),
            ToolOutput::Opaque(opaque) => opaque.kind.len() + opaque.json.len(),
        }
}

fn reference_bytes(file: &FileRef) -> usize {
    let texts = file.name.len() + file.mime_type.len() + file.caption.len();
    FILE_FRAME + file.location.as_str().len() + texts
}
