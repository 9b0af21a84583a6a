//! Renders the parts of messages as plain text that a model reads.
//!
//! Calls, results and files are marked as such, in brackets. To search and to count, use
//! `memory_contract::text_of_parts`, which gives the bare text.

use memory_contract::{FileLocation, FileRef, FileType, Part, ToolCall, ToolOutput, ToolResult};
use serde_json::Value;

/// All parts of a message, one a line.
pub fn of_parts(parts: &[Part]) -> String {
    let lines: Vec<String> = parts.iter().map(of_part).collect();
    lines.join("\n")
}

/// Renders one part.
pub fn of_part(part: &Part) -> String {
    match part {
        Part::Text(text) => text.clone(),
        Part::Json(value) => value.to_string(),
        Part::ToolCall(call) => of_call(call),
        Part::ToolResult(result) => of_result(result),
        Part::File(file) => of_file(file),
    }
}

/// A file: its kind with name and caption, or else its URL.
pub fn of_file(file: &FileRef) -> String {
    let kind = match file.kind {
        FileType::Image => "image",
        FileType::Audio => "audio",
        FileType::Video => "video",
        FileType::Document => "document",
        FileType::Custom => "file",
    };
    let said = match (file.name.as_str(), file.caption.as_str()) {
        ("", "") => match &file.location {
            FileLocation::Url(url) => url.clone(),
            FileLocation::UploadFileId(_) | FileLocation::ToolFileId(_) => {
                return format!("[{kind}]");
            }
        },
        (name, "") => name.to_owned(),
        ("", caption) => caption.to_owned(),
        (name, caption) => format!("{name}: {caption}"),
    };
    format!("[{kind}: {said}]")
}

/// A tool call that is shown without its result.
pub fn of_call(call: &ToolCall) -> String {
    let arguments = Value::Object(call.arguments.clone());
    format!("[calls {} {arguments}]", call.name)
}

/// A tool result that is shown without its call.
pub fn of_result(result: &ToolResult) -> String {
    let tool = match result.name.as_str() {
        "" => "a tool",
        name => name,
    };
    let verb = if result.is_error { "fails" } else { "answers" };
    format!("[{tool} {verb}] {}", of_output(result))
}

/// The output of a tool alone.
pub fn of_output(result: &ToolResult) -> String {
    match &result.output {
        Some(ToolOutput::Text(text)) => text.clone(),
        Some(ToolOutput::Json(value)) => value.to_string(),
        None => String::new(),
    }
}
