//! Converts messages.

use std::collections::HashSet;

use super::part::{bare_part, parts_from, role_from};
use super::{metadata_from, timestamp, timestamp_of};
use crate::{
    Fields, Invalid, InvalidFields, MessageId, UserId, check, limits,
    message::{AppendedMessage, Message, NewMessage, Parent, Role},
    proto::{self, message_input},
};

/// Reads the messages of one append: 1 to 256, at most 3 MiB together. The error names the
/// first 20 wrong fields.
///
/// # Errors
/// Any field over its limit; then nothing of the batch may be stored.
pub fn messages_from(inputs: Vec<proto::MessageInput>) -> Result<Vec<NewMessage>, InvalidFields> {
    messages_within(inputs, (limits::BATCH_MESSAGES, limits::BATCH_BYTES))
}

/// Reads 1 to `most` messages of at most `most_bytes` together.
pub(super) fn messages_within(
    inputs: Vec<proto::MessageInput>,
    (most, most_bytes): (usize, usize),
) -> Result<Vec<NewMessage>, InvalidFields> {
    if inputs.is_empty() || inputs.len() > most {
        return Err(Invalid::new(
            "messages",
            format!("must be 1 to {most} messages, are {}", inputs.len()),
        )
        .into());
    }
    let inputs: Vec<proto::MessageInput> = inputs.into_iter().map(bare).collect();
    let bytes: usize = inputs.iter().map(prost::Message::encoded_len).sum();
    if bytes > most_bytes {
        return Err(Invalid::new(
            "messages",
            format!(
                "must have at most {most_bytes} bytes together, have {bytes}; send fewer at a time"
            ),
        )
        .into());
    }
    let mut messages = Vec::with_capacity(inputs.len());
    let mut invalid = Vec::new();
    for (index, input) in inputs.into_iter().enumerate() {
        match NewMessage::try_from(input) {
            Ok(message) => messages.push(message),
            Err(problems) => {
                invalid.extend(problems.within(format_args!("messages[{index}]")).0);
            }
        }
        if invalid.len() >= limits::NAMED_FIELDS {
            break;
        }
    }
    InvalidFields::none_of(invalid)?;
    check_ids(&messages)?;
    Ok(messages)
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
    type Error = InvalidFields;

    fn try_from(input: proto::MessageInput) -> Result<Self, InvalidFields> {
        let proto::MessageInput {
            message_id,
            parent,
            role,
            name,
            parts,
            metadata,
            create_time,
            external_id,
            user_id,
        } = input;
        let mut fields = Fields::default();
        let chosen = fields.take(check::optional_uuid("message_id", &message_id));
        let parent = match parent {
            None => Some(Parent::Previous),
            Some(message_input::Parent::Root(())) => Some(Parent::Root),
            Some(message_input::Parent::ParentMessageId(id)) => fields
                .get(check::message_name("parent_message_id", &id))
                .map(Parent::Message),
        };
        let role = fields.get(role_from("role", role));
        let name = fields.take(check::text("name", name, limits::NAME_CHARS));
        let said_by = fields.take(speaker_from(role, user_id));
        let parts = fields.take(parts_from(role, parts));
        let metadata = fields.take(metadata_from("metadata", metadata));
        let created = fields.take(timestamp_of("create_time", create_time));
        let external_id = fields.take(check::external_id("external_id", external_id));
        let (parent, role) = fields.all(parent.zip(role))?;
        Ok(Self {
            id: chosen.map_or_else(MessageId::new, MessageId::from),
            caller_chose_id: chosen.is_some(),
            external_id,
            parent,
            role,
            name,
            said_by,
            parts,
            metadata,
            created,
        })
    }
}

/// The user who said a message. What a model, a tool or the app said is no user's.
fn speaker_from(role: Option<Role>, user: String) -> Result<UserId, Invalid> {
    let user = check::text("user_id", user, limits::USER_ID_CHARS)?;
    if !user.is_empty() && role.is_some_and(|role| role != Role::User) {
        return Err(Invalid::new(
            "user_id",
            "is only valid with ROLE_USER; a name of another speaker belongs in name",
        ));
    }
    Ok(UserId::new(user))
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
            said_by,
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
            metadata: metadata.into_text(),
            token_count: tokens,
            create_time: Some(timestamp(created)),
            external_id,
            user_id: said_by.into(),
        }
    }
}

