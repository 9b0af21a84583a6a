//! Converts roles and the parts of a message.

use serde_json::Value;

use super::{file_ref_from, json};
use crate::{
    Invalid, Part, Role, ToolCall, ToolOutput, ToolResult, check, limits,
    proto::{self, part, tool_result},
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

/// Reads a required role.
pub(super) fn role_from(field: &str, number: i32) -> Result<Role, Invalid> {
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

/// Reads the parts of a user's current input: at most 64, at most 1 MiB together; none if
/// the input is already stored.
///
/// # Errors
/// A part over its limit, or one that only other roles may have.
pub fn user_parts_from(field: &str, parts: Vec<proto::Part>) -> Result<Vec<Part>, Invalid> {
    if parts.is_empty() {
        return Ok(Vec::new());
    }
    parts_within(field, Role::User, parts)
}

pub(super) fn parts_from(role: Role, parts: Vec<proto::Part>) -> Result<Vec<Part>, Invalid> {
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
    match &part.content {
        Some(part::Content::ToolCall(_)) if role != Role::Assistant => Err(Invalid::new(
            "tool_call",
            "belongs in a message with ROLE_ASSISTANT",
        )),
        Some(part::Content::ToolResult(_)) if role != Role::Tool => Err(Invalid::new(
            "tool_result",
            "belongs in a message with ROLE_TOOL",
        )),
        _ => part.try_into(),
    }
}

impl TryFrom<proto::Part> for Part {
    type Error = Invalid;

    fn try_from(part: proto::Part) -> Result<Self, Invalid> {
        let content = part.content.ok_or_else(|| {
            Invalid::new(
                "content",
                "is required: text, json, tool_call, tool_result or file",
            )
        })?;
        Ok(match content {
            part::Content::Text(text) => {
                Self::Text(check::long_text("text", text, limits::TEXT_BYTES)?)
            }
            part::Content::Json(value) => Self::Json(json_from("json", value)?),
            part::Content::ToolCall(call) => {
                Self::ToolCall(tool_call_from(call).map_err(|invalid| invalid.within("tool_call"))?)
            }
            part::Content::ToolResult(result) => Self::ToolResult(
                tool_result_from(result).map_err(|invalid| invalid.within("tool_result"))?,
            ),
            part::Content::File(file) => {
                Self::File(file_ref_from(file).map_err(|invalid| invalid.within("file"))?)
            }
        })
    }
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
