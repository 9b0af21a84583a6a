//! Reads a working memory.

use memory_contract::{
    ThreadId, json::JsonObject, memory::Memory, message::Message, thread::Session,
};
use memory_conversations::{Policies, THREAD_POLICIES, ThreadStore, read_message, used};
use memory_database::{
    StoreError,
    rows::{self, column},
};
use memory_postgres::{Params, query};
use time::OffsetDateTime;
use tokio_postgres::{Row, types::Json};

use crate::{WorkingMemoryStore, memories::memory_of};

/// The working memory of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkingMemory {
    /// The thread, and the policy of its app.
    pub policies: Policies,
    /// The summary of what came before the messages; empty without one.
    pub context: String,
    /// Its size in tokens of `o200k_base`.
    pub context_tokens: i32,
    /// Readable messages that the summary covers.
    pub summarized_count: i64,
    /// The newest messages that it does not cover, the oldest first.
    pub messages: Vec<Message>,
    /// How many messages it does not cover.
    pub message_count: i64,
    /// Their tokens of `o200k_base`.
    pub message_tokens: i64,
    /// The memories that were put into it.
    pub memories: Vec<Memory>,
    /// The session's own data.
    pub data: JsonObject,
    /// When it is forgotten.
    pub expires: Option<OffsetDateTime>,
    /// The model that was put last; empty if none was.
    pub model: String,
    /// The window of that model, where it is known.
    pub window: Option<i32>,
    /// Whether anything is in it.
    pub anything: bool,
    /// Names this state of it.
    pub etag: String,
    /// When anything of it last changed.
    pub updated: OffsetDateTime,
}

/// A model and its window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NamedModel<'a> {
    /// Its name; empty if none is named.
    pub name: &'a str,
    /// Its window in tokens, where that is known.
    pub window: Option<i32>,
}

/// The stored state.
pub(super) struct WorkingState {
    pub(super) memory: WorkingMemory,
    /// It expires now and has to be forgotten.
    pub(super) expired: bool,
    /// It had expired and was rebuilt, and was not put since.
    pub(super) rebuilt: bool,
    /// The depth down to which the context covers the path.
    pub(super) covered: i32,
}

impl WorkingMemoryStore<'_> {
    /// Reads a working memory with its newest messages, at most `max_messages` and
    /// `max_bytes` of content. One that has expired is ended first, as the background job
    /// does. The second value is whether it had expired and was rebuilt, and was not put
    /// since.
    ///
    /// It is one round trip; three if it has expired.
    ///
    /// # Errors
    /// `ThreadNotFound`.
    pub async fn working_memory(
        self,
        thread: ThreadId,
        max_messages: usize,
        max_bytes: usize,
    ) -> Result<(WorkingMemory, bool), StoreError> {
        let mut seen = self.see_working(thread, max_messages, max_bytes).await?;
        used(self.store, self.caller, &mut seen.memory.policies.thread).await?;
        if seen.expired {
            self.expire_working_memory(thread).await?;
            seen = self.see_working(thread, max_messages, max_bytes).await?;
        }
        Ok((seen.memory, seen.rebuilt))
    }

    /// Reads a working memory as
    /// [`WorkingMemoryStore::working_memory`](crate::WorkingMemoryStore::working_memory)
    /// does, but changes nothing, even if it has expired.
    ///
    /// # Errors
    /// As [`WorkingMemoryStore::working_memory`](crate::WorkingMemoryStore::working_memory).
    pub async fn peek_working_memory(
        self,
        thread: ThreadId,
        max_messages: usize,
        max_bytes: usize,
    ) -> Result<WorkingMemory, StoreError> {
        let seen = self.see_working(thread, max_messages, max_bytes);
        Ok(seen.await?.memory)
    }

    /// The thread of a session; `None` without one.
    pub(super) async fn thread_of(self, session: &Session) -> Result<Option<ThreadId>, StoreError> {
        let threads = ThreadStore::new(self.store, self.conversations, self.caller);
        match threads.find_thread(session).await {
            Ok(thread) => Ok(Some(thread.id)),
            Err(StoreError::ThreadNotFound) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) async fn see_working(
        self,
        thread: ThreadId,
        max_messages: usize,
        max_bytes: usize,
    ) -> Result<WorkingState, StoreError> {
        let tenant = &self.caller.tenant;
        let (name, id) = (tenant.as_str(), thread.uuid());
        let max_messages = i32::try_from(max_messages).unwrap_or(i32::MAX);
        let max_bytes = i64::try_from(max_bytes).unwrap_or(i64::MAX);
        let of_thread: Params<'_> = &[&name, &id];
        let of_state: Params<'_> = &[&name, &id, &max_messages, &max_bytes];
        let of_policies: Params<'_> = &[&name, &id, &false];
        // The state first: later reads are never older than its etag says.
        let results = self
            .store
            .pool
            .within_all(
                self.caller,
                &[
                    (query!("working/read"), of_state),
                    (query!("working/records"), of_thread),
                    (THREAD_POLICIES, of_policies),
                ],
            )
            .await?;
        let [state, records, policies] = results.as_slice() else {
            return Err(StoreError::ThreadNotFound);
        };
        state_of(state, records, Policies::of(self.store, policies)?)
    }
}

/// The row after the messages: its status.
pub(super) fn check_status(row: &Row) -> Result<(), StoreError> {
    match column(row, "status")? {
        "ok" => Ok(()),
        "thread_not_found" => Err(StoreError::ThreadNotFound),
        other => Err(rows::unknown_status(other)),
    }
}

/// The etag in the row after the messages.
pub(super) fn etag_of(row: &Row) -> Result<String, StoreError> {
    column(row, "etag")
}

fn state_of(
    state: &[Row],
    records: &[Row],
    policies: Policies,
) -> Result<WorkingState, StoreError> {
    let Some((last, messages)) = state.split_last() else {
        return Err(StoreError::Corrupt {
            what: "working memory",
            why: "it has no status".to_owned(),
        });
    };
    check_status(last)?;
    let mut messages = messages
        .iter()
        .map(read_message)
        .collect::<Result<Vec<_>, _>>()?;
    messages.reverse();
    let memory = WorkingMemory {
        policies,
        context: column(last, "context")?,
        context_tokens: column(last, "context_tokens")?,
        summarized_count: column(last, "summarized_count")?,
        messages,
        message_count: column(last, "message_count")?,
        message_tokens: column(last, "message_tokens")?,
        memories: records.iter().map(memory_of).collect::<Result<_, _>>()?,
        model: column(last, "model")?,
        window: column(last, "context_window")?,
        data: column::<Json<JsonObject>>(last, "data")?.0,
        expires: column(last, "expires_at")?,
        anything: column(last, "anything")?,
        etag: etag_of(last)?,
        updated: column(last, "updated_at")?,
    };
    Ok(WorkingState {
        memory,
        expired: column(last, "expired")?,
        rebuilt: column(last, "rebuilt")?,
        covered: column(last, "covered")?,
    })
}
