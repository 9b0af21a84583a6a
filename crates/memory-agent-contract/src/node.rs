//! Domain types of a node's memory: messages and turns.

use time::OffsetDateTime;

use memory_contract::{file::FileRef, message::Role};

/// A message of a node's memory.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeMessage {
    /// The id, unique within the node.
    pub id: String,
    /// The message that it follows; `None` at a root.
    pub parent: Option<String>,
    /// The speaker's role: user or assistant.
    pub role: Role,
    /// The text; may be empty.
    pub content: String,
    /// References to files.
    pub files: Vec<FileRef>,
    /// Size in `o200k_base` tokens, including the tokens that frame a message.
    pub tokens: i32,
    /// The message of the thread that its turn belongs to: its UUID, or the name under which
    /// it had not been appended yet. `None`: the turn comes before the first message.
    pub thread_message: Option<String>,
    /// Time at which it was said.
    pub created: OffsetDateTime,
}

/// The user's or the assistant's side of a turn to add. Every value is within its limits.
#[derive(Clone, Debug, PartialEq)]
pub struct NewNodeMessage {
    /// The caller's id, or a generated one.
    pub id: String,
    /// Whether the caller chose the id. A generated id is left out of the hash that detects
    /// a repeated request.
    pub caller_chose_id: bool,
    /// The text; may be empty.
    pub content: String,
    /// References to files.
    pub files: Vec<FileRef>,
    /// Time at which it was said; `None` means the time of the call.
    pub created: Option<OffsetDateTime>,
}

/// The position at which a new turn is added.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum NodeParent {
    /// After the last turn on the conversation's path to the turn's place.
    #[default]
    Follow,
    /// After this message of the node's memory, or the last turn at this message of the
    /// thread.
    Message(String),
    /// At the root: the turn starts a new dialogue.
    Root,
}

/// Where a turn belongs in the conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum NodePlace {
    /// At the thread's head.
    #[default]
    Head,
    /// At this message of the thread, which may be appended later.
    Message(String),
    /// Before the first message, so that each branch has it.
    Start,
}
