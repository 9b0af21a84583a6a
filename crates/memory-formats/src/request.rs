//! Reads the formats and the messages of a request.

use memory_contract::proto::{self, ProviderFormat};
use memory_contract::{
    Invalid, InvalidFields, check,
    convert::{messages_from, provider_from},
    limits,
    message::NewMessage,
};

use crate::format::Format;
use crate::read::{complete, read};
use crate::reading::ReadMessage;

/// Reads the messages of one append: 1 to 256, at most 3 MiB together, as messages or in
/// the formats of providers. The error names the first 20 wrong fields.
///
/// # Errors
/// Any field over its limit; then nothing of the batch may be stored.
pub fn new_messages_from(
    inputs: Vec<proto::MessageInput>,
    provider_messages: Vec<proto::ProviderMessages>,
) -> Result<Vec<NewMessage>, InvalidFields> {
    if provider_messages.is_empty() {
        return messages_from(inputs);
    }
    if !inputs.is_empty() {
        let problem = "must be empty beside messages";
        return Err(Invalid::new("provider_messages", problem).into());
    }
    provider_messages_from(provider_messages)
}

/// Reads a format to render.
///
/// # Errors
/// It is missing or unknown.
pub fn format_from(field: &str, number: i32) -> Result<Format, Invalid> {
    if number == i32::from(ProviderFormat::Text) {
        return Ok(Format::Text);
    }
    provider_from(field, number)
        .map(Format::Provider)
        .map_err(|_| {
            Invalid::new(
                field,
                "must be PROVIDER_FORMAT_OPENAI_CHAT, _OPENAI_RESPONSES, _ANTHROPIC_MESSAGES, \
                 _GEMINI or _TEXT",
            )
        })
}

/// Reads messages in the formats of providers. Errors name the place in the JSON.
fn provider_messages_from(
    lists: Vec<proto::ProviderMessages>,
) -> Result<Vec<NewMessage>, InvalidFields> {
    let bytes: usize = lists.iter().map(|list| list.json.len()).sum();
    if bytes > limits::BATCH_BYTES {
        return Err(Invalid::new(
            "provider_messages",
            format!(
                "must have at most {} bytes together, have {bytes}; send fewer at a time",
                limits::BATCH_BYTES
            ),
        )
        .into());
    }
    let all = read_all(&lists)?;
    if all.is_empty() || all.len() > limits::BATCH_MESSAGES {
        return Err(Invalid::new(
            "provider_messages",
            format!(
                "must be 1 to {} messages, are {}",
                limits::BATCH_MESSAGES,
                all.len()
            ),
        )
        .into());
    }
    let mut messages = Vec::with_capacity(all.len());
    let mut invalid = Vec::new();
    for one in all {
        let (path, parts) = (one.path, one.part_paths);
        match NewMessage::try_from(one.message) {
            Ok(message) => messages.push(message),
            Err(InvalidFields(problems)) => {
                let placed = |problem| placed(problem, &path, &parts);
                invalid.extend(problems.into_iter().map(placed));
            }
        }
        if invalid.len() >= limits::NAMED_FIELDS {
            break;
        }
    }
    InvalidFields::none_of(invalid)?;
    Ok(messages)
}

/// Reads all lists.
fn read_all(lists: &[proto::ProviderMessages]) -> Result<Vec<ReadMessage>, InvalidFields> {
    let mut all = Vec::new();
    for (index, proto::ProviderMessages { format, json }) in lists.iter().enumerate() {
        let field = format!("provider_messages[{index}]");
        let provider =
            provider_from("format", *format).map_err(|invalid| invalid.within(&field))?;
        check::no_nul(&format!("{field}.json"), json)?;
        all.extend(read(provider, &format!("{field}.json"), json)?);
    }
    complete(&mut all);
    Ok(all)
}

/// The messages in the lists of one request. Their limits are not checked.
///
/// # Errors
/// A list is not JSON, or not in its format.
pub fn inputs_of(
    lists: &[proto::ProviderMessages],
) -> Result<Vec<proto::MessageInput>, InvalidFields> {
    let all = read_all(lists)?;
    Ok(all.into_iter().map(|read| read.message).collect())
}

/// An error about a field of a message as one about the place that it was read from.
fn placed(invalid: Invalid, path: &str, parts: &[String]) -> Invalid {
    let Invalid { field, problem } = invalid;
    let part = field.strip_prefix("parts[").and_then(|rest| {
        let (index, field) = rest.split_once("].")?;
        Some((parts.get(index.parse::<usize>().ok()?)?, field))
    });
    match part {
        Some((path, field)) => Invalid::new(path, format!("{field} {problem}")),
        None => Invalid::new(path, format!("{field} {problem}")),
    }
}
