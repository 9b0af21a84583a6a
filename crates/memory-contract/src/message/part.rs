//! The parts of a message's content.
//!
//! They are stored as the JSON that serde gives them: a change here changes the stored
//! format. JSON that callers send is kept as text, so that it comes back byte for byte.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::file::FileRef;

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
