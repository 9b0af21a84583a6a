//! The parts of a message's content.
//!
//! They are stored as the JSON that serde gives them: a change here changes the stored
//! format. JSON that callers send is kept as text, so that it comes back byte for byte.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::file_kind::{FileExtent, FileType};
use crate::{InlineContent, limits};

/// A part of a message's content.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// What it is.
    #[serde(flatten)]
    pub content: Content,
    /// Gemini's signature of the part; empty for none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub signature: String,
}

/// What a part is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// Plain text.
    Text(String),
    /// JSON text, such as structured output.
    Json(String),
    /// A model's request to call a tool.
    ToolCall(ToolCall),
    /// A tool's result.
    ToolResult(ToolResult),
    /// A reference to a file.
    File(FileRef),
    /// What a model thought before it answered.
    Reasoning(Reasoning),
    /// A piece of a provider's format that has no other variant.
    Opaque(Opaque),
}

/// An API whose messages are read and written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Provider {
    /// OpenAI's chat completions.
    OpenaiChat,
    /// OpenAI's responses.
    OpenaiResponses,
    /// Anthropic's messages.
    AnthropicMessages,
    /// Gemini's generateContent.
    Gemini,
}

/// A model's request to call a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The id that the result refers to.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments as the model wrote them, usually the JSON text of an object.
    pub arguments: String,
}

/// A tool's result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The id of the call that it answers.
    pub call_id: String,
    /// The tool's name; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The output, in order; empty if the tool returned nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub output: Vec<ToolOutput>,
    /// Whether the tool failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
}

/// A piece of a tool's output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolOutput {
    /// Text.
    Text(String),
    /// JSON text.
    Json(String),
    /// A reference to a file.
    File(FileRef),
    /// A piece of a provider's format that has no other variant.
    Opaque(Opaque),
}

/// What a model thought before it answered. It goes back to its provider unchanged, and
/// nowhere else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reasoning {
    /// The API that it is from.
    pub provider: Provider,
    /// The provider's id of it; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// The thought as text; empty if the provider does not show it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Summaries of the thought.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub summaries: Vec<String>,
    /// The provider's proof that it wrote the text; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub signature: String,
    /// The thought in a form that only the provider reads; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub encrypted: String,
}

/// A piece of a provider's format. It goes back to its provider unchanged, and nowhere
/// else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opaque {
    /// The API that it is from.
    pub provider: Provider,
    /// Its type in that API.
    #[serde(rename = "type")]
    pub kind: String,
    /// The whole piece: the JSON text of an object.
    pub json: String,
}

impl From<Content> for Part {
    fn from(content: Content) -> Self {
        Self {
            content,
            signature: String::new(),
        }
    }
}

impl Part {
    /// A part of plain text.
    pub fn text(text: impl Into<String>) -> Self {
        Content::Text(text.into()).into()
    }

    /// The files that the part refers to, to change them.
    pub fn files_mut(&mut self) -> impl Iterator<Item = &mut FileRef> {
        let (own, output) = match &mut self.content {
            Content::File(file) => (Some(file), &mut [][..]),
            Content::ToolResult(result) => (None, result.output.as_mut_slice()),
            Content::Text(_)
            | Content::Json(_)
            | Content::ToolCall(_)
            | Content::Reasoning(_)
            | Content::Opaque(_) => (None, &mut [][..]),
        };
        own.into_iter()
            .chain(output.iter_mut().filter_map(|output| match output {
                ToolOutput::File(file) => Some(file),
                ToolOutput::Text(_) | ToolOutput::Json(_) | ToolOutput::Opaque(_) => None,
            }))
    }

    /// The files that the part refers to.
    pub fn files(&self) -> impl Iterator<Item = &FileRef> {
        let (own, output) = match &self.content {
            Content::File(file) => (Some(file), &[][..]),
            Content::ToolResult(result) => (None, result.output.as_slice()),
            Content::Text(_)
            | Content::Json(_)
            | Content::ToolCall(_)
            | Content::Reasoning(_)
            | Content::Opaque(_) => (None, &[][..]),
        };
        own.into_iter()
            .chain(output.iter().filter_map(|output| match output {
                ToolOutput::File(file) => Some(file),
                ToolOutput::Text(_) | ToolOutput::Json(_) | ToolOutput::Opaque(_) => None,
            }))
    }
}

impl ToolCall {
    /// The arguments as an object; `None` if they are no JSON object.
    pub fn object(&self) -> Option<Map<String, Value>> {
        serde_json::from_str(&self.arguments).ok()
    }

    /// Whether the arguments are JSON.
    pub fn is_json(&self) -> bool {
        serde_json::from_str::<serde::de::IgnoredAny>(&self.arguments).is_ok()
    }
}

impl FileRef {
    /// Takes size, and where they are unset, media type, width and height from the content
    /// if the reference contains it.
    pub(crate) fn describe_content(&mut self) {
        let content = match &self.location {
            FileLocation::Url(url) => InlineContent::from_url(url),
            FileLocation::UploadFileId(_) | FileLocation::ToolFileId(_) => None,
        };
        let Some(content) = content else {
            return;
        };
        self.size_bytes = i64::try_from(content.bytes.len()).unwrap_or(i64::MAX);
        if self.extent.is_unknown() {
            self.extent = content.extent(self.kind);
        }
        let fits = content.mime_type.chars().count() <= limits::MIME_TYPE_CHARS;
        if self.mime_type.is_empty() && fits {
            self.mime_type = content.mime_type;
        }
    }

    /// The texts that the file is found by: caption and name.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        [self.caption.as_str(), self.name.as_str()]
            .into_iter()
            .filter(|words| !words.is_empty())
    }
}

impl Reasoning {
    /// All its texts, which go back to its provider.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let summaries = self.summaries.iter().map(String::as_str);
        [&*self.text, &*self.signature, &*self.encrypted]
            .into_iter()
            .chain(summaries)
            .filter(|text| !text.is_empty())
    }
}

/// A reference to a file, whose bytes are stored outside Recollect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRef {
    /// What the file contains.
    #[serde(rename = "type")]
    pub kind: FileType,
    /// The location of the bytes.
    pub location: FileLocation,
    /// The file name for display; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The media type, such as `image/png`; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub mime_type: String,
    /// Size in bytes; 0 if unknown.
    #[serde(default)]
    pub size_bytes: i64,
    /// A description of the content; may be empty. Search and summaries use it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub caption: String,
    /// How large the content is, which its tokens depend on.
    #[serde(default, skip_serializing_if = "FileExtent::is_unknown")]
    pub extent: FileExtent,
}

/// The place of a file's bytes. Recollect does not read them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileLocation {
    /// The id of an upload by a person.
    UploadFileId(String),
    /// The id of a file that a tool created.
    ToolFileId(String),
    /// A URL at which the file can be downloaded.
    Url(String),
}
