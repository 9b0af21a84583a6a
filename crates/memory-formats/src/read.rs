//! Reads messages in the formats of providers.

use std::collections::{HashMap, HashSet, VecDeque};

use memory_contract::{Invalid, message::Provider, proto};

use crate::json::Node;
use crate::reading::ReadMessage;
use crate::{anthropic, gemini, openai_chat, openai_responses};

/// Characters of a tool's name in the id of a call that had none, which its number follows.
const NAME_IN_ID: usize = 100;

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

/// Gives calls without an id the name of their tool, and from the second one of a name on its number.
/// Results without an id answer them in order; a result whose call is in an earlier request has the
/// name of its tool, as far as it is known.
fn identify_calls(read: &mut [ReadMessage]) {
    use proto::part::Content;

    let mut counts: HashMap<String, u32> = HashMap::new();
    let mut unanswered = VecDeque::new();
    let messages = read.iter_mut().map(|read| &mut read.message);
    for part in messages.flat_map(|message| &mut message.parts) {
        match &mut part.content {
            Some(Content::ToolCall(call)) if call.tool_call_id.is_empty() => {
                let name: String = call.name.chars().take(NAME_IN_ID).collect();
                let count = counts.entry(name.clone()).or_default();
                *count += 1;
                call.tool_call_id = match count {
                    1 => name,
                    count => format!("{name}-{count}"),
                };
                unanswered.push_back(call.tool_call_id.clone());
            }
            Some(Content::ToolResult(result)) if result.tool_call_id.is_empty() => {
                result.tool_call_id = match unanswered.pop_front() {
                    Some(id) => id,
                    None if result.name.is_empty() => "tool".to_owned(),
                    None => result.name.clone(),
                };
            }
            _ => {}
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
