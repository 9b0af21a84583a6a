//! Messages as plain text.
//!
//! A model or a person reads [`of_parts`]: calls, results and files are marked as such, in
//! brackets. Search and counting read [`bare_text`], the bare text.

use crate::{
    file::{ContentDigest, FileLocation, FileRef, FileType, is_inline},
    limits,
    message::{Content, Part, ToolCall, ToolOutput, ToolResult},
};

/// All parts of a message, one a line.
pub fn of_parts(parts: &[Part]) -> String {
    let lines: Vec<String> = parts.iter().filter_map(of_part).collect();
    lines.join("\n")
}

/// One part; `None` for reasoning and opaque parts, which are for the provider that made
/// them alone.
pub fn of_part(part: &Part) -> Option<String> {
    Some(match &part.content {
        Content::Text(text) | Content::Json(text) => text.clone(),
        Content::ToolCall(call) => of_call(call),
        Content::ToolResult(result) => of_result(result),
        Content::File(file) => of_file(file),
        Content::Reasoning(_) | Content::Opaque(_) => return None,
    })
}

/// A file: its kind with name and caption, or else its URL if that is short.
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
            FileLocation::Url(url) if is_readable(url) => url.clone(),
            FileLocation::Url(_) | FileLocation::UploadFileId(_) | FileLocation::ToolFileId(_) => {
                return format!("[{kind}]");
            }
        },
        (name, "") => name.to_owned(),
        ("", caption) => caption.to_owned(),
        (name, caption) => format!("{name}: {caption}"),
    };
    format!("[{kind}: {said}]")
}

/// Whether a URL is worth reading: it contains no content and is not signed at length.
fn is_readable(url: &str) -> bool {
    url.len() <= limits::READABLE_URL_BYTES
        && !is_inline(url)
        && ContentDigest::from_url(url).is_none()
}

/// A tool call that is shown without its result.
pub fn of_call(call: &ToolCall) -> String {
    format!("[calls {} {}]", call.name, call.arguments)
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

/// The output of a tool alone, one piece a line, without opaque pieces.
pub fn of_output(result: &ToolResult) -> String {
    let lines = result.output.iter().filter_map(|output| match output {
        ToolOutput::Text(text) | ToolOutput::Json(text) => Some(text.clone()),
        ToolOutput::File(file) => Some(of_file(file)),
        ToolOutput::Opaque(_) => None,
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A message as plain text for search and templates: text, captions, tool names and
/// data, one part a line, without reasoning and opaque parts. Answers return the parts
/// themselves.
pub fn bare_text(parts: &[Part]) -> String {
    let mut lines: Vec<String> = Vec::with_capacity(parts.len());
    for part in parts {
        match &part.content {
            Content::Text(text) | Content::Json(text) => lines.push(text.clone()),
            Content::ToolCall(call) => lines.push(format!("{} {}", call.name, call.arguments)),
            Content::ToolResult(result) => {
                for output in &result.output {
                    match output {
                        ToolOutput::Text(text) | ToolOutput::Json(text) => lines.push(text.clone()),
                        ToolOutput::File(file) => lines.extend(file.words().map(str::to_owned)),
                        ToolOutput::Opaque(_) => {}
                    }
                }
            }
            Content::File(file) => lines.extend(file.words().map(str::to_owned)),
            Content::Reasoning(_) | Content::Opaque(_) => {}
        }
    }
    lines.join("\n")
}
