//! Messages, their parts, and filters.

use std::collections::HashSet;

use serde_json::Value;

use super::{file_ref_from, json, timestamp, timestamp_of};
use crate::{
    AppendedMessage, Invalid, InvalidFields, Message, MessageFilter, MessageId, NewMessage, Parent,
    Part, Role, ToolCall, ToolOutput, ToolResult, check, limits,
    proto::{self, message_input, part, tool_result},
};

impl From<Role> for proto::Role {
    fn from(role: Role) -> Self {
        match role {
            Role::User => Self::User,
            Role::Assistant => Self::Assistant,
            Role::System => Self::System,
            Role::Tool => Self::Tool,
        }
    }
}

/// Reads a role by its number on the wire.
fn role_from(field: &str, number: i32) -> Result<Role, Invalid> {
    match proto::Role::try_from(number) {
        Ok(proto::Role::User) => Ok(Role::User),
        Ok(proto::Role::Assistant) => Ok(Role::Assistant),
        Ok(proto::Role::System) => Ok(Role::System),
        Ok(proto::Role::Tool) => Ok(Role::Tool),
        Ok(proto::Role::Unspecified) | Err(_) => Err(Invalid::new(
            field,
            "is required: ROLE_USER, ROLE_ASSISTANT, ROLE_SYSTEM or ROLE_TOOL",
        )),
    }
}

/// Reads the messages of one append: 1 to 256 of them, at most 3 MiB together.
/// Every wrong field is named, up to the first 20.
///
/// # Errors
/// Any field beyond its limit; then nothing of the batch may be stored.
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

