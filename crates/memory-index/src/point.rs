//! The points of an index, made of stored messages and memories, and the changes of them.

use memory_contract::{
    AppId, MemoryId, MessageId, TenantId, ThreadId, UserId,
    json::JsonObject,
    message::{Message, Role},
};
use memory_store::{IndexRecord, MemoryRecord};
use memory_text::{Form, LexicalVector, is_question, is_short, lexical_document, lexical_memory};
use time::OffsetDateTime;

/// The point of a message.
#[derive(Clone, Debug)]
pub struct Point {
    /// The message. With the tenant it determines the point's id.
    pub message: MessageId,
    /// The owner of the message. Every search is filtered by it.
    pub tenant: TenantId,
    /// The app of its thread.
    pub app: AppId,
    /// The user of its thread; may be empty.
    pub user: UserId,
    /// The thread that it belongs to.
    pub thread: ThreadId,
    /// Its place in the thread, from 1.
    pub seq: i64,
    /// The branch of the thread, from 1.
    pub branch: i32,
    /// Messages on the path from the root to it, itself included.
    pub depth: i32,
    /// Whether it ends with a question mark.
    pub question: bool,
    /// Whether its text is short (under 60 characters).
    pub short: bool,
    /// The speaker's role.
    pub role: Role,
    /// The speaker's name; may be empty.
    pub name: String,
    /// The user who said it, as the message names it; may be empty.
    pub said_by: UserId,
    /// Its creation time.
    pub said: OffsetDateTime,
    /// The words and traits of its text.
    pub form: Form,
    /// The caller's metadata. Strings, numbers, booleans and nulls can be filtered by.
    pub metadata: JsonObject,
    /// Dense vector of length 1; `None` in an index without a model.
    pub dense: Option<Vec<f32>>,
    /// The dense vectors of the passages after the first one, each of which becomes a point of its
    /// own, without words; at most [`MOST_PASSAGES`].
    pub passages: Vec<Vec<f32>>,
    /// BM25 weights of its words.
    pub lexical: LexicalVector,
}

/// The most passages of a message that are embedded after its first one.
pub const MOST_PASSAGES: u16 = 31;
/// Those of the output of a tool, which is mostly asked for by word.
const MOST_PASSAGES_OF_TOOLS: u16 = 7;

/// The point of a long-term memory.
#[derive(Clone, Debug)]
pub struct MemoryPoint {
    /// The tenant. With the memory's id it determines the point's id.
    pub tenant: TenantId,
    /// The memory's text and the fields to filter by.
    pub memory: MemoryRecord,
    /// Dense vector of length 1; `None` in an index without a model.
    pub dense: Option<Vec<f32>>,
    /// BM25 weights of its words.
    pub lexical: LexicalVector,
}

/// The message or memory of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Subject {
    /// A message of a thread.
    Message(MessageId),
    /// A long-term memory.
    Memory(MemoryId),
}

/// A change of the index.
#[derive(Clone, Debug)]
pub enum Change {
    /// Adds or overwrites a message. Its text never changes, so it has as many passages as before:
    /// further ones would stay.
    Upsert(Box<Point>),
    /// Adds or overwrites a memory.
    UpsertMemory(Box<MemoryPoint>),
    /// Deletes a message or a memory.
    Delete {
        /// The owner of the point.
        tenant: TenantId,
        /// The message or memory to delete.
        subject: Subject,
    },
    /// Deletes the messages of a thread up to a seq.
    Purge {
        /// The owner of the thread.
        tenant: TenantId,
        /// The thread whose messages are deleted.
        thread: ThreadId,
        /// The last seq to delete, inclusive.
        up_to_seq: i64,
    },
}

impl Point {
    /// The point of a message, without a dense vector.
    pub fn new(tenant: &TenantId, record: IndexRecord) -> Self {
        let IndexRecord {
            message,
            previous,
            app,
            user,
            thread_ordinal: _,
            metadata_hash: _,
        } = record;
        Self {
            lexical: lexical_document(&message, &previous),
            question: is_question(&message),
            short: is_short(&message),
            form: Form::new(&message),
            message: message.id,
            tenant: tenant.clone(),
            app,
            user,
            thread: message.thread,
            seq: message.seq,
            branch: message.branch,
            depth: message.depth,
            role: message.role,
            name: message.name,
            said_by: message.said_by,
            said: message.created,
            metadata: message.metadata,
            dense: None,
            passages: Vec::new(),
        }
    }
}

/// The most passages that are embedded of a message after its first one.
pub fn most_passages(message: &Message) -> usize {
    usize::from(match message.role {
        Role::Tool => MOST_PASSAGES_OF_TOOLS,
        Role::User | Role::Assistant | Role::System => MOST_PASSAGES,
    })
}

impl MemoryPoint {
    /// The point of a memory, without a dense vector.
    pub fn new(tenant: &TenantId, memory: MemoryRecord) -> Self {
        let labels = memory.topics.iter().chain(&memory.entities);
        let texts = std::iter::once(&memory.text).chain(labels);
        Self {
            lexical: lexical_memory(texts.map(String::as_str), memory.event),
            tenant: tenant.clone(),
            memory,
            dense: None,
        }
    }
}

impl Change {
    pub(crate) fn is_upsert(&self) -> bool {
        matches!(self, Self::Upsert(_) | Self::UpsertMemory(_))
    }

    /// Gives the point that it adds the dense vectors of its text and its later passages.
    pub(crate) fn set_dense(&mut self, mut vectors: impl Iterator<Item = Vec<f32>>) {
        match self {
            Self::Upsert(point) => {
                point.dense = vectors.next();
                point.passages = vectors.collect();
            }
            Self::UpsertMemory(point) => point.dense = vectors.next(),
            Self::Delete { .. } | Self::Purge { .. } => {}
        }
    }
}