/// The same content, to append it again under the same id; without a parent, because the parent of a
/// message may be stored under another id.
impl From<proto::Message> for proto::MessageInput {
    fn from(message: proto::Message) -> Self {
        let proto::Message {
            message_id,
            thread_id: _,
            parent_message_id: _,
            seq: _,
            branch: _,
            depth: _,
            role,
            name,
            parts,
            metadata,
            token_count: _,
            create_time,
            external_id,
            user_id,
        } = message;
        Self {
            message_id,
            parent: None,
            role,
            name,
            parts,
            metadata,
            create_time,
            external_id,
            user_id,
        }
    }
}

/// The content as it is read after it was appended, without a place.
impl From<proto::MessageInput> for proto::Message {
    fn from(input: proto::MessageInput) -> Self {
        let proto::MessageInput {
            message_id,
            parent: _,
            role,
            name,
            parts,
            metadata,
            create_time,
            external_id,
            user_id,
        } = input;
        Self {
            message_id,
            role,
            name,
            parts,
            metadata,
            create_time,
            external_id,
            user_id,
            ..Self::default()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::{FileRef, Part, Role, ToolCall, part::Content};

    fn wrong(messages: Vec<proto::MessageInput>) -> Vec<String> {
        let InvalidFields(invalid) = messages_from(messages).unwrap_err();
        invalid.into_iter().map(|invalid| invalid.field).collect()
    }

    #[test]
    fn an_error_names_every_wrong_field_of_a_message() {
        let call = |id: &str| {
            Part::from(Content::ToolCall(ToolCall {
                tool_call_id: id.to_owned(),
                ..Default::default()
            }))
        };
        let message = proto::MessageInput {
            message_id: "7".to_owned(),
            role: Role::User.into(),
            name: "x".repeat(257),
            user_id: "x".repeat(257),
            external_id: "\n".to_owned(),
            parts: vec![
                call(""),
                Content::Text("fine".to_owned()).into(),
                Part {
                    signature: "\0".to_owned(),
                    ..Content::Json("{".to_owned()).into()
                },
                Content::File(FileRef::default()).into(),
                Part::default(),
            ],
            ..Default::default()
        };
        let expected = [
            "messages[0].message_id",
            "messages[0].name",
            "messages[0].user_id",
            "messages[0].parts[0].tool_call",
            "messages[0].parts[0].tool_call.tool_call_id",
            "messages[0].parts[0].tool_call.name",
            "messages[0].parts[2].signature",
            "messages[0].parts[2].json",
            "messages[0].parts[3].file.type",
            "messages[0].parts[3].file.location",
            "messages[0].parts[4].content",
            "messages[0].external_id",
        ];
        assert_eq!(wrong(vec![message.clone()]), expected);

        // Without a role, parts are checked all the same, and the next message too.
        let other = proto::MessageInput {
            parts: vec![call("a")],
            ..Default::default()
        };
        let both = wrong(vec![message; 2]);
        assert_eq!(both.len(), limits::NAMED_FIELDS);
        let both = wrong(vec![other.clone(), other]);
        assert_eq!(
            both,
            [
                "messages[0].role",
                "messages[0].parts[0].tool_call.name",
                "messages[1].role",
                "messages[1].parts[0].tool_call.name",
            ]
        );
    }

    #[test]
    fn only_users_are_named_as_those_who_said_something() {
        let said = |role: Role| proto::MessageInput {
            role: role.into(),
            user_id: "ada".to_owned(),
            parts: vec![Content::Text("fine".to_owned()).into()],
            ..Default::default()
        };
        let read = messages_from(vec![said(Role::User)]).unwrap();
        assert_eq!(read[0].said_by.as_str(), "ada");
        for role in [Role::Assistant, Role::System] {
            assert_eq!(wrong(vec![said(role)]), ["messages[0].user_id"]);
        }
    }
}
