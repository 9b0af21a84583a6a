//! The formats of files.

use memory_contract::message::Provider;

/// The format of a file of conversations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Detected from the content.
    Auto,
    /// One message or one record of an export a line.
    Jsonl,
    /// Conversations in the format of a provider's API.
    Provider(Provider),
    /// The content of another memory system.
    System(System),
}

/// Another memory system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    /// Memories of mem0.
    Mem0,
    /// Threads and facts of Zep.
    Zep,
    /// Working memories and records of Redis's agent memory server.
    Redis,
}
