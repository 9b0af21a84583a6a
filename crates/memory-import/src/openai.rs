//! Reads OpenAI's chat format.

use std::collections::HashMap;

use memory_contract::proto::{
    FileRef, FileType, MessageInput, Part, ProviderFormat, Reasoning, Role, ToolCall, ToolResult,
    file_ref::Location, part::Content, tool_result_part,
};
use serde_json::{Map, Value};

use crate::values::{object_text, time_from};

/// Reads the messages of one conversation, in order.
#[derive(Debug, Default)]
pub(crate) struct Chat {
    /// The names of the tools by the ids of their calls: an answer names only
    /// the call.
    tools: HashMap<String, String>,
}

impl Chat {
    /// One entry of `messages`.
    ///
    /// # Errors
    /// The message has a problem, which the error names.
    pub(crate) fn message(&mut self, json: &Value) -> Result<MessageInput, String> {
        let message = json.as_object().ok_or("a message has to be an object")?;
        let role_text = text(message, "role").ok_or("`role` is missing")?;
        let role = role(role_text)?;
        let mut parts = match role {
            Role::Tool => vec![self.answer(message)?],
            _ => contents(message.get("content").or_else(|| message.get("text")))?,
        };
        let thought = text(message, "reasoning_content").or_else(|| text(message, "reasoning"));
        if let Some(thought) = thought.filter(|_| role == Role::Assistant) {
            let reasoning = Reasoning {
                provider: ProviderFormat::OpenaiChat.into(),
                text: thought.to_owned(),
                ..Default::default()
            };
            parts.insert(0, content(Content::Reasoning(reasoning)));
        }
        for call in message
            .get("tool_calls")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            parts.push(self.call(call)?);
        }
        if let Some(refusal) = text(message, "refusal") {
            parts.push(text_part(refusal));
        }
        if parts.is_empty() {
            return Err("`content` is missing".to_owned());
        }
        let create_time = ["create_time", "created_at", "timestamp"]
            .iter()
            .find_map(|key| message.get(*key).filter(|value| !value.is_null()))
            .map(time_from)
            .transpose()?;
        Ok(MessageInput {
            role: role.into(),
            name: text(message, "name")
                .filter(|_| role != Role::Tool)
                .unwrap_or_default()
                .to_owned(),
            parts,
            metadata: message
                .get("metadata")
                .and_then(Value::as_object)
                .map(object_text)
                .unwrap_or_default(),
            create_time,
            ..Default::default()
        })
    }

    fn call(&mut self, json: &Value) -> Result<Part, String> {
        let function = json
            .get("function")
            .or_else(|| json.get("custom"))
            .unwrap_or(json);
        let name = function
            .get("name")
            .and_then(Value::as_str)
            .ok_or("a tool call lacks its name")?;
        let id = json
            .get("id")
            .and_then(Value::as_str)
            .ok_or("a tool call lacks its `id`")?;
        self.tools.insert(id.to_owned(), name.to_owned());
        let arguments = match function.get("arguments").or_else(|| function.get("input")) {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(written)) => written.clone(),
            Some(other) => other.to_string(),
        };
        Ok(content(Content::ToolCall(ToolCall {
            tool_call_id: id.to_owned(),
            name: name.to_owned(),
            arguments,
            ..Default::default()
        })))
    }

    fn answer(&self, message: &Map<String, Value>) -> Result<Part, String> {
        let id = text(message, "tool_call_id")
            .ok_or("a message of role `tool` lacks its `tool_call_id`")?;
        let output = contents(message.get("content"))?
            .into_iter()
            .filter_map(|part| match part.content? {
                Content::Text(text) => Some(tool_result_part::Content::Text(text).into()),
                Content::File(file) => Some(tool_result_part::Content::File(file).into()),
                _ => None,
            })
            .collect();
        let name = text(message, "name").or_else(|| self.tools.get(id).map(String::as_str));
        Ok(content(Content::ToolResult(ToolResult {
            tool_call_id: id.to_owned(),
            name: name.unwrap_or_default().to_owned(),
            is_error: false,
            content: output,
        })))
    }
}

/// A role by the names that are in use for it.
pub(crate) fn role(text: &str) -> Result<Role, String> {
    match text.to_ascii_lowercase().trim_start_matches("role_") {
        "user" | "human" => Ok(Role::User),
        "assistant" | "ai" | "model" => Ok(Role::Assistant),
        "system" | "developer" => Ok(Role::System),
        "tool" => Ok(Role::Tool),
        _ => Err(format!(
            "`role` is \"{text}\"; it has to be user, assistant, system or tool"
        )),
    }
}

/// `content`: a text, or a list of parts.
fn contents(json: Option<&Value>) -> Result<Vec<Part>, String> {
    match json {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::String(text)) => Ok(vec![text_part(text)]),
        Some(Value::Array(parts)) => parts.iter().map(part).collect(),
        Some(_) => Err("`content` has to be a text or a list of parts".to_owned()),
    }
}

/// One part of `content`.
///
/// # Errors
/// It is of a type that is not known, or lacks something.
pub(crate) fn part(json: &Value) -> Result<Part, String> {
    if let Value::String(text) = json {
        return Ok(text_part(text));
    }
    let kind = json.get("type").and_then(Value::as_str).unwrap_or("text");
    let inner = json.get(kind).unwrap_or(json);
    let field = |name: &str| inner.get(name).and_then(Value::as_str);
    let file = |kind: FileType, location: Location, name: &str| {
        Ok(content(Content::File(FileRef {
            r#type: kind.into(),
            location: Some(location),
            name: name.to_owned(),
            ..Default::default()
        })))
    };
    match kind {
        "text" | "input_text" | "output_text" => json
            .get("text")
            .and_then(Value::as_str)
            .map(text_part)
            .ok_or_else(|| format!("a part of type \"{kind}\" lacks its `text`")),
        "refusal" => Ok(text_part(
            json.get("refusal")
                .and_then(Value::as_str)
                .unwrap_or_default(),
        )),
        "image_url" | "input_image" => {
            let url = inner
                .as_str()
                .or_else(|| field("url"))
                .or_else(|| field("image_url"));
            let url = url.ok_or_else(|| format!("a part of type \"{kind}\" lacks its `url`"))?;
            file(FileType::Image, Location::Url(url.to_owned()), "")
        }
        "input_audio" => {
            let format = field("format").unwrap_or("wav");
            let data = field("data").unwrap_or_default();
            let url = format!("data:audio/{format};base64,{data}");
            file(FileType::Audio, Location::Url(url), "")
        }
        "file" | "input_file" => {
            let name = field("filename").unwrap_or_default();
            let location = match (field("file_id"), field("file_url")) {
                (Some(id), _) => Location::UploadFileId(id.to_owned()),
                (None, Some(url)) => Location::Url(url.to_owned()),
                (None, None) => {
                    Location::Url(field("file_data").unwrap_or("about:blank").to_owned())
                }
            };
            file(FileType::Document, location, name)
        }
        other => Err(format!(
            "a part has the type \"{other}\", which is not known"
        )),
    }
}

fn text<'a>(message: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    message.get(key).and_then(Value::as_str)
}

fn text_part(text: &str) -> Part {
    content(Content::Text(text.to_owned()))
}

fn content(content: Content) -> Part {
    content.into()
}

#[cfg(test)]
mod tests;
