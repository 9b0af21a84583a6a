//! Messages as plain text.
//!
//! A model or a person reads [`of_parts`]: calls, results and files are marked as such, in
//! brackets. Search and counting read [`text_of_parts`], the bare text.

use serde_json::Value;

use crate::{FileLocation, FileRef, FileType, Part, ToolCall, ToolOutput, ToolResult};

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
    let verb = if result.is_error { "fails" } else { "answers" };
    format!("[{} {verb}] {}", tool_name(result), of_output(result))
}

/// The name of the tool, or `a tool`.
pub fn tool_name(result: &ToolResult) -> &str {
    match result.name.as_str() {
        "" => "a tool",
        name => name,
    }
}

/// The output of a tool alone.
pub fn of_output(result: &ToolResult) -> String {
    match &result.output {
        Some(ToolOutput::Text(text)) => text.clone(),
        Some(ToolOutput::Json(value)) => value.to_string(),
        None => String::new(),
    }
}

/// A message as plain text for search and templates: text, captions, tool names and
/// data, one part a line. Answers return the parts themselves.
pub fn text_of_parts(parts: &[Part]) -> String {
    let mut lines: Vec<String> = Vec::with_capacity(parts.len());
    for part in parts {
        match part {
            Part::Text(text) => lines.push(text.clone()),
            Part::Json(value) => lines.push(value.to_string()),
            Part::ToolCall(call) => lines.push(format!(
                "{} {}",
                call.name,
                Value::Object(call.arguments.clone())
            )),
            Part::ToolResult(result) if result.output.is_none() => {}
            Part::ToolResult(result) => lines.push(of_output(result)),
            Part::File(file) => {
                for words in [&file.caption, &file.name] {
                    if !words.is_empty() {
                        lines.push(words.clone());
                    }
                }
            }
        }
    }
    lines.join("\n")
}
