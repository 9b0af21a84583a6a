//! Converts messages.

use std::collections::HashSet;

use super::part::{parts_from, role_from};
use super::{json, timestamp, timestamp_of};
use crate::{
    AppendedMessage, Invalid, InvalidFields, Message, MessageId, NewMessage, Parent, check, limits,
    proto::{self, message_input},
};

/// Reads the messages of one append: 1 to 256, at most 3 MiB together. The error names
/// the first 20 wrong fields.
///
/// # Errors
/// Any field over its limit; then nothing of the batch may be stored.
pub fn new_messages_from(
    inputs: Vec<proto::MessageInput>,
) -> Result<Vec<NewMessage>, InvalidFields> {
    const NAMED: usize = 20;
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
            None | Some(message_input::Parent::Root(false)) => Parent::Previous,
            Some(message_input::Parent::Root(true)) => Parent::Root,
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
