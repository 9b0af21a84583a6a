//! Detects the formats of providers' APIs, and reads conversations in them.

mod items;

use std::collections::BTreeSet;

use memory_contract::message::Provider;
use memory_contract::proto::{MessageInput, part::Content};
use memory_formats::messages_in;
use serde_json::Value;

use items::is_item;

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

/// The keys of the lists that requests and responses have.
const LISTS: [&str; 6] = [
    "messages",
    "contents",
    "candidates",
    "choices",
    "input",
    "output",
];

/// The kinds of parts of Gemini's contents that are objects.
const GEMINI_PARTS: [&str; 12] = [
    "functionCall",
    "function_call",
    "functionResponse",
    "function_response",
    "fileData",
    "file_data",
    "inlineData",
    "inline_data",
    "executableCode",
    "executable_code",
    "codeExecutionResult",
    "code_execution_result",
];

/// The format of a document that is a conversation as a whole: a request, a response, or a
/// list of messages.
pub(crate) fn detected(document: &Value) -> Option<Provider> {
    let list = |key: &str| document.get(key).and_then(Value::as_array);
    let any =
        |key: &str, test: fn(&Value) -> bool| list(key).is_some_and(|all| all.iter().any(test));
    if let Some(messages) = list("messages") {
        return match of_messages(messages) {
            Some(_) if document.get("system").is_some() => Some(Provider::AnthropicMessages),
            found => found,
        };
    }
    if any("contents", is_content) || any("candidates", is_candidate) {
        return Some(Provider::Gemini);
    }
    if any("choices", |choice| choice["message"].is_object()) {
        return Some(Provider::OpenaiChat);
    }
    let is_response = document["object"] == "response";
    let output = list("output").filter(|_| is_response);
    if let Some(items) = list("input").or(output) {
        let is_known = items.iter().all(is_known);
        return is_known.then_some(Provider::OpenaiResponses);
    }
    if is_text_request(document) {
        return Some(Provider::OpenaiResponses);
    }
    if is_answer_of_anthropic(document) {
        return Some(Provider::AnthropicMessages);
    }
    document
        .as_array()
        .and_then(|messages| of_messages(messages))
}

/// Whether an entry of a list is a conversation of its own, and not a message or an item.
pub(crate) fn is_conversation(entry: &Value) -> bool {
    let has_list = |key: &str| match entry.get(key) {
        Some(Value::Array(_)) => true,
        Some(Value::String(_)) => key == "input",
        _ => false,
    };
    entry.is_array() || (entry.get("type").is_none() && LISTS.into_iter().any(has_list))
}

/// The format of a list of messages; `None` if an entry is neither a message nor an item of
/// OpenAI's responses: such an entry would be stored as an opaque piece, which no search finds.
fn of_messages(messages: &[Value]) -> Option<Provider> {
    let has = |test: fn(&Value) -> bool| messages.iter().any(test);
    if has(is_content) {
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

/// Whether it is a content of Gemini: with a part of a known kind, and a known role or none.
fn is_content(one: &Value) -> bool {
    let is_known = |part: &Value| {
        let is_object = |key: &str| part.get(key).is_some_and(Value::is_object);
        part["text"].is_string() || GEMINI_PARTS.into_iter().any(is_object)
    };
    let role = one.get("role").filter(|role| !role.is_null());
    role.is_none_or(|role| matches!(role.as_str(), Some("user" | "model" | "function")))
        && one["parts"]
            .as_array()
            .is_some_and(|parts| parts.iter().any(is_known))
}

/// Whether it is an answer of Gemini. One that was stopped may have no content.
fn is_candidate(one: &Value) -> bool {
    is_content(&one["content"]) || one["finishReason"].is_string()
}

/// Whether it is a request to OpenAI's Responses API with a text in place of a list.
fn is_text_request(document: &Value) -> bool {
    // A pair of `input` and `output` is an example of a data set.
    let has_text = |key: &str| document.get(key).is_some_and(Value::is_string);
    has_text("input")
        && (has_text("model") || has_text("instructions"))
        && document.get("output").is_none()
}

/// Whether it is a response of Anthropic: a message of the model that says so in `type`, with
/// what OpenAI's messages have not. Those are a conversation together, one a line.
fn is_answer_of_anthropic(document: &Value) -> bool {
    document["type"] == "message"
        && document["role"] == "assistant"
        && document["content"].is_array()
        && (document.get("stop_reason").is_some() || blocks(document).any(is_anthropic))
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

/// The kinds of the parts of messages, if each of them is opaque: no search finds any of it.
pub(crate) fn only_opaque(messages: &[MessageInput]) -> Option<Vec<&str>> {
    let parts = messages.iter().flat_map(|message| &message.parts);
    let kinds: Option<BTreeSet<&str>> = parts
        .map(|part| match &part.content {
            Some(Content::Opaque(opaque)) => Some(opaque.r#type.as_str()),
            _ => None,
        })
        .collect();
    kinds
        .filter(|kinds| !kinds.is_empty())
        .map(|kinds| kinds.into_iter().collect())
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
