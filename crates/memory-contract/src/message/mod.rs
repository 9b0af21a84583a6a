//! Messages, and their places in a thread.

mod part;

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

use crate::json::JsonObject;
use crate::{MessageId, MessageName, ThreadId, UserId};

pub use part::{Content, Opaque, Part, Provider, Reasoning, ToolCall, ToolOutput, ToolResult};

/// The speaker of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The person that the app talks to.
    User,
    /// The model.
    Assistant,
    /// An instruction to the model.
    System,
    /// A tool that answers a call.
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

/// A maximal linear run of messages in a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    /// The number within the thread, from 1.
    pub branch: i32,
    /// The newest message; `None` if all are deleted.
    pub head: Option<MessageId>,
    /// The message of the parent branch after which this branch starts; `None` for the first.
    pub fork: Option<MessageId>,
    /// Messages on the branch itself that are not deleted.
    pub message_count: i64,
    /// Number of messages from the root to the head.
    pub depth: i32,
    /// Whether the thread's head is on this branch.
    pub active: bool,
    /// Time at which its first message was appended.
    pub created: OffsetDateTime,
}

/// A stored message.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// The id, a UUID.
    pub id: MessageId,
    /// The caller's own id, unique in the thread; empty without one.
    pub external_id: String,
    /// The thread that contains it.
    pub thread: ThreadId,
    /// The message that it follows; `None` at a root.
    pub parent: Option<MessageId>,
    /// The position in the thread, from 1, without gaps.
    pub seq: i64,
    /// The number of its branch, from 1.
    pub branch: i32,
    /// Number of messages from the root to this one, which counts.
    pub depth: i32,
    /// The speaker's role.
    pub role: Role,
    /// The speaker's name; may be empty.
    pub name: String,
    /// The user who said it; empty: the thread's user, if the role is [`Role::User`].
    pub said_by: UserId,
    /// The content, in order.
    pub parts: Vec<Part>,
    /// The caller's own data, returned unchanged.
    pub metadata: JsonObject,
    /// Size in `o200k_base` tokens, including the tokens that frame a message.
    pub tokens: i32,
    /// Time at which it was said, which may be before it was appended.
    pub created: OffsetDateTime,
}

impl Message {
    /// The only message of a thread, said in 1970, with its role and its content alone: both ids are
    /// generated, and it has 0 tokens.
    pub fn new(role: Role, parts: Vec<Part>) -> Self {
        Self {
            id: MessageId::new(),
            external_id: String::new(),
            thread: ThreadId::new(),
            parent: None,
            seq: 1,
            branch: 1,
            depth: 1,
            role,
            name: String::new(),
            said_by: UserId::default(),
            parts,
            metadata: JsonObject::default(),
            tokens: 0,
            created: OffsetDateTime::UNIX_EPOCH,
        }
    }
}

/// The position at which a new message is appended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Parent {
    /// After the previous message of the same append, or after the thread's head.
    #[default]
    Previous,
    /// The new message answers or follows this one, of the thread or of the same append.
    Message(MessageName),
    /// At the root: the message starts a new conversation in the thread.
    Root,
}

/// A message to store. Every value is within its limits.
#[derive(Clone, Debug, PartialEq)]
pub struct NewMessage {
    /// The caller's id, or a generated one.
    pub id: MessageId,
    /// Whether the caller chose the id. A generated id is left out of the hash that detects
    /// a repeated request.
    pub caller_chose_id: bool,
    /// The caller's own id, unique in the thread; empty without one.
    pub external_id: String,
    /// The position at which it is appended.
    pub parent: Parent,
    /// The speaker's role.
    pub role: Role,
    /// The speaker's name; may be empty.
    pub name: String,
    /// The user who said it, only with [`Role::User`]; empty: the thread's user.
    pub said_by: UserId,
    /// The content, in order.
    pub parts: Vec<Part>,
    /// The caller's own data, returned unchanged.
    pub metadata: JsonObject,
    /// Time at which it was said; `None` means the time of the append.
    pub created: Option<OffsetDateTime>,
}

impl NewMessage {
    /// A message with its role and its content alone. It follows the previous one, under a generated
    /// id.
    pub fn new(role: Role, parts: Vec<Part>) -> Self {
        Self {
            id: MessageId::new(),
            caller_chose_id: false,
            external_id: String::new(),
            parent: Parent::Previous,
            role,
            name: String::new(),
            said_by: UserId::default(),
            parts,
            metadata: JsonObject::default(),
            created: None,
        }
    }
}

/// The position that a new message was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppendedMessage {
    /// The id, a UUID.
    pub id: MessageId,
    /// The caller's own id; empty without one.
    pub external_id: String,
    /// The position in the thread, from 1.
    pub seq: i64,
    /// The number of its branch, from 1.
    pub branch: i32,
    /// Size in `o200k_base` tokens.
    pub tokens: i32,
}

/// Conditions on messages; a message must meet all of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MessageFilter {
    /// Any of these roles; empty for all.
    pub roles: Vec<Role>,
    /// Any of these speakers' names; empty for all.
    pub names: Vec<String>,
    /// Said by any of these users, as the messages themselves name them; empty for all.
    pub users: Vec<UserId>,
    /// Said at this time or later.
    pub start: Option<OffsetDateTime>,
    /// Said before this time.
    pub end: Option<OffsetDateTime>,
    /// Metadata keys with their required values: strings, numbers, booleans or null.
    pub metadata: JsonObject,
}

impl MessageFilter {
    /// Whether every message passes.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
