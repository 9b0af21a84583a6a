//! Detects the formats of providers' APIs, and reads conversations in them.

use memory_contract::message::Provider;
use memory_contract::proto::MessageInput;
use memory_formats::messages_in;
use serde_json::Value;

/// The kinds of blocks by which Anthropic's messages differ from OpenAI's.
const ANTHROPIC_BLOCKS: [&str; 7] = [
    "tool_use",
    "tool_result",
    "thinking",
    "redacted_thinking",
    "server_tool_use",
    "document",
    "image",
];

/// The items of OpenAI's responses beside messages, calls and their outputs.
const ITEMS: [&str; 3] = ["reasoning", "item_reference", "compaction"];

/// The format of a document that is a conversation as a whole: a request, a response, or a
/// list of messages.
pub(crate) fn detected(document: &Value) -> Option<Provider> {
    let list = |key: &str| document.get(key).and_then(Value::as_array);
    if let Some(messages) = list("messages") {
        return match of_messages(messages) {
            Some(_) if document.get("system").is_some() => Some(Provider::AnthropicMessages),
            found => found,
        };
    }
    if list("contents").is_some() || list("candidates").is_some() {
        return Some(Provider::Gemini);
    }
    if list("choices").is_some() {
        return Some(Provider::OpenaiChat);
    }
    let is_response = document
        .get("object")
        .is_some_and(|kind| kind == "response");
    let output = list("output").filter(|_| is_response);
    if let Some(items) = list("input").or(output) {
        let is_known = items.iter().all(is_known);
        return is_known.then_some(Provider::OpenaiResponses);
    }
    document
        .as_array()
        .and_then(|messages| of_messages(messages))
}

/// The format of a list of messages; `None` if an entry is neither a message nor an item of
/// OpenAI's responses: such an entry would be stored as an opaque piece, which no search finds.
fn of_messages(messages: &[Value]) -> Option<Provider> {
    let has = |test: fn(&Value) -> bool| messages.iter().any(test);
    if has(|message| message.get("parts").is_some_and(Value::is_array)) {
        Some(Provider::Gemini)
    } else if messages.is_empty() || !messages.iter().all(is_known) {
        None
    } else if has(|item| item.get("type").is_some() && item.get("content").is_none_or(is_input)) {
        Some(Provider::OpenaiResponses)
    } else if has(|message| blocks(message).any(is_anthropic)) {
        Some(Provider::AnthropicMessages)
    } else {
        Some(Provider::OpenaiChat)
    }
}

/// Whether it is a message, or an item of OpenAI's responses.
fn is_known(one: &Value) -> bool {
    one.get("role").is_some_and(Value::is_string) || is_item(one)
}

/// Whether it is an item of OpenAI's responses that is no message.
fn is_item(one: &Value) -> bool {
    one["type"].as_str().is_some_and(|kind| {
        ITEMS.contains(&kind)
            || kind.starts_with("mcp_")
            || kind.ends_with("_call")
            || kind.ends_with("_call_output")
    })
}

fn is_input(content: &Value) -> bool {
    let parts = content.as_array().into_iter().flatten();
    let mut kinds = parts.filter_map(|part| part["type"].as_str());
    content.is_string()
        || kinds.any(|kind| kind.starts_with("input_") || kind.starts_with("output_"))
}

fn blocks(message: &Value) -> impl Iterator<Item = &str> {
    let content = message.get("content").and_then(Value::as_array);
    let kinds = content.into_iter().flatten();
    kinds.filter_map(|block| block["type"].as_str())
}

fn is_anthropic(kind: &str) -> bool {
    ANTHROPIC_BLOCKS.contains(&kind)
}

/// The messages of a conversation in a provider's format; `again` leaves out the ids that
/// the provider gave them.
///
/// # Errors
/// The JSON has a problem; the error names it and its place.
pub(crate) fn messages(
    provider: Provider,
    json: &str,
    again: bool,
) -> Result<Vec<MessageInput>, String> {
    let mut messages = messages_in(provider, json).map_err(|invalid| {
        match invalid.field.trim_start_matches('.') {
            "" => format!("it {}", invalid.problem),
            place => format!("{place} {}", invalid.problem),
        }
    })?;
    if again {
        for message in &mut messages {
            message.external_id.clear();
        }
    }
    match messages.is_empty() {
        true => Err("there are no messages".to_owned()),
        false => Ok(messages),
    }
}

#[cfg(test)]
mod tests;
