//! Makes parts of messages: texts, files, calls of tools and their results.

use memory_contract::limits;
use memory_contract::proto::{
    FileRef, FileType, Part, ToolCall, ToolResult, ToolResultPart, file_ref::Location,
    part::Content, tool_result_part,
};
use serde_json::Value;

use super::reader::{Reader, shortened};

/// How files are counted whose content is not in the source.
const FILES: &str = "contents of files (their names are kept)";

pub(super) fn text(text: impl Into<String>) -> Part {
    Content::Text(text.into()).into()
}

/// A file that the source names, and whose content it does not have.
#[derive(Debug, Clone, Default)]
pub(super) struct NamedFile {
    /// The id that it has in the source, or else its name.
    pub(super) id: String,
    pub(super) name: String,
    pub(super) mime_type: String,
    pub(super) size_bytes: i64,
    pub(super) width: i64,
    pub(super) height: i64,
    pub(super) caption: String,
    /// The kind, where the media type does not say it.
    pub(super) kind: Option<FileType>,
}

impl NamedFile {
    /// The file as a part. Its content is counted as left out.
    pub(super) fn part(self, reader: &mut Reader<'_>) -> Part {
        reader.leave_out(FILES, 1);
        let id = match self.id.is_empty() {
            true => &self.name,
            false => &self.id,
        };
        let id = match id.is_empty() {
            true => "unnamed",
            false => id,
        };
        let pixels = |number: i64| {
            let number = i32::try_from(number).unwrap_or(0);
            if (0..=limits::IMAGE_PIXELS).contains(&number) {
                number
            } else {
                0
            }
        };
        Content::File(FileRef {
            r#type: self
                .kind
                .unwrap_or_else(|| match self.mime_type.as_str() {
                    "" => kind_by_name(&self.name),
                    mime_type => kind_of(mime_type),
                })
                .into(),
            location: Some(Location::UploadFileId(shortened(id, limits::FILE_ID_CHARS))),
            name: shortened(&self.name, limits::FILE_NAME_CHARS),
            mime_type: shortened(&self.mime_type, limits::MIME_TYPE_CHARS),
            size_bytes: self.size_bytes.max(0),
            width: pixels(self.width),
            height: pixels(self.height),
            caption: shortened(&self.caption, limits::CAPTION_CHARS),
            ..Default::default()
        })
        .into()
    }
}

/// The kind of a file by its media type, such as `image/png`, or by the kind that the source
/// names, such as `image`.
pub(super) fn kind_of(mime_type: &str) -> FileType {
    match mime_type.split('/').next().unwrap_or_default() {
        "image" => FileType::Image,
        "audio" => FileType::Audio,
        "video" => FileType::Video,
        _ => FileType::Document,
    }
}

/// The kind of a file of which only the name is known.
fn kind_by_name(name: &str) -> FileType {
    let ending = name.rsplit('.').next().unwrap_or_default();
    match ending.to_ascii_lowercase().as_str() {
        "png" | "jpg" | "jpeg" | "gif" | "webp" | "heic" => FileType::Image,
        "mp3" | "m4a" | "wav" | "ogg" => FileType::Audio,
        "mp4" | "mov" | "webm" => FileType::Video,
        _ => FileType::Document,
    }
}

/// A call of a tool; `arguments` are a text as it was written, or a JSON value.
pub(super) fn call(id: &str, name: &str, arguments: Option<&Value>) -> Part {
    let arguments = match arguments {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(written)) => written.clone(),
        Some(other) => other.to_string(),
    };
    Content::ToolCall(ToolCall {
        tool_call_id: shortened(id, limits::TOOL_CHARS),
        name: shortened(name, limits::TOOL_CHARS),
        arguments,
        ..Default::default()
    })
    .into()
}

/// The result of a call, made of texts and files. Texts beyond the limit are cut and counted.
pub(super) fn result(
    reader: &mut Reader<'_>,
    id: &str,
    name: &str,
    parts: Vec<Part>,
    is_error: bool,
) -> Part {
    let content = parts.into_iter().filter_map(|part| {
        let content = match part.content? {
            Content::Text(text) => {
                tool_result_part::Content::Text(cut(reader, text, "ends of tools' results"))
            }
            Content::Json(json) => tool_result_part::Content::Json(json),
            Content::File(file) => tool_result_part::Content::File(file),
            _ => return None,
        };
        Some(ToolResultPart::from(content))
    });
    let content = content.collect();
    Content::ToolResult(ToolResult {
        tool_call_id: shortened(id, limits::TOOL_CHARS),
        name: shortened(name, limits::TOOL_CHARS),
        content,
        is_error,
    })
    .into()
}

/// A text of at most 256 KiB, the most that a part holds. `what` counts cut ends.
pub(super) fn cut(reader: &mut Reader<'_>, mut text: String, what: &'static str) -> String {
    if text.len() > limits::TEXT_BYTES {
        text.truncate(text.floor_char_boundary(limits::TEXT_BYTES));
        reader.leave_out(what, 1);
    }
    text
}

/// The fields of an object that are texts.
pub(super) fn string<'a>(object: &'a Value, names: &[&str]) -> &'a str {
    let texts = names.iter().filter_map(|name| object.get(*name)?.as_str());
    texts
        .into_iter()
        .find(|text| !text.is_empty())
        .unwrap_or_default()
}

/// A list in an object; empty if the object lacks it.
pub(super) fn list<'a>(object: &'a Value, name: &str) -> &'a [Value] {
    object
        .get(name)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}
