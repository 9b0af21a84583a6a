//! Converts messages.

use std::collections::HashSet;

use super::part::{bare_part, parts_from, provider_from, role_from};
use super::{json, timestamp, timestamp_of};
use crate::{
    AppendedMessage, Invalid, InvalidFields, Message, MessageId, NewMessage, Parent, check,
    formats, limits,
    proto::{self, message_input},
};

/// Wrong fields that one error names.
const NAMED: usize = 20;

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

fn messages_from(inputs: Vec<proto::MessageInput>) -> Result<Vec<NewMessage>, InvalidFields> {
    if inputs.is_empty() || inputs.len() > limits::BATCH_MESSAGES {
        return Err(Invalid::new(
            "messages",
            format!(
                "must be 1 to {} messages, are {}",
                limits::BATCH_MESSAGES,
                inputs.len()
            ),
        )
        .into());
    }
    let inputs: Vec<proto::MessageInput> = inputs.into_iter().map(bare).collect();
    let bytes: usize = inputs.iter().map(prost::Message::encoded_len).sum();
    if bytes > limits::BATCH_BYTES {
        return Err(Invalid::new(
            "messages",
            format!(
                "must have at most {} bytes together, have {bytes}; send fewer at a time",
                limits::BATCH_BYTES
            ),
        )
        .into());
    }
    let mut messages = Vec::with_capacity(inputs.len());
    let mut invalid = Vec::new();
    for (index, input) in inputs.into_iter().enumerate() {
        match NewMessage::try_from(input) {
            Ok(message) => messages.push(message),
            Err(problem) => invalid.push(problem.within(format_args!("messages[{index}]"))),
        }
        if invalid.len() == NAMED {
            break;
        }
    }
    if !invalid.is_empty() {
        return Err(InvalidFields(invalid));
    }
    check_ids(&messages)?;
    Ok(messages)
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
    let mut read = Vec::new();
    for (index, proto::ProviderMessages { format, json }) in lists.into_iter().enumerate() {
        let field = format!("provider_messages[{index}]");
        let provider = provider_from("format", format).map_err(|invalid| invalid.within(&field))?;
        check::no_nul(&format!("{field}.json"), &json)?;
        read.extend(formats::read(provider, &format!("{field}.json"), &json)?);
    }
    if read.is_empty() || read.len() > limits::BATCH_MESSAGES {
        return Err(Invalid::new(
            "provider_messages",
            format!(
                "must be 1 to {} messages, are {}",
                limits::BATCH_MESSAGES,
                read.len()
            ),
        )
        .into());
    }
    formats::name_results(&mut read);
    let mut messages = Vec::with_capacity(read.len());
    let mut invalid = Vec::new();
    for one in read {
        let (path, parts) = (one.path, one.part_paths);
        match NewMessage::try_from(one.message) {
            Ok(message) => messages.push(message),
            Err(problem) => invalid.push(placed(problem, &path, &parts)),
        }
        if invalid.len() == NAMED {
            break;
        }
    }
    match invalid.is_empty() {
        true => Ok(messages),
        false => Err(InvalidFields(invalid)),
    }
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

/// A message without the fields that only answers set, which a caller may send back.
fn bare(input: proto::MessageInput) -> proto::MessageInput {
    let parts = input.parts.into_iter().map(bare_part).collect();
    proto::MessageInput { parts, ..input }
}

/// Ids are unique within a batch and a parent precedes its child, so there is no cycle.
fn check_ids(messages: &[NewMessage]) -> Result<(), Invalid> {
    if let Some(index) = check::repeated(messages.iter().map(|message| message.id)) {
        return Err(Invalid::new(
            format!("messages[{index}].message_id"),
            "must be unique within the request",
        ));
    }
    let named = messages
        .iter()
        .enumerate()
        .filter(|(_, message)| !message.external_id.is_empty());
    let mut own_ids = HashSet::new();
    for (index, message) in named {
        if !own_ids.insert(message.external_id.as_str()) {
            return Err(Invalid::new(
                format!("messages[{index}].external_id"),
                "must be unique within the request",
            ));
        }
    }
    let mut later: HashSet<MessageId> = messages.iter().map(|message| message.id).collect();
    for (index, message) in messages.iter().enumerate() {
        if let Parent::Message(parent) = &message.parent
            && (parent.id().is_some_and(|id| later.contains(&id))
                || own_ids.contains(parent.as_str()))
        {
            return Err(Invalid::new(
                format!("messages[{index}].parent_message_id"),
                "must be an older message: one of the thread, or one before it in the request",
            ));
        }
        later.remove(&message.id);
        own_ids.remove(message.external_id.as_str());
    }
    Ok(())
}

impl TryFrom<proto::MessageInput> for NewMessage {
    type Error = Invalid;

    fn try_from(input: proto::MessageInput) -> Result<Self, Invalid> {
        let proto::MessageInput {
            message_id,
            parent,
            role,
            name,
            parts,
            metadata,
            create_time,
            external_id,
        } = input;
        let chosen = check::optional_uuid("message_id", &message_id)?;
        let parent = match parent {
            None => Parent::Previous,
            Some(message_input::Parent::Root(())) => Parent::Root,
            Some(message_input::Parent::ParentMessageId(id)) => {
                Parent::Message(check::message_name("parent_message_id", &id)?)
            }
        };
        let role = role_from("role", role)?;
        Ok(Self {
            id: chosen.map_or_else(MessageId::new, MessageId::from),
            caller_chose_id: chosen.is_some(),
            external_id: check::external_id("external_id", external_id)?,
            parent,
            role,
            name: check::text("name", name, limits::NAME_CHARS)?,
            parts: parts_from(role, parts)?,
            metadata: json::object(
                "metadata",
                metadata,
                limits::METADATA_BYTES,
                limits::METADATA_DEPTH,
            )?,
            created: timestamp_of("create_time", create_time)?,
        })
    }
}

impl From<Message> for proto::Message {
    fn from(message: Message) -> Self {
        let Message {
            id,
            external_id,
            thread,
            parent,
            seq,
            branch,
            depth,
            role,
            name,
            parts,
            metadata,
            tokens,
            created,
        } = message;
        Self {
            message_id: id.to_string(),
            thread_id: thread.to_string(),
            parent_message_id: parent.map(|id| id.to_string()).unwrap_or_default(),
            seq,
            branch,
            depth,
            role: proto::Role::from(role).into(),
            name,
            parts: parts.into_iter().map(proto::Part::from).collect(),
            metadata: json::to_optional_struct(metadata),
            token_count: tokens,
            create_time: Some(timestamp(created)),
            external_id,
        }
    }
}

impl From<AppendedMessage> for proto::AppendedMessage {
    fn from(message: AppendedMessage) -> Self {
        let AppendedMessage {
            id,
            external_id,
            seq,
            branch,
            tokens,
        } = message;
        Self {
            message_id: id.to_string(),
            seq,
            branch,
            token_count: tokens,
            external_id,
        }
    }
}
