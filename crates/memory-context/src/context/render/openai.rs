//! The `messages` of OpenAI's chat completions.
//!
//! The content of a message is a string if it is one text, else an array of parts. Names
//! are reduced to the characters that OpenAI accepts, and left out if nothing is left. The
//! format cannot say whether a tool failed.

use memory_contract::{Role, text};
use serde_json::{Map, Value, json};

use super::object;
use super::pairs::{Answered, PartContent, Step, plain, steps};
use crate::context::block::ContextMessage;

/// The longest name of a speaker.
const NAME_CHARS: usize = 64;

/// Renders messages.
pub(in crate::context) fn openai(messages: &[&ContextMessage]) -> Vec<Map<String, Value>> {
    let mut written = Vec::new();
    for Step {
        role,
        name,
        pieces,
        calls,
    } in steps(messages)
    {
        let role = match role {
            Role::System => "system",
            Role::Assistant => "assistant",
            Role::User | Role::Tool => "user",
        };
        let mut message = Map::new();
        message.insert("role".to_owned(), json!(role));
        message.insert("content".to_owned(), content(pieces, !calls.is_empty()));
        if let Some(name) = name_of(name) {
            message.insert("name".to_owned(), json!(name));
        }
        if !calls.is_empty() {
            let calls: Vec<Value> = calls.iter().map(call).collect();
            message.insert("tool_calls".to_owned(), json!(calls));
        }
        written.push(message);
        written.extend(calls.iter().map(result).map(object));
    }
    written
}

fn content(mut pieces: Vec<PartContent<'_>>, calls: bool) -> Value {
    match pieces.as_mut_slice() {
        [] if calls => Value::Null,
        [] => json!(""),
        [PartContent::Text(text)] => json!(std::mem::take(text)),
        _ => pieces.into_iter().flat_map(parts).collect(),
    }
}

fn parts(piece: PartContent<'_>) -> Vec<Value> {
    match piece {
        PartContent::Text(text) => vec![json!({"type": "text", "text": text})],
        PartContent::Image { url, caption } => {
            let image = json!({"type": "image_url", "image_url": {"url": url}});
            let caption = Some(caption).filter(|caption| !caption.is_empty());
            let caption = caption.map(|caption| json!({"type": "text", "text": caption}));
            std::iter::once(image).chain(caption).collect()
        }
    }
}

fn call(answered: &Answered<'_>) -> Value {
    let arguments = Value::Object(answered.call.arguments.clone()).to_string();
    json!({
        "id": answered.id,
        "type": "function",
        "function": {"name": answered.tool, "arguments": arguments},
    })
}

fn result(answered: &Answered<'_>) -> Value {
    json!({
        "role": "tool",
        "tool_call_id": answered.id,
        "content": text::of_output(answered.result),
    })
}

fn name_of(name: &str) -> Option<String> {
    let letters: String = name
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || " _-.".contains(*c))
        .collect();
    let name = plain(letters.trim(), NAME_CHARS);
    name.chars()
        .any(|c| c.is_ascii_alphanumeric())
        .then_some(name)
}
