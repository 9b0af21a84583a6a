//! What is no text, in words: for formats that have no place for it.

use memory_contract::{FileLocation, FileRef, FileType, Part, ToolCall, ToolOutput, ToolResult};
use serde_json::Value;

/// All parts, one a line.
pub(in crate::services) fn of_parts(parts: &[Part]) -> String {
    let lines: Vec<String> = parts.iter().map(of_part).collect();
    lines.join("\n")
}

/// One part.
pub(super) fn of_part(part: &Part) -> String {
    match part {
        Part::Text(text) => text.clone(),
        Part::Json(value) => value.to_string(),
        Part::ToolCall(call) => of_call(call),
        Part::ToolResult(result) => of_result(result),
        Part::File(file) => of_file(file),
    }
}

/// A file by its name and caption, or else by where it is.
pub(super) fn of_file(file: &FileRef) -> String {
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

/// A call that stands without its result.
pub(super) fn of_call(call: &ToolCall) -> String {
    let arguments = Value::Object(call.arguments.clone());
    format!("[calls {} {arguments}]", call.name)
}

/// A result that stands without its call.
pub(super) fn of_result(result: &ToolResult) -> String {
    let tool = match result.name.as_str() {
        "" => "a tool",
        name => name,
    };
    let verb = if result.is_error { "fails" } else { "answers" };
    format!("[{tool} {verb}] {}", of_output(result))
}

/// What a tool answered.
pub(super) fn of_output(result: &ToolResult) -> String {
    match &result.output {
        Some(ToolOutput::Text(text)) => text.clone(),
        Some(ToolOutput::Json(value)) => value.to_string(),
        None => String::new(),
    }
}
