//! Reads messages in the formats of providers.

use std::collections::{HashMap, HashSet};

use memory_contract::{Invalid, message::Provider, proto};

use crate::json::Node;
use crate::reading::ReadMessage;
use crate::{anthropic, gemini, openai_chat, openai_responses};

/// Reads messages in a provider's format for a client that sends them as messages. Their
/// limits are not checked.
///
/// # Errors
/// It is not JSON, or not in the format; the field is the place in it.
pub fn messages_in(provider: Provider, json: &str) -> Result<Vec<proto::MessageInput>, Invalid> {
    let mut read = read(provider, "", json)?;
    complete(&mut read);
    Ok(read.into_iter().map(|read| read.message).collect())
}

/// Reads the messages in `json`, whose path is `path`.
///
/// # Errors
/// It is not JSON, or not in the format. Limits of messages are not checked here; once all
/// of a request are read, [`complete`] finishes them.
pub(crate) fn read(
    provider: Provider,
    path: &str,
    json: &str,
) -> Result<Vec<ReadMessage>, Invalid> {
    let root = Node::parse(json, path.to_owned())?;
    let messages = match provider {
        Provider::OpenaiChat => openai_chat::read(root)?,
        Provider::OpenaiResponses => openai_responses::read(root)?,
        Provider::AnthropicMessages => anthropic::read(root)?,
        Provider::Gemini => gemini::read(root)?,
    };
    Ok(messages)
}

/// Adds what messages of one request tell about each other.
pub(crate) fn complete(read: &mut [ReadMessage]) {
    identify_calls(read);
    name_results(read);
    distinct_ids(read);
}

/// Gives calls without an id the name of their tool; results of equal ids answer them in order. A
/// result without an id has that of the first unanswered call of its tool's name, or without a name
/// that of the first one, among the calls right before it. Without such a call, which may be in an
/// earlier request, it has its tool's name.
fn identify_calls(read: &mut [ReadMessage]) {
    use proto::part::Content;

    let mut unanswered: Vec<(String, String)> = Vec::new();
    let mut is_asking = false;
    let messages = read.iter_mut().map(|read| &mut read.message);
    for part in messages.flat_map(|message| &mut message.parts) {
        match &mut part.content {
            Some(Content::ToolCall(call)) => {
                if !is_asking {
                    unanswered.clear();
                }
                if call.tool_call_id.is_empty() {
                    call.tool_call_id.clone_from(&call.name);
                }
                unanswered.push((call.name.clone(), call.tool_call_id.clone()));
                is_asking = true;
            }
            Some(Content::ToolResult(result)) => {
                let place =
                    unanswered
                        .iter()
                        .position(|(name, id)| match result.tool_call_id.as_str() {
                            "" => result.name.is_empty() || *name == result.name,
                            own => id == own,
                        });
                let answered = place.map(|place| unanswered.remove(place).1);
                if result.tool_call_id.is_empty() {
                    result.tool_call_id = answered.unwrap_or_else(|| result.name.clone());
                }
                is_asking = false;
            }
            _ => is_asking = false,
        }
    }
}

/// Gives each tool result without a name the name of its call, if that is in the same
/// request.
fn name_results(read: &mut [ReadMessage]) {
    use proto::part::Content;

    let mut names = HashMap::new();
    let messages = read.iter_mut().map(|read| &mut read.message);
    for part in messages.flat_map(|message| &mut message.parts) {
        match &mut part.content {
            Some(Content::ToolCall(call)) => {
                names.insert(call.tool_call_id.clone(), call.name.clone());
            }
            Some(Content::ToolResult(result)) if result.name.is_empty() => {
                result.name = names.get(&result.tool_call_id).cloned().unwrap_or_default();
            }
            _ => {}
        }
    }
}

/// Keeps each provider's id at the first of the messages that have it.
fn distinct_ids(read: &mut [ReadMessage]) {
    let mut taken = HashSet::new();
    for read in read {
        let id = &mut read.message.external_id;
        if !id.is_empty() && !taken.insert(id.clone()) {
            id.clear();
        }
    }
}
