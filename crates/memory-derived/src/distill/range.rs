//! Reads a range of messages.

use memory_contract::{MessageId, ThreadId, message::Message};
use memory_conversations::read_message;
use memory_database::{
    StoreError,
    rows::{self, column},
};
use memory_postgres::{Params, query};

use super::Generations;
use crate::DistillateStore;

/// A range of messages of a path to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RangeQuery {
    /// The thread of the path.
    pub thread: ThreadId,
    /// The head of the path; `None` for the thread's head.
    pub head: Option<MessageId>,
    /// Only messages deeper than this.
    pub after_depth: i32,
    /// Only messages not deeper than this; `i32::MAX` for all.
    pub to_depth: i32,
    /// The most messages to read.
    pub max_messages: i32,
    /// The most tokens; the first message is read, however large it is.
    pub max_tokens: i64,
    /// The most bytes of content, likewise.
    pub max_bytes: i64,
}

/// Readable messages of a path, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct MessageRange {
    /// The oldest first.
    pub messages: Vec<Message>,
    /// The messages that were imported.
    pub imported: Vec<MessageId>,
    /// Whether the range has more messages.
    pub more: bool,
    /// The generations at the read, as in `DistillState::generations`.
    pub generations: Generations,
}

impl DistillateStore<'_> {
    /// Reads messages of a path, the oldest first, in one round trip, at a cost
    /// proportional to the result. It may end within a turn.
    ///
    /// # Errors
    /// `ThreadNotFound`, `MessageNotFound`.
    pub async fn read_range(self, query: &RangeQuery) -> Result<MessageRange, StoreError> {
        let tenant = &self.caller.tenant;
        let RangeQuery {
            thread,
            head,
            after_depth,
            to_depth,
            max_messages,
            max_tokens,
            max_bytes,
        } = query;
        let params: Params<'_> = &[
            &tenant.as_str(),
            &thread.uuid(),
            &head.map(MessageId::uuid),
            after_depth,
            to_depth,
            max_messages,
            max_tokens,
            max_bytes,
        ];
        let read = query!("distillates/range");
        let found = self.store.pool.within(self.caller, read, params).await?;
        let Some((last, messages)) = found.split_last() else {
            return Err(StoreError::Corrupt {
                what: "range",
                why: "it has no status".to_owned(),
            });
        };
        let mut read = Vec::with_capacity(messages.len());
        let mut imported = Vec::new();
        for row in messages {
            let message = read_message(row)?;
            if column(row, "imported")? {
                imported.push(message.id);
            }
            read.push(message);
        }
        match column(last, "status")? {
            "ok" => Ok(MessageRange {
                imported,
                messages: read,
                more: column(last, "more")?,
                generations: Generations::of(last)?,
            }),
            "thread_not_found" => Err(StoreError::ThreadNotFound),
            "message_not_found" => Err(StoreError::MessageNotFound),
            other => Err(rows::unknown_status(other)),
        }
    }
}
