//! The content of a message of ChatGPT, by its `content_type`.

use memory_contract::proto::{FileType, Part};
use serde_json::Value;

use crate::foreign::parts::{NamedFile, list, string, text};
use crate::foreign::reader::Reader;

/// The parts of a message: texts and the files that it names.
///
/// # Errors
/// The content is no object.
pub(super) fn parts_of(reader: &mut Reader<'_>, message: &Value) -> Result<Vec<Part>, String> {
    let content = &message["content"];
    if !content.is_object() {
        return Err("`content` is missing".to_owned());
    }
    let metadata = &message["metadata"];
    let mut files = Attachments::of(metadata);
    let mut parts = match string(content, &["content_type"]) {
        "tether_quote" | "sonic_webpage" => page(content),
        "system_error" => lines(&[string(content, &["name"]), string(content, &["text"])]),
        "tether_browsing_display" => lines(&[string(content, &["result", "summary"])]),
        _ if content["parts"].is_array() => {
            let all = list(content, "parts").iter();
            all.flat_map(|part| part_of(reader, &mut files, metadata, part))
                .collect()
        }
        _ => lines(&[string(content, &["text", "result", "content"])]),
    };
    parts.extend(files.rest(reader));
    if parts.is_empty() && !is_empty(content) {
        reader.leave_out("messages without text, such as widgets", 1);
    }
    Ok(parts)
}

/// Whether a content says nothing: ChatGPT stores empty messages where none were shown.
pub(super) fn is_empty(content: &Value) -> bool {
    let fields = content.as_object().into_iter().flatten();
    let mut said = fields.filter(|(name, _)| {
        !matches!(
            name.as_str(),
            "content_type" | "language" | "response_format_name" | "assets" | "tether_id"
        )
    });
    said.all(|(_, value)| is_blank(value))
}

fn is_blank(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.iter().all(is_blank),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

fn part_of(
    reader: &mut Reader<'_>,
    files: &mut Attachments,
    metadata: &Value,
    part: &Value,
) -> Vec<Part> {
    if let Some(written) = part.as_str() {
        return lines(&[&shown(written, metadata)]);
    }
    let asset = [part, &part["audio_asset_pointer"]]
        .into_iter()
        .find(|asset| asset["asset_pointer"].is_string());
    match asset {
        Some(asset) => vec![files.asset(reader, asset)],
        None => {
            let parts = lines(&[string(part, &["text"])]);
            let is_lost = parts.is_empty() && !is_blank(part);
            reader.leave_out("parts of messages of unknown kinds", usize::from(is_lost));
            parts
        }
    }
}

/// A page of the web that a tool read.
fn page(content: &Value) -> Vec<Part> {
    let field = |name| string(content, &[name]);
    lines(&[field("title"), field("url"), field("text")])
}

/// Texts that are not empty, one a line; nothing if all are.
fn lines(texts: &[&str]) -> Vec<Part> {
    let texts: Vec<&str> = texts
        .iter()
        .copied()
        .filter(|text| !text.trim().is_empty())
        .collect();
    match texts.is_empty() {
        true => Vec::new(),
        false => vec![text(texts.join("\n"))],
    }
}

/// A text as ChatGPT shows it: it marks sources and names with characters for private use,
/// and says in `content_references` what stands in their place.
fn shown(written: &str, metadata: &Value) -> String {
    let mut shown = written.to_owned();
    for reference in list(metadata, "content_references") {
        let marked = string(reference, &["matched_text"]);
        if marked.starts_with('\u{e200}') {
            shown = shown.replace(marked, string(reference, &["alt"]));
        }
    }
    shown
}

/// The files that are attached to a message and stand nowhere in its content.
struct Attachments {
    left: Vec<NamedFile>,
}

impl Attachments {
    fn of(metadata: &Value) -> Self {
        let files = list(metadata, "attachments").iter().map(|file| NamedFile {
            id: string(file, &["id"]).to_owned(),
            name: string(file, &["name"]).to_owned(),
            mime_type: string(file, &["mime_type", "mimeType"]).to_owned(),
            size_bytes: file["size"].as_i64().unwrap_or_default(),
            width: file["width"].as_i64().unwrap_or_default(),
            height: file["height"].as_i64().unwrap_or_default(),
            ..Default::default()
        });
        Self {
            left: files.collect(),
        }
    }

    /// A picture or a recording in the content, such as `file-service://file-1a2b`.
    fn asset(&mut self, reader: &mut Reader<'_>, asset: &Value) -> Part {
        let pointer = string(asset, &["asset_pointer"]);
        let id = pointer.split_once("://").map_or(pointer, |(_, id)| id);
        let known = self.left.iter().position(|file| file.id == id);
        let attached = known.map(|index| self.left.remove(index));
        let attached = attached.unwrap_or_default();
        let number = |name: &str| asset[name].as_i64().unwrap_or_default();
        let kind = match string(asset, &["content_type"]) {
            kind if kind.contains("audio") => FileType::Audio,
            kind if kind.contains("video") => FileType::Video,
            _ => FileType::Image,
        };
        NamedFile {
            id: id.to_owned(),
            size_bytes: number("size_bytes"),
            width: number("width"),
            height: number("height"),
            caption: string(&asset["metadata"]["dalle"], &["prompt"]).to_owned(),
            kind: Some(kind),
            ..attached
        }
        .part(reader)
    }

    fn rest(self, reader: &mut Reader<'_>) -> Vec<Part> {
        let left = self.left.into_iter();
        left.map(|file| file.part(reader)).collect()
    }
}