/// Within a batch an id stands once, and a parent stands before its child, so
/// there can be no cycle.
fn check_ids(messages: &[NewMessage]) -> Result<(), Invalid> {
    if let Some(index) = check::repeated(messages.iter().map(|message| message.id)) {
        return Err(Invalid::new(
            format!("messages[{index}].message_id"),
            "must not stand twice in a request",
        ));
    }
    let mut later: HashSet<MessageId> = messages.iter().map(|message| message.id).collect();
    for (index, message) in messages.iter().enumerate() {
        if let Parent::Message(parent) = message.parent
            && later.contains(&parent)
        {
            return Err(Invalid::new(
                format!("messages[{index}].parent_message_id"),
                "must be an older message: one of the thread, or one before it in the request",
            ));
        }
        later.remove(&message.id);
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
        } = input;
        let chosen = check::optional_uuid("message_id", &message_id)?;
        let parent = match parent {
            None | Some(message_input::Parent::Root(false)) => Parent::Previous,
            Some(message_input::Parent::Root(true)) => Parent::Root,
            Some(message_input::Parent::ParentMessageId(id)) => {
                Parent::Message(check::uuid("parent_message_id", &id)?.into())
            }
        };
        let role = role_from("role", role)?;
        Ok(Self {
            id: chosen.map_or_else(MessageId::new, MessageId::from),
            caller_chose_id: chosen.is_some(),
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

/// Reads the parts of what a user says just now: at most 64, together at most
/// 1 MiB; none where it has been stored already.
///
/// # Errors
/// A part beyond its limit, or one that only other roles have.
pub fn user_parts_from(field: &str, parts: Vec<proto::Part>) -> Result<Vec<Part>, Invalid> {
    if parts.is_empty() {
        return Ok(Vec::new());
    }
    parts_within(field, Role::User, parts)
}

fn parts_from(role: Role, parts: Vec<proto::Part>) -> Result<Vec<Part>, Invalid> {
    if parts.is_empty() {
        return Err(Invalid::new(
            "parts",
            format!("must be 1 to {} parts, are 0", limits::PARTS),
        ));
    }
    parts_within("parts", role, parts)
}

fn parts_within(field: &str, role: Role, parts: Vec<proto::Part>) -> Result<Vec<Part>, Invalid> {
    if parts.len() > limits::PARTS {
        return Err(Invalid::new(
            field,
            format!("must be 1 to {} parts, are {}", limits::PARTS, parts.len()),
        ));
    }
    let bytes: usize = parts.iter().map(prost::Message::encoded_len).sum();
    if bytes > limits::MESSAGE_BYTES {
        return Err(Invalid::new(
            field,
            format!(
                "must have at most {} bytes together, have {bytes}",
                limits::MESSAGE_BYTES
            ),
        ));
    }
    parts
        .into_iter()
        .enumerate()
        .map(|(index, part)| {
            part_from(role, part)
                .map_err(|invalid| invalid.within(format_args!("{field}[{index}]")))
        })
        .collect()
}

fn part_from(role: Role, part: proto::Part) -> Result<Part, Invalid> {
    let proto::Part { content } = part;
    Ok(match content {
        None => {
            return Err(Invalid::new(
                "content",
                "is required: text, json, tool_call, tool_result or file",
            ));
        }
        Some(part::Content::Text(text)) => {
            Part::Text(check::long_text("text", text, limits::TEXT_BYTES)?)
        }
        Some(part::Content::Json(value)) => Part::Json(json_from("json", value)?),
        Some(part::Content::ToolCall(_)) if role != Role::Assistant => {
            return Err(Invalid::new(
                "tool_call",
                "belongs in a message with ROLE_ASSISTANT",
            ));
        }
        Some(part::Content::ToolResult(_)) if role != Role::Tool => {
            return Err(Invalid::new(
                "tool_result",
                "belongs in a message with ROLE_TOOL",
            ));
        }
        Some(part::Content::ToolCall(call)) => {
            Part::ToolCall(tool_call_from(call).map_err(|invalid| invalid.within("tool_call"))?)
        }
        Some(part::Content::ToolResult(result)) => Part::ToolResult(
            tool_result_from(result).map_err(|invalid| invalid.within("tool_result"))?,
        ),
        Some(part::Content::File(file)) => {
            Part::File(file_ref_from(file).map_err(|invalid| invalid.within("file"))?)
        }
    })
}

fn json_from(field: &str, value: prost_types::Value) -> Result<Value, Invalid> {
    json::value(field, value, limits::TEXT_BYTES, limits::JSON_DEPTH)
}

fn tool_call_from(call: proto::ToolCall) -> Result<ToolCall, Invalid> {
    let proto::ToolCall {
        tool_call_id,
        name,
        arguments,
    } = call;
    Ok(ToolCall {
        id: check::required_text("tool_call_id", tool_call_id, limits::TOOL_CHARS)?,
        name: check::required_text("name", name, limits::TOOL_CHARS)?,
        arguments: json::object(
            "arguments",
            arguments,
            limits::TEXT_BYTES,
            limits::JSON_DEPTH,
        )?,
    })
}

fn tool_result_from(result: proto::ToolResult) -> Result<ToolResult, Invalid> {
    let proto::ToolResult {
        tool_call_id,
        name,
        content,
        is_error,
    } = result;
    let output = match content {
        None => None,
        Some(tool_result::Content::Text(text)) => Some(ToolOutput::Text(check::long_text(
            "text",
            text,
            limits::TEXT_BYTES,
        )?)),
        Some(tool_result::Content::Json(value)) => {
            Some(ToolOutput::Json(json_from("json", value)?))
        }
    };
    Ok(ToolResult {
        call_id: check::required_text("tool_call_id", tool_call_id, limits::TOOL_CHARS)?,
        name: check::text("name", name, limits::TOOL_CHARS)?,
        output,
        is_error,
    })
}

/// Reads a filter; an absent one keeps everything.
///
/// # Errors
/// Unknown roles, too many names or keys, a time range that is empty, and
/// metadata values that cannot be matched.
pub fn filter_from(filter: Option<proto::MessageFilter>) -> Result<MessageFilter, Invalid> {
    let Some(filter) = filter else {
        return Ok(MessageFilter::default());
    };
    filter_fields(filter).map_err(|invalid| invalid.within("filter"))
}

fn filter_fields(filter: proto::MessageFilter) -> Result<MessageFilter, Invalid> {
    let proto::MessageFilter {
        roles,
        names,
        start_time,
        end_time,
        metadata,
    } = filter;
    let mut wanted = Vec::with_capacity(roles.len().min(Role::ALL.len()));
    for (index, role) in roles.into_iter().enumerate() {
        let role = role_from(&format!("roles[{index}]"), role)?;
        if !wanted.contains(&role) {
            wanted.push(role);
        }
    }
    if names.len() > limits::FILTER_NAMES {
        return Err(Invalid::new(
            "names",
            format!("must be at most {} names", limits::FILTER_NAMES),
        ));
    }
    let names = names
        .into_iter()
        .enumerate()
        .map(|(index, name)| {
            check::required_text(&format!("names[{index}]"), name, limits::NAME_CHARS)
        })
        .collect::<Result<_, _>>()?;
    let start = timestamp_of("start_time", start_time)?;
    let end = timestamp_of("end_time", end_time)?;
    if let (Some(start), Some(end)) = (start, end)
        && start >= end
    {
        return Err(Invalid::new("end_time", "must be later than start_time"));
    }
    let metadata = json::object("metadata", metadata, limits::METADATA_BYTES, 2)?;
    if metadata.len() > limits::FILTER_KEYS {
        return Err(Invalid::new(
            "metadata",
            format!("must have at most {} keys", limits::FILTER_KEYS),
        ));
    }
    for (key, value) in &metadata {
        check_condition(key, value)?;
    }
    Ok(MessageFilter {
        roles: wanted,
        names,
        start,
        end,
        metadata,
    })
}

/// A key goes into a path of the index's filter, so it must not be able to
/// name another path.
fn check_condition(key: &str, value: &Value) -> Result<(), Invalid> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if key.is_empty() || key.len() > limits::FILTER_KEY_CHARS || !key.bytes().all(plain) {
        return Err(Invalid::new(
            "metadata",
            format!(
                "keys must be 1 to {} letters, digits, _ or -",
                limits::FILTER_KEY_CHARS
            ),
        ));
    }
    if value.is_string() || value.is_boolean() || value.is_i64() {
        return Ok(());
    }
    Err(Invalid::new(
        format!("metadata.{key}"),
        "must be a string, a whole number or a boolean",
    ))
}

impl From<Message> for proto::Message {
    fn from(message: Message) -> Self {
        let Message {
            id,
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
        }
    }
}

impl From<AppendedMessage> for proto::AppendedMessage {
    fn from(message: AppendedMessage) -> Self {
        let AppendedMessage {
            id,
            seq,
            branch,
            tokens,
        } = message;
        Self {
            message_id: id.to_string(),
            seq,
            branch,
            token_count: tokens,
        }
    }
}

impl From<Part> for proto::Part {
    fn from(part: Part) -> Self {
        let content = match part {
            Part::Text(text) => part::Content::Text(text),
            Part::Json(value) => part::Content::Json(json::to_value(value)),
            Part::ToolCall(ToolCall {
                id,
                name,
                arguments,
            }) => part::Content::ToolCall(proto::ToolCall {
                tool_call_id: id,
                name,
                arguments: Some(json::to_struct(arguments)),
            }),
            Part::ToolResult(ToolResult {
                call_id,
                name,
                output,
                is_error,
            }) => part::Content::ToolResult(proto::ToolResult {
                tool_call_id: call_id,
                name,
                content: output.map(|output| match output {
                    ToolOutput::Text(text) => tool_result::Content::Text(text),
                    ToolOutput::Json(value) => tool_result::Content::Json(json::to_value(value)),
                }),
                is_error,
            }),
            Part::File(file) => part::Content::File(file.into()),
        };
        Self {
            content: Some(content),
        }
    }
}
