//! Checkpoints of an agent's run.

use time::OffsetDateTime;

use memory_contract::{SessionKey, ThreadId};

/// Opaque bytes with the caller's name for their encoding.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Encoded {
    /// The name of the encoding.
    pub kind: String,
    /// The bytes.
    pub data: Vec<u8>,
}

/// The value of a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelValue {
    /// The channel's name.
    pub channel: String,
    /// The version of the value.
    pub version: String,
    /// The value.
    pub value: Encoded,
}

/// One write of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskWrite {
    /// The task.
    pub task: String,
    /// Where the task is in the graph.
    pub path: String,
    /// The number of the write within the task.
    pub index: i32,
    /// The channel that is written.
    pub channel: String,
    /// The value.
    pub value: Encoded,
}

/// A checkpoint to store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewCheckpoint {
    /// The graph or subgraph.
    pub namespace: String,
    /// Its id.
    pub id: String,
    /// The checkpoint that it follows; empty: none.
    pub parent: String,
    /// Whether it is stored although its parent is not.
    pub allow_missing_parent: bool,
    /// The checkpoint without its values.
    pub body: Encoded,
    /// The caller's data about it, a JSON object.
    pub metadata: String,
    /// The channels whose values were stored before, each with the version.
    pub kept: Vec<(String, String)>,
    /// The new values.
    pub values: Vec<ChannelValue>,
}

/// A stored checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// Its thread.
    pub thread: ThreadId,
    /// The caller's name for the thread.
    pub session_key: SessionKey,
    /// The graph or subgraph.
    pub namespace: String,
    /// Its id.
    pub id: String,
    /// The checkpoint that it follows; empty: none.
    pub parent: String,
    /// The checkpoint without its values.
    pub body: Encoded,
    /// The caller's data about it, as JSON.
    pub metadata: String,
    /// Its values, ordered by channel.
    pub values: Vec<ChannelValue>,
    /// The writes after it, ordered by path, task and index.
    pub writes: Vec<TaskWrite>,
    /// When it was first stored.
    pub created: OffsetDateTime,
}
