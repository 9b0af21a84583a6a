//! A path through a thread, and the messages on it.

use memory_contract::{
    MessageId, MessageName, TenantId, ThreadId, limits,
    message::{Message, Role},
};
use tokio_postgres::types::ToSql;
use uuid::Uuid;

/// The history to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryQuery {
    /// The thread whose path is read.
    pub thread: ThreadId,
    /// The message to read back from; `None` for the thread's head.
    pub head: Option<MessageName>,
    /// Reading stops with the turn that takes the stored token counts over
    /// this.
    pub max_tokens: i64,
    /// At most one message more than this is returned, to show where the
    /// limit cuts.
    pub limit: u32,
}

/// The most bytes of content that one history reads: many times the size of an answer, so
/// that it only bounds memory.
const HISTORY_BYTES: i64 = 32 * 1024 * 1024;
const INSTRUCTIONS: i32 = limits::INSTRUCTIONS as i32;

/// The messages that lead to a head.
#[derive(Clone, Debug, PartialEq)]
pub struct History {
    /// The newest first.
    pub messages: Vec<Message>,
    /// If the path has older messages, the system messages that begin it, also those that
    /// `messages` have; the oldest first, at most [`limits::INSTRUCTIONS`].
    pub instructions: Vec<Message>,
    /// Whether the path has older readable messages.
    pub older: bool,
    /// All readable messages of the path.
    pub path_messages: i64,
    /// Their tokens together.
    pub path_tokens: i64,
}

/// The system messages that begin a path of these messages, the oldest first.
pub fn instructions<'a>(
    path: impl Iterator<Item = &'a Message>,
) -> impl Iterator<Item = &'a Message> {
    path.take_while(|message| message.role == Role::System)
        .take(limits::INSTRUCTIONS)
}

/// The version of the path to a thread's head. An append raises the last seq, an erasure
/// lowers the count of messages and an update raises that of updates, so paths of equal
/// versions are equal. A new way to change messages has to change one of the fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) last_seq: i64,
    pub(crate) message_count: i64,
    pub(crate) update_count: i64,
    pub(crate) head: Option<MessageId>,
}

/// A way back from a head, and how far to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Path {
    pub(crate) thread: ThreadId,
    /// `None` for the thread's head.
    pub(crate) head: Option<MessageName>,
    pub(crate) max_tokens: i64,
    /// Messages at most.
    pub(crate) rows: i32,
}

impl Path {
    /// The way of a history: one message more than its limit.
    pub(crate) fn of(query: &HistoryQuery) -> Self {
        Self {
            thread: query.thread,
            head: query.head.clone(),
            max_tokens: query.max_tokens,
            rows: i32::try_from(query.limit)
                .unwrap_or(i32::MAX - 1)
                .saturating_add(1),
        }
    }

    /// Whether it is known to start at the thread's head.
    pub(crate) fn leads_to(&self, head: Option<MessageId>) -> bool {
        self.head
            .as_ref()
            .is_none_or(|name| head.is_some() && name.id() == head)
    }

    /// The parameters of the query; a known window is not read again while it is valid.
    pub(crate) fn request<'a>(
        &'a self,
        tenant: &'a TenantId,
        known: Option<Version>,
    ) -> PathRequest<'a> {
        PathRequest {
            tenant: tenant.as_str(),
            thread: self.thread.uuid(),
            head: self.head.as_ref().map(MessageName::as_str),
            max_tokens: self.max_tokens,
            rows: self.rows,
            known_seq: known.map(|known| known.last_seq),
            known_count: known.map(|known| known.message_count),
            known_head: known.and_then(|known| known.head).map(MessageId::uuid),
            known_updates: known.map(|known| known.update_count),
        }
    }
}

/// The parameters of `messages/history`.
pub(crate) struct PathRequest<'a> {
    tenant: &'a str,
    thread: Uuid,
    head: Option<&'a str>,
    max_tokens: i64,
    rows: i32,
    known_seq: Option<i64>,
    known_count: Option<i64>,
    known_head: Option<Uuid>,
    known_updates: Option<i64>,
}

impl PathRequest<'_> {
    pub(crate) fn params(&self) -> [&(dyn ToSql + Sync); 11] {
        [
            &self.tenant,
            &self.thread,
            &self.head,
            &self.max_tokens,
            &self.rows,
            &HISTORY_BYTES,
            &INSTRUCTIONS,
            &self.known_seq,
            &self.known_count,
            &self.known_head,
            &self.known_updates,
        ]
    }
}
