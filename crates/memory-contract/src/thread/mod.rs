//! Conversations, and the names that callers give them.

mod session;

use time::OffsetDateTime;

use crate::json::JsonObject;
use crate::policy::MemoryPolicy;
use crate::{MessageId, ThreadId};

pub use session::{KeySource, SESSION_METADATA, Session, SessionNames};

/// A conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct Thread {
    /// The id, a UUID.
    pub id: ThreadId,
    /// The caller's names for it.
    pub session: Session,
    /// A title for display; may be empty.
    pub title: String,
    /// The caller's own data, returned unchanged.
    pub metadata: JsonObject,
    /// The highest `seq` assigned so far; 0 in an empty thread.
    pub last_seq: i64,
    /// The message that history is read back from; `None` in an empty thread.
    pub head: Option<MessageId>,
    /// Messages that are not deleted.
    pub message_count: i64,
    /// Creation time.
    pub created: OffsetDateTime,
    /// Time of the last change.
    pub updated: OffsetDateTime,
    /// Time from which the thread cannot be read; `None` for never.
    pub expires: Option<OffsetDateTime>,
    /// The thread's own policy; it overrides the app's.
    pub policy: MemoryPolicy,
    /// Whether it ends when it is idle, and when all servers have stopped.
    pub ephemeral: bool,
    /// The version of title, metadata, lifetime and policy; each change replaces it.
    pub etag: String,
}
