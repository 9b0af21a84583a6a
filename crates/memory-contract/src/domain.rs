//! What the service works with. `Part` and what is in it are stored as the JSON
//! that serde gives them: a change here is a change of the stored format.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use time::OffsetDateTime;

use crate::{AppId, MemoryPolicy, MessageId, SessionKey, ThreadId, UserId};

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The person talked to.
    User,
    /// The model.
    Assistant,
    /// An instruction to the model.
    System,
    /// The answer of a tool.
    Tool,
}

impl Role {
    /// All roles.
    pub const ALL: [Self; 4] = [Self::User, Self::Assistant, Self::System, Self::Tool];

    /// The stored name, lower case.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::System => "system",
            Self::Tool => "tool",
        }
    }

    /// Reads a stored name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.as_str() == name)
    }
}

/// The caller's names for a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Session {
    /// The app.
    pub app: AppId,
    /// The user; empty where nobody is known.
    pub user: UserId,
    /// The session key.
    pub key: SessionKey,
}

/// A conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct Thread {
    /// Its id.
    pub id: ThreadId,
    /// The caller's names for it.
    pub session: Session,
    /// A label for people.
    pub title: String,
    /// The caller's own data.
    pub metadata: Map<String, Value>,
    /// The seq given out last; 0 before the first.
    pub last_seq: i64,
    /// The message appended last that can still be read.
    pub head: Option<MessageId>,
    /// Readable messages.
    pub message_count: i64,
    /// When it was created.
    pub created: OffsetDateTime,
    /// When it last changed.
    pub updated: OffsetDateTime,
    /// When it stops being readable.
    pub expires: Option<OffsetDateTime>,
    /// What it sets otherwise than its app.
    pub policy: MemoryPolicy,
    /// Whether it lives in the memory of one process.
    pub ephemeral: bool,
}

/// One line of answers in a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    /// Its number, from 1.
    pub branch: i32,
    /// Its newest message.
    pub head: Option<MessageId>,
    /// The message after which it left its parent branch.
    pub fork: Option<MessageId>,
    /// Readable messages on the branch itself.
    pub message_count: i64,
    /// Messages from the root to the head.
    pub depth: i32,
    /// Whether it holds the thread's head.
    pub active: bool,
    /// When its first message was appended.
    pub created: OffsetDateTime,
}

/// A message as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// Its id.
    pub id: MessageId,
    /// Its thread.
    pub thread: ThreadId,
    /// The message that it follows.
    pub parent: Option<MessageId>,
    /// Its place in the thread, from 1.
    pub seq: i64,
    /// Its branch, from 1.
    pub branch: i32,
    /// Messages from the root to here, itself included.
    pub depth: i32,
    /// Who speaks.
    pub role: Role,
    /// The speaker's name; may be empty.
    pub name: String,
    /// What was said.
    pub parts: Vec<Part>,
    /// The caller's own data.
    pub metadata: Map<String, Value>,
    /// Its size in `o200k_base` tokens, frame included.
    pub tokens: i32,
    /// When it was said.
    pub created: OffsetDateTime,
}

/// What a new message follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Parent {
    /// The message before it in the same append, or the thread's head.
    #[default]
    Previous,
    /// An older message.
    Message(MessageId),
    /// Nothing: it starts the thread anew.
    Root,
}

/// A message to store. Every limit has been checked.
#[derive(Clone, Debug, PartialEq)]
pub struct NewMessage {
    /// The caller's id, or a fresh one.
    pub id: MessageId,
    /// Whether the caller chose the id; a fresh one is no part of a request's
    /// content.
    pub caller_chose_id: bool,
    /// What it follows.
    pub parent: Parent,
    /// Who speaks.
    pub role: Role,
    /// The speaker's name; may be empty.
    pub name: String,
    /// What is said.
    pub parts: Vec<Part>,
    /// The caller's own data.
    pub metadata: Map<String, Value>,
    /// When it was said; the time of the append if nobody tells.
    pub created: Option<OffsetDateTime>,
}

/// The place of a message just stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppendedMessage {
    /// Its id.
    pub id: MessageId,
    /// Its place in the thread.
    pub seq: i64,
    /// Its branch.
    pub branch: i32,
    /// Its size in tokens.
    pub tokens: i32,
}

/// One piece of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Plain text.
    Text(String),
    /// Structured output.
    Json(Value),
    /// A model's wish to call a tool.
    ToolCall(ToolCall),
    /// A tool's answer.
    ToolResult(ToolResult),
    /// A reference to a file.
    File(FileRef),
}

/// A model's wish to call a tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Ties the call to its result.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// What it is called with.
    pub arguments: Map<String, Value>,
}

/// A tool's answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The id of the call.
    pub call_id: String,
    /// The tool's name; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The answer; a tool may have nothing to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<ToolOutput>,
    /// Whether the tool failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
}

/// What a tool answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolOutput {
    /// Text.
    Text(String),
    /// Data.
    Json(Value),
}

/// What kind of file a reference points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileType {
    /// A picture.
    Image,
    /// A sound recording.
    Audio,
    /// A film.
    Video,
    /// A text, a table, a presentation.
    Document,
    /// Anything else.
    Custom,
}

/// A reference to a file that is kept elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRef {
    /// What kind of file it is.
    #[serde(rename = "type")]
    pub kind: FileType,
    /// Where it is kept.
    pub location: FileLocation,
    /// Its name for people; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Its media type; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub mime_type: String,
    /// Its size in bytes; 0 where unknown.
    #[serde(default)]
    pub size_bytes: i64,
    /// What is to be seen or heard; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub caption: String,
}

/// Where a file is kept.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileLocation {
    /// Uploaded by a person.
    UploadFileId(String),
    /// Made by a tool.
    ToolFileId(String),
    /// On the net.
    Url(String),
}

/// Keeps the messages that meet all of its conditions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MessageFilter {
    /// Roles; empty for all.
    pub roles: Vec<Role>,
    /// Speakers' names; empty for all.
    pub names: Vec<String>,
    /// Said at this time or later.
    pub start: Option<OffsetDateTime>,
    /// Said before this time.
    pub end: Option<OffsetDateTime>,
    /// Metadata keys with the values that they must have: strings, whole
    /// numbers, booleans.
    pub metadata: Map<String, Value>,
}

impl MessageFilter {
    /// Whether it keeps every message.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The words of a message: text, captions, tools' names and data, one part a
/// line. What search sees and templates print; never what is given back.
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
            Part::ToolResult(result) => match &result.output {
                Some(ToolOutput::Text(text)) => lines.push(text.clone()),
                Some(ToolOutput::Json(value)) => lines.push(value.to_string()),
                None => {}
            },
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
