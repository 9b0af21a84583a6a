//! The memories of nodes.

use time::OffsetDateTime;

use crate::{FileRef, Role};

/// A message of a node's memory.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeMessage {
    /// Its id within the node.
    pub id: String,
    /// The message that it follows; `None` at a root.
    pub parent: Option<String>,
    /// Who speaks: the user or the assistant.
    pub role: Role,
    /// The text; may be empty.
    pub content: String,
    /// References to files.
    pub files: Vec<FileRef>,
    /// Its size in `o200k_base` tokens, frame included.
    pub tokens: i32,
    /// When it was said.
    pub created: OffsetDateTime,
}

/// One side of a turn to add. Every limit has been checked.
#[derive(Clone, Debug, PartialEq)]
pub struct NewNodeMessage {
    /// The caller's id, or a fresh one.
    pub id: String,
    /// Whether the caller chose the id; a fresh one is no part of a request's
    /// content.
    pub caller_chose_id: bool,
    /// The text; may be empty.
    pub content: String,
    /// References to files.
    pub files: Vec<FileRef>,
    /// When it was said; the time of the call if nobody tells.
    pub created: Option<OffsetDateTime>,
}

/// What a new turn follows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum NodeParent {
    /// The message added last.
    #[default]
    Last,
    /// A message of the node's memory.
    Message(String),
    /// Nothing: it starts the dialogue anew.
    Root,
}
