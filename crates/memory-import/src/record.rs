//! The content of a file, one record at a time.

use memory_contract::proto::{
    Memory, MessageInput, PutWorkingMemoryRequest, ResolveThreadRequest, SessionRef,
    SetHeadRequest, record::Kind,
};

/// One thing that a file holds.
#[derive(Debug, Clone, PartialEq)]
pub enum ImportRecord {
    /// A record of an export.
    Exported(Box<Kind>),
    /// A thread; its messages follow.
    Thread(Box<ResolveThreadRequest>),
    /// A message of a session.
    Message {
        /// The session.
        session: SessionRef,
        /// The message.
        message: Box<MessageInput>,
    },
    /// The message of a session that histories are read back from, where another one was
    /// handed on after it.
    Head(Box<SetHeadRequest>),
    /// A long-term memory.
    Memory(Box<Memory>),
    /// The working memory of a session, for sessions that have none.
    WorkingMemory(Box<PutWorkingMemoryRequest>),
    /// Things that Recollect does not have, by kind, and their number. They are left out.
    LeftOut(&'static str, u64),
}

/// A record, or another value, with its place.
#[derive(Debug)]
pub struct Placed<T> {
    /// Its place, such as `chat.jsonl, line 17`.
    pub place: String,
    /// The record.
    pub value: T,
}

/// A record or its problem, with the place.
pub type Read = Placed<Result<ImportRecord, String>>;
