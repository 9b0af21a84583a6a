//! The content of a message of LangChain: a text, or blocks of LangChain and of providers.

use memory_contract::limits;
use memory_contract::proto::{
    FileRef, FileType, Part, ProviderFormat, Reasoning, file_ref::Location, part::Content,
};
use serde_json::Value;

use crate::foreign::parts::{kind_of, string, text};
use crate::foreign::reader::{Reader, shortened};
use crate::openai::part as openai_part;

/// The parts of a message, without its calls.
///
/// # Errors
/// The content is neither a text nor a list.
pub(super) fn parts_of(reader: &mut Reader<'_>, data: &Value) -> Result<Vec<Part>, String> {
    let blocks = match &data["content"] {
        Value::Null => return Ok(Vec::new()),
        Value::String(written) if written.is_empty() => return Ok(Vec::new()),
        Value::String(written) => return Ok(vec![text(written)]),
        Value::Array(blocks) => blocks,
        Value::Object(_) => return Ok(vec![json_part(&data["content"])]),
        _ => return Err("`content` has to be a text or a list of blocks".to_owned()),
    };
    let mut parts = Vec::new();
    for block in blocks {
        parts.extend(block_part(reader, block));
    }
    Ok(parts)
}

fn block_part(reader: &mut Reader<'_>, block: &Value) -> Option<Part> {
    if let Some(written) = block.as_str() {
        return (!written.is_empty()).then(|| text(written));
    }
    match string(block, &["type"]) {
        "text" => {
            let written = string(block, &["text"]);
            (!written.is_empty()).then(|| text(written))
        }
        // They are read from `tool_calls`.
        "tool_use" | "tool_call" | "tool_call_chunk" | "invalid_tool_call" | "function_call"
        | "input_json_delta" => None,
        "thinking" | "redacted_thinking" => thinking(reader, block),
        "reasoning" => {
            reader.leave_out("thoughts of the model", 1);
            None
        }
        "image" | "audio" | "video" | "file" if block.get("file").is_none() => {
            Some(file(block).unwrap_or_else(|| json_part(block)))
        }
        _ => Some(openai_part(block).unwrap_or_else(|_| json_part(block))),
    }
}

/// A thought of Anthropic's models, which its API takes back with its signature alone.
fn thinking(reader: &mut Reader<'_>, block: &Value) -> Option<Part> {
    let (signature, data) = (string(block, &["signature"]), string(block, &["data"]));
    if signature.is_empty() && data.is_empty() {
        reader.leave_out("thoughts of the model", 1);
        return None;
    }
    let reasoning = Reasoning {
        provider: ProviderFormat::AnthropicMessages.into(),
        text: string(block, &["thinking"]).to_owned(),
        signature: signature.to_owned(),
        encrypted_content: data.to_owned(),
        ..Default::default()
    };
    Some(Content::Reasoning(reasoning).into())
}

/// A file in a block of LangChain or Anthropic; `None` if the block does not say where it is.
fn file(block: &Value) -> Option<Part> {
    let source = if block["source"].is_object() {
        &block["source"]
    } else {
        block
    };
    let mime_type = string(source, &["mime_type", "media_type"]);
    let kind = match string(block, &["type"]) {
        "file" => kind_of(mime_type),
        kind => kind_of(kind),
    };
    let data = match string(source, &["base64"]) {
        "" if !matches!(string(source, &["source_type", "type"]), "text" | "id") => {
            string(source, &["data"])
        }
        data => data,
    };
    let location = match (string(source, &["url"]), data) {
        ("", "") => match string(source, &["file_id", "id"]) {
            "" => return None,
            id => Location::UploadFileId(shortened(id, limits::FILE_ID_CHARS)),
        },
        ("", data) => {
            let mime_type = match (mime_type, kind) {
                ("", FileType::Image) => "image/png",
                ("", _) => "application/octet-stream",
                (mime_type, _) => mime_type,
            };
            Location::Url(format!("data:{mime_type};base64,{data}"))
        }
        (url, _) => Location::Url(url.to_owned()),
    };
    let name = string(block, &["filename", "name", "title"]);
    Some(
        Content::File(FileRef {
            r#type: kind.into(),
            location: Some(location),
            name: shortened(name, limits::FILE_NAME_CHARS),
            mime_type: shortened(mime_type, limits::MIME_TYPE_CHARS),
            ..Default::default()
        })
        .into(),
    )
}

fn json_part(block: &Value) -> Part {
    Content::Json(block.to_string()).into()
}
