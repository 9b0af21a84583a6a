//! Converts roles and the parts of a message.

use super::{file_ref_from, json};
use crate::{
    Fields, Invalid, InvalidFields, check, limits,
    message::{Content, Opaque, Part, Provider, Reasoning, Role, ToolCall, ToolOutput, ToolResult},
    proto::{self, ProviderFormat, part, tool_result_part},
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

impl From<Provider> for ProviderFormat {
    fn from(provider: Provider) -> Self {
        match provider {
            Provider::OpenaiChat => Self::OpenaiChat,
            Provider::OpenaiResponses => Self::OpenaiResponses,
            Provider::AnthropicMessages => Self::AnthropicMessages,
            Provider::Gemini => Self::Gemini,
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

/// Reads a required provider.
///
/// # Errors
/// It is missing, unknown or PROVIDER_FORMAT_TEXT.
pub fn provider_from(field: &str, number: i32) -> Result<Provider, Invalid> {
    match ProviderFormat::try_from(number) {
        Ok(ProviderFormat::OpenaiChat) => Ok(Provider::OpenaiChat),
        Ok(ProviderFormat::OpenaiResponses) => Ok(Provider::OpenaiResponses),
        Ok(ProviderFormat::AnthropicMessages) => Ok(Provider::AnthropicMessages),
        Ok(ProviderFormat::Gemini) => Ok(Provider::Gemini),
        Ok(ProviderFormat::Unspecified | ProviderFormat::Text) | Err(_) => Err(Invalid::new(
            field,
            "is required: PROVIDER_FORMAT_OPENAI_CHAT, _OPENAI_RESPONSES, _ANTHROPIC_MESSAGES or \
             _GEMINI",
        )),
    }
}

/// Reads the parts of a user's current input: at most 64, at most 1 MiB together; none if
/// the input is already stored.
///
/// # Errors
/// A part over its limit, or one that only other roles may have.
pub fn user_parts_from(field: &str, parts: Vec<proto::Part>) -> Result<Vec<Part>, InvalidFields> {
    if parts.is_empty() {
        return Ok(Vec::new());
    }
    let parts = parts.into_iter().map(bare_part).collect();
    parts_within(field, Some(Role::User), parts)
}

/// Reads the parts of a message; without a role, whichever belong in any.
pub(super) fn parts_from(
    role: Option<Role>,
    parts: Vec<proto::Part>,
) -> Result<Vec<Part>, InvalidFields> {
    if parts.is_empty() {
        let problem = format!("must be 1 to {} parts, are 0", limits::PARTS);
        return Err(Invalid::new("parts", problem).into());
    }
    parts_within("parts", role, parts)
}

fn parts_within(
    field: &str,
    role: Option<Role>,
    parts: Vec<proto::Part>,
) -> Result<Vec<Part>, InvalidFields> {
    let (count, most) = (parts.len(), limits::PARTS);
    if count > most {
        let problem = format!("must be 1 to {most} parts, are {count}");
        return Err(Invalid::new(field, problem).into());
    }
    let bytes: usize = parts.iter().map(prost::Message::encoded_len).sum();
    let most = limits::MESSAGE_BYTES;
    if bytes > most {
        let problem = format!("must have at most {most} bytes together, have {bytes}");
        return Err(Invalid::new(field, problem).into());
    }
    let mut fields = Fields::default();
    let mut read = Vec::with_capacity(count);
    for (index, part) in parts.into_iter().enumerate() {
        let part = part_from(role, part);
        let part = part.map_err(|invalid| invalid.within(format_args!("{field}[{index}]")));
        read.extend(fields.get_all(part));
    }
    fields.all(Some(read))
}

fn part_from(role: Option<Role>, part: proto::Part) -> Result<Part, InvalidFields> {
    let (only, field) = match &part.content {
        Some(part::Content::ToolCall(_)) => (Role::Assistant, "tool_call"),
        Some(part::Content::Reasoning(_)) => (Role::Assistant, "reasoning"),
        Some(part::Content::ToolResult(_)) => (Role::Tool, "tool_result"),
        _ => return part.try_into(),
    };
    let mut fields = Fields::default();
    if role.is_some_and(|role| role != only) {
        let only = proto::Role::from(only).as_str_name();
        let misplaced = Invalid::new(field, format!("belongs in a message with {only}"));
        fields.take(Err::<(), _>(misplaced));
    }
    let part = fields.get_all(part.try_into());
    fields.all(part)
}

impl TryFrom<proto::Part> for Part {
    type Error = InvalidFields;

    fn try_from(part: proto::Part) -> Result<Self, InvalidFields> {
        let proto::Part { content, signature } = part;
        let mut fields = Fields::default();
        if matches!(content, Some(part::Content::Reasoning(_))) && !signature.is_empty() {
            let problem = "must be empty beside reasoning; set reasoning.signature";
            fields.take(Err::<(), _>(Invalid::new("signature", problem)));
        }
        let signature = check::long_text("signature", signature, limits::TEXT_BYTES);
        let signature = fields.take(signature);
        let content = fields.get_all(content_from(content));
        let content = fields.all(content)?;
        Ok(Self { content, signature })
    }
}

fn content_from(content: Option<part::Content>) -> Result<Content, InvalidFields> {
    use part::Content as Sent;

    let Some(content) = content else {
        let problem = "is required: text, json, tool_call, tool_result, file, reasoning or opaque";
        return Err(Invalid::new("content", problem).into());
    };
    Ok(match content {
        Sent::Text(text) => Content::Text(check::long_text("text", text, limits::TEXT_BYTES)?),
        Sent::Json(text) => Content::Json(json::text("json", text)?),
        Sent::ToolCall(call) => {
            Content::ToolCall(tool_call_from(call).map_err(|wrong| wrong.within("tool_call"))?)
        }
        Sent::ToolResult(result) => Content::ToolResult(
            tool_result_from(result).map_err(|wrong| wrong.within("tool_result"))?,
        ),
        Sent::File(file) => {
            Content::File(file_ref_from(file).map_err(|wrong| wrong.within("file"))?)
        }
        Sent::Reasoning(reasoning) => Content::Reasoning(
            reasoning_from(reasoning).map_err(|wrong| wrong.within("reasoning"))?,
        ),
        Sent::Opaque(opaque) => {
            Content::Opaque(opaque_from(opaque).map_err(|wrong| wrong.within("opaque"))?)
        }
    })
}

fn tool_call_from(call: proto::ToolCall) -> Result<ToolCall, InvalidFields> {
    let proto::ToolCall {
        tool_call_id,
        name,
        arguments,
        invalid_json: _,
    } = call;
    let mut fields = Fields::default();
    let call = ToolCall {
        id: fields.take(check::required_text(
            "tool_call_id",
            tool_call_id,
            limits::TOOL_CHARS,
        )),
        name: fields.take(check::required_text("name", name, limits::TOOL_CHARS)),
        arguments: fields.take(check::long_text("arguments", arguments, limits::TEXT_BYTES)),
    };
    fields.all(Some(call))
}

fn tool_result_from(result: proto::ToolResult) -> Result<ToolResult, InvalidFields> {
    let proto::ToolResult {
        tool_call_id,
        name,
        content,
        is_error,
    } = result;
    let mut fields = Fields::default();
    let call_id = check::required_text("tool_call_id", tool_call_id, limits::TOOL_CHARS);
    let call_id = fields.take(call_id);
    let name = fields.take(check::text("name", name, limits::TOOL_CHARS));
    let (count, most) = (content.len(), limits::TOOL_OUTPUTS);
    if count > most {
        let problem = format!("must be at most {most} pieces, are {count}");
        fields.take(Err::<(), _>(Invalid::new("content", problem)));
        return fields.all(None);
    }
    let mut output = Vec::with_capacity(count);
    for (index, piece) in content.into_iter().enumerate() {
        let piece = output_from(piece);
        let piece = piece.map_err(|wrong| wrong.within(format_args!("content[{index}]")));
        output.extend(fields.get_all(piece));
    }
    fields.all(Some(ToolResult {
        call_id,
        name,
        output,
        is_error,
    }))
}

fn output_from(piece: proto::ToolResultPart) -> Result<ToolOutput, InvalidFields> {
    use tool_result_part::Content as Piece;
    Ok(match piece.content {
        None => {
            let problem = "is required: text, json, file or opaque";
            return Err(Invalid::new("content", problem).into());
        }
        Some(Piece::Text(text)) => {
            ToolOutput::Text(check::long_text("text", text, limits::TEXT_BYTES)?)
        }
        Some(Piece::Json(text)) => ToolOutput::Json(json::text("json", text)?),
        Some(Piece::File(file)) => {
            ToolOutput::File(file_ref_from(file).map_err(|invalid| invalid.within("file"))?)
        }
        Some(Piece::Opaque(opaque)) => {
            ToolOutput::Opaque(opaque_from(opaque).map_err(|invalid| invalid.within("opaque"))?)
        }
    })
}

fn reasoning_from(reasoning: proto::Reasoning) -> Result<Reasoning, InvalidFields> {
    let proto::Reasoning {
        provider,
        id,
        text,
        summaries,
        signature,
        encrypted_content,
    } = reasoning;
    let mut fields = Fields::default();
    let bytes: usize = summaries.iter().map(String::len).sum();
    if summaries.len() > limits::REASONING_SUMMARIES || bytes > limits::TEXT_BYTES {
        let problem = format!(
            "must be at most {} of at most {} bytes together, are {} of {bytes}",
            limits::REASONING_SUMMARIES,
            limits::TEXT_BYTES,
            summaries.len()
        );
        fields.take(Err::<(), _>(Invalid::new("summaries", problem)));
    }
    let nul = summaries
        .iter()
        .find_map(|summary| check::no_nul("summaries", summary).err());
    fields.take(nul.map_or(Ok(()), Err));
    let provider = fields.get(provider_from("provider", provider));
    let id = fields.take(check::text("id", id, limits::REASONING_ID_CHARS));
    let text = fields.take(check::long_text("text", text, limits::TEXT_BYTES));
    let signature = fields.take(check::long_text("signature", signature, limits::TEXT_BYTES));
    let encrypted = check::long_text("encrypted_content", encrypted_content, limits::TEXT_BYTES);
    let encrypted = fields.take(encrypted);
    let provider = fields.all(provider)?;
    Ok(Reasoning {
        provider,
        id,
        text,
        summaries,
        signature,
        encrypted,
    })
}

fn opaque_from(opaque: proto::OpaquePart) -> Result<Opaque, InvalidFields> {
    let proto::OpaquePart {
        provider,
        r#type,
        json,
    } = opaque;
    let mut fields = Fields::default();
    let provider = fields.get(provider_from("provider", provider));
    let kind = check::required_text("type", r#type, limits::OPAQUE_TYPE_CHARS);
    let kind = fields.take(kind);
    let json = fields.take(json::object_text("json", json));
    let provider = fields.all(provider)?;
    Ok(Opaque {
        provider,
        kind,
        json,
    })
}

/// A part without the fields that only answers set.
pub fn bare_part(part: proto::Part) -> proto::Part {
    use part::Content;
    let proto::Part { content, signature } = part;
    let content = content.map(|content| match content {
        Content::File(file) => Content::File(bare_reference(file)),
        Content::ToolCall(call) => Content::ToolCall(proto::ToolCall {
            invalid_json: false,
            ..call
        }),
        Content::ToolResult(mut result) => {
            for piece in &mut result.content {
                if let Some(tool_result_part::Content::File(file)) = &mut piece.content {
                    *file = bare_reference(std::mem::take(file));
                }
            }
            Content::ToolResult(result)
        }
        Content::Text(_) | Content::Json(_) | Content::Reasoning(_) | Content::Opaque(_) => content,
    });
    proto::Part { content, signature }
}

/// A reference to a file without the fields that only answers set.
pub fn bare_reference(reference: proto::FileRef) -> proto::FileRef {
    proto::FileRef {
        file: None,
        dangling: false,
        ..reference
    }
}

impl From<part::Content> for proto::Part {
    fn from(content: part::Content) -> Self {
        Self {
            content: Some(content),
            signature: String::new(),
        }
    }
}

impl From<tool_result_part::Content> for proto::ToolResultPart {
    fn from(content: tool_result_part::Content) -> Self {
        Self {
            content: Some(content),
        }
    }
}

impl From<Part> for proto::Part {
    fn from(part: Part) -> Self {
        let Part { content, signature } = part;
        let content = match content {
            Content::Text(text) => part::Content::Text(text),
            Content::Json(text) => part::Content::Json(text),
            Content::ToolCall(call) => part::Content::ToolCall(call.into()),
            Content::ToolResult(ToolResult {
                call_id,
                name,
                output,
                is_error,
            }) => part::Content::ToolResult(proto::ToolResult {
                tool_call_id: call_id,
                name,
                content: output.into_iter().map(Into::into).collect(),
                is_error,
            }),
            Content::File(file) => part::Content::File(file.into()),
            Content::Reasoning(Reasoning {
                provider,
                id,
                text,
                summaries,
                signature,
                encrypted,
            }) => part::Content::Reasoning(proto::Reasoning {
                provider: ProviderFormat::from(provider).into(),
                id,
                text,
                summaries,
                signature,
                encrypted_content: encrypted,
            }),
            Content::Opaque(opaque) => part::Content::Opaque(opaque.into()),
        };
        Self {
            content: Some(content),
            signature,
        }
    }
}

impl From<ToolCall> for proto::ToolCall {
    fn from(call: ToolCall) -> Self {
        let invalid_json = !call.is_json();
        let ToolCall {
            id,
            name,
            arguments,
        } = call;
        Self {
            tool_call_id: id,
            name,
            arguments,
            invalid_json,
        }
    }
}

impl From<ToolOutput> for proto::ToolResultPart {
    fn from(output: ToolOutput) -> Self {
        match output {
            ToolOutput::Text(text) => tool_result_part::Content::Text(text),
            ToolOutput::Json(text) => tool_result_part::Content::Json(text),
            ToolOutput::File(file) => tool_result_part::Content::File(file.into()),
            ToolOutput::Opaque(opaque) => tool_result_part::Content::Opaque(opaque.into()),
        }
        .into()
    }
}

impl From<Opaque> for proto::OpaquePart {
    fn from(opaque: Opaque) -> Self {
        let Opaque {
            provider,
            kind,
            json,
        } = opaque;
        Self {
            provider: ProviderFormat::from(provider).into(),
            r#type: kind,
            json,
        }
    }
}
