//! The messages that distilling reads.

use memory_contract::{FileLocation, FileType, Message, Part, Role, ToolOutput, ToolResult};
use serde_json::Value;

/// A message to distill.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceMessage {
    /// The message, with its content.
    pub message: Message,
    /// Whether it contains injected memory: recalled text, or derived text that a caller sent
    /// back. It is summarized like any other message, but no facts are extracted from it,
    /// which prevents a feedback loop.
    pub injected: bool,
}

impl SourceMessage {
    /// An original message.
    pub fn new(message: Message) -> Self {
        Self {
            message,
            injected: false,
        }
    }

    /// A message that contains injected memory.
    pub fn injected(message: Message) -> Self {
        Self {
            message,
            injected: true,
        }
    }

    /// The speaker for display: the name, or else the role.
    pub(crate) fn speaker(&self) -> &str {
        let name = self.message.name.trim();
        if !name.is_empty() {
            return name;
        }
        match self.message.role {
            Role::User => "User",
            Role::Assistant => "Assistant",
            Role::System => "System",
            Role::Tool => "Tool",
        }
    }

    /// All parts of the message as text.
    pub(crate) fn words(&self) -> String {
        let lines: Vec<String> = self.message.parts.iter().map(words_of).collect();
        lines.join("\n")
    }
}

fn words_of(part: &Part) -> String {
    match part {
        Part::Text(text) => text.clone(),
        Part::Json(value) => value.to_string(),
        Part::ToolCall(call) => {
            let arguments = Value::Object(call.arguments.clone());
            format!("[calls {} {arguments}]", call.name)
        }
        Part::ToolResult(result) => {
            let verb = if result.is_error { "fails" } else { "answers" };
            format!("[{} {verb}] {}", tool_name(result), output(result))
        }
        Part::File(file) => {
            let kind = file_kind(file.kind);
            let place = match &file.location {
                FileLocation::Url(url) if file.name.is_empty() && file.caption.is_empty() => url,
                FileLocation::Url(_)
                | FileLocation::UploadFileId(_)
                | FileLocation::ToolFileId(_) => "",
            };
            let known: Vec<&str> = [file.name.as_str(), file.caption.as_str(), place]
                .into_iter()
                .filter(|words| !words.is_empty())
                .collect();
            format!("[{kind}: {}]", known.join(", "))
        }
    }
}

pub(crate) fn tool_name(result: &ToolResult) -> &str {
    match result.name.as_str() {
        "" => "a tool",
        name => name,
    }
}

pub(crate) fn output(result: &ToolResult) -> String {
    match &result.output {
        Some(ToolOutput::Text(text)) => text.clone(),
        Some(ToolOutput::Json(value)) => value.to_string(),
        None => String::new(),
    }
}

pub(crate) fn file_kind(kind: FileType) -> &'static str {
    match kind {
        FileType::Image => "image",
        FileType::Audio => "audio",
        FileType::Video => "video",
        FileType::Document => "document",
        FileType::Custom => "file",
    }
}
