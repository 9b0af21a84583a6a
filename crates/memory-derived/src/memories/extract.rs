//! Stores facts that were extracted from messages, exactly once.

use std::time::Duration;

use memory_contract::{
    MemoryId, MessageId, TenantId, ThreadId,
    json::JsonObject,
    memory::{MemoryOwner, MemoryType},
    message::Message,
    policy::ExtractionStrategy,
    revision::Revision,
};
use memory_conversations::read_message;
use memory_database::{
    MemoryError, StoreError,
    rows::{column, id as id_of, only, optional_id, scalar, unknown_status},
};
use memory_postgres::{Caller, Params, query};
use serde_json::{Value, json};
use time::OffsetDateTime;
use tokio_postgres::types::Json;
use uuid::Uuid;

use super::{Item, revision, uuids, write::scope_of};
use crate::{MemoryStore, MemoryWorker};

/// Something that was extracted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fact {
    /// The text to remember; at most 4,096 characters.
    pub text: String,
    /// Whose memory it is, in the thread's app; `None`: the thread's user. It is dropped unless one
    /// of its sources names this user as the one who said it.
    pub owner: Option<MemoryOwner>,
    /// A fact or an event.
    pub kind: MemoryType,
    /// Topics; at most 16.
    pub topics: Vec<String>,
    /// People, places and things that it names; at most 16.
    pub entities: Vec<String>,
    /// When it happened, where that is known.
    pub event: Option<OffsetDateTime>,
    /// The name of the app's own kind that it is of; empty for none.
    pub own_kind: String,
    /// The values of that kind.
    pub attributes: JsonObject,
    /// The messages that prove it.
    pub sources: Vec<MessageId>,
    /// The memories that it supersedes. Pinned ones, and memories of other users, are kept;
    /// a fact of an ephemeral thread supersedes only memories of that thread.
    pub supersedes: Vec<MemoryId>,
    /// The memories that it was built on: it is erased with the first of them.
    pub built_on: Vec<MemoryId>,
}

/// The result of extraction from messages that it had not read before.
#[derive(Clone, Debug, PartialEq)]
pub struct Extraction {
    /// The thread of the messages.
    pub thread: ThreadId,
    /// The generation of facts at which the messages were read.
    pub generation: i64,
    /// The seq of the last of them; 0: memories had been extracted from them before.
    pub to_seq: i64,
    /// The extracted facts; may be empty.
    pub facts: Vec<Fact>,
    /// The model, or `extractive`.
    pub made_by: String,
    /// How the facts were extracted.
    pub strategy: ExtractionStrategy,
    /// The memories that it was built on, with their texts.
    pub built_on: Vec<(MemoryId, String)>,
}

/// The result of [`MemoryStore::store_extracted`](crate::MemoryStore::store_extracted).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extracted {
    /// Memories that are new.
    pub stored: i64,
    /// Facts that were known; their sources have been added.
    pub known: i64,
    /// Facts without a source that can be read, or with sources that do not let them belong to their
    /// owner.
    pub dropped: i64,
    /// Memories that were superseded.
    pub superseded: i64,
    /// The revision at which the index has the changes.
    pub revision: Revision,
}

/// The part of the path to a thread's head that extraction has not read: one snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unextracted {
    /// The generation of extraction; it rises with each commit.
    pub generation: i64,
    /// The head; `None` if no message can be read.
    pub head: Option<MessageId>,
    /// Its depth; 0 without one.
    pub head_depth: i32,
    /// Tokens from the root to the head.
    pub path_tokens: i64,
    /// The part begins below this depth; it is empty if this is the head's depth.
    pub after_depth: i32,
    /// Its tokens, including the tokens of erased messages.
    pub tokens: i64,
    /// How long ago the head was appended.
    pub quiet: Duration,
    /// Whether a caller asked to extract from it now.
    pub asked: bool,
    /// Why the last run for the thread failed; empty if it did not.
    pub last_error: String,
}

impl MemoryStore<'_> {
    /// Reads the part of a thread that extraction has not read. Summaries have parts of
    /// their own; all other strategies share one.
    ///
    /// # Errors
    /// `ThreadNotFound`.
    pub async fn unextracted(
        self,
        thread: ThreadId,
        strategy: ExtractionStrategy,
    ) -> Result<Unextracted, StoreError> {
        let tenant = &self.caller.tenant;
        let is_summary = strategy == ExtractionStrategy::Summary;
        let params: Params<'_> = &[&tenant.as_str(), &thread.uuid(), &is_summary];
        let unextracted = query!("memories/unextracted");
        let found = self
            .store
            .pool
            .within(self.caller, unextracted, params)
            .await?;
        let row = found.first().ok_or(StoreError::ThreadNotFound)?;
        Ok(Unextracted {
            generation: column(row, "extract_generation")?,
            head: optional_id(row, "head_id")?,
            head_depth: column(row, "head_depth")?,
            path_tokens: column(row, "path_tokens")?,
            after_depth: column(row, "after_depth")?,
            tokens: column(row, "tokens")?,
            quiet: Duration::try_from_secs_f64(column(row, "quiet_seconds")?).unwrap_or_default(),
            asked: column(row, "asked")?,
            last_error: column(row, "last_error")?,
        })
    }

    /// Whether a message of a thread names the user who said it.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn names_speakers(self, thread: ThreadId) -> Result<bool, StoreError> {
        let tenant = &self.caller.tenant;
        let params: Params<'_> = &[&tenant.as_str(), &thread.uuid()];
        let names = query!("memories/names_speakers");
        scalar(&only(
            self.store.pool.within(self.caller, names, params).await?,
        )?)
    }

    /// Asks workers to extract memories from the thread's messages now. Unknown threads are
    /// ignored.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn ask_extraction(self, thread: ThreadId) -> Result<(), StoreError> {
        let params: Params<'_> = &[&self.caller.tenant.as_str(), &thread.uuid()];
        let ask = query!("distill_jobs/ask_extraction");
        self.store.pool.within(self.caller, ask, params).await?;
        Ok(())
    }

    /// The memories that sum up a thread and hold, the newest first, at most 32. The
    /// summary strategy keeps one; others were imported. Pinned ones are omitted.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn summary_memories(
        self,
        thread: ThreadId,
    ) -> Result<Vec<(MemoryId, String)>, StoreError> {
        let tenant = &self.caller.tenant;
        let params: Params<'_> = &[&tenant.as_str(), &thread.uuid()];
        let summaries = query!("memories/summaries_of_thread");
        let found = self
            .store
            .pool
            .within(self.caller, summaries, params)
            .await?;
        let read = |row| Ok((id_of(row, "memory_id")?, column(row, "text")?));
        found.iter().map(read).collect()
    }

    /// Messages to extract memories from once more, because one made of them was erased with
    /// another that it was built on: the oldest first.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn extract_again(
        self,
        thread: ThreadId,
        limit: i32,
    ) -> Result<Vec<Message>, StoreError> {
        let tenant = &self.caller.tenant;
        let params: Params<'_> = &[&tenant.as_str(), &thread.uuid(), &i64::from(limit)];
        let again = query!("memories/extract_again");
        let found = self.store.pool.within(self.caller, again, params).await?;
        found.iter().map(read_message).collect()
    }

    /// Memories have been extracted once more from these messages. Idempotent.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn extracted_again(
        self,
        thread: ThreadId,
        messages: &[MessageId],
    ) -> Result<(), StoreError> {
        let tenant = &self.caller.tenant;
        let messages: Vec<Uuid> = messages.iter().map(|id| id.uuid()).collect();
        let params: Params<'_> = &[&tenant.as_str(), &thread.uuid(), &messages];
        let done = query!("memories/extracted_again");
        self.store.pool.within(self.caller, done, params).await?;
        Ok(())
    }

    /// How many memories wait for the index.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn waiting_memories(self) -> Result<i64, StoreError> {
        let tenant = &self.caller.tenant;
        let params: Params<'_> = &[&tenant.as_str()];
        let waiting = query!("memories/waiting");
        scalar(&only(
            self.store.pool.within(self.caller, waiting, params).await?,
        )?)
    }

    /// Aligns the summary of a thread with its head: a summary of another path ends, and
    /// the one that reaches deepest on this path holds. Returns whether anything was changed.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn align_summary(self, thread: ThreadId) -> Result<bool, StoreError> {
        let tenant = &self.caller.tenant;
        let params: Params<'_> = &[&tenant.as_str(), &self.caller.actor, &thread.uuid()];
        let align = query!("memories/align_summary");
        scalar(&only(
            self.store.pool.call(self.caller, align, params).await?,
        )?)
    }

    /// Stores facts that were extracted from messages for the thread's app and its user, or the users
    /// who said them, and marks the messages as read, in one transaction. Repeated, also by another worker, it
    /// changes nothing.
    ///
    /// # Errors
    /// `ThreadNotFound`; `MemoryError::ExtractionMoved` if another extraction has
    /// committed or a message was erased since `generation`, the last message is not
    /// there, or a memory that it was built on has changed, is gone or belongs to another
    /// path; of a summary also if it has no new message;
    /// `MemoryError::Off`.
    pub async fn store_extracted(self, extraction: &Extraction) -> Result<Extracted, StoreError> {
        let tenant = &self.caller.tenant;
        self.store.require_long_term_memory()?;
        let facts: Vec<Value> = extraction
            .facts
            .iter()
            .map(|fact| {
                let mut item = item_of(fact).json();
                item["built_on"] = json!(uuids(&fact.built_on));
                if let Some(owner) = &fact.owner {
                    item["user"] = json!(owner.user);
                    item["scope"] = json!(scope_of(tenant, owner));
                }
                item
            })
            .collect();
        let built_on = extraction.built_on.iter();
        let built_on = built_on.map(|(id, text)| json!({"id": id.uuid(), "text": text}));
        let built_on: Vec<Value> = built_on.collect();
        let params: Params<'_> = &[
            &tenant.as_str(),
            &self.caller.actor,
            &extraction.thread.uuid(),
            &extraction.generation,
            &extraction.to_seq,
            &Json(facts),
            &extraction.made_by,
            &extraction.strategy.as_str(),
            &Json(built_on),
        ];
        let extract = query!("memories/extract");
        let row = only(self.store.pool.call(self.caller, extract, params).await?)?;
        match column(&row, "status")? {
            "ok" => Ok(Extracted {
                stored: column(&row, "stored")?,
                known: column(&row, "known")?,
                dropped: column(&row, "dropped")?,
                superseded: column(&row, "superseded")?,
                revision: revision(&row)?,
            }),
            "thread_not_found" => Err(StoreError::ThreadNotFound),
            "moved" => Err(StoreError::Memory(MemoryError::ExtractionMoved)),
            other => Err(unknown_status(other)),
        }
    }
}

impl MemoryWorker<'_> {
    /// Queues threads for distilling from whose messages memories are to be extracted once
    /// more, at most `limit`. Returns how many.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn queue_extraction(self, limit: u32) -> Result<u64, StoreError> {
        let unqueued = query!("memories/unqueued_again");
        let found = self
            .workers
            .pool
            .call_for_all(unqueued, &[&i64::from(limit)])
            .await?;
        for row in &found {
            let caller = Caller::worker(TenantId::new(column::<String>(row, "tenant_id")?));
            let thread: Uuid = column(row, "thread_id")?;
            let params: Params<'_> = &[&caller.tenant.as_str(), &thread];
            // Apart, because the erasure of a thread locks both kinds of rows.
            for query in [
                query!("distill_jobs/enqueue"),
                query!("memories/queued_again"),
            ] {
                self.store.pool.within(&caller, query, params).await?;
            }
        }
        Ok(found.len() as u64)
    }
}

fn item_of(fact: &Fact) -> Item<'_> {
    let Fact {
        text,
        owner: _,
        kind,
        topics,
        entities,
        event,
        own_kind,
        attributes,
        sources,
        supersedes,
        built_on: _,
    } = fact;
    Item {
        id: MemoryId::new(),
        record: "",
        text,
        kind: *kind,
        topics,
        entities,
        event: *event,
        metadata: None,
        own_kind,
        attributes,
        sources: sources.iter().map(|id| id.uuid()).collect(),
        supersedes: supersedes.iter().map(|id| id.uuid()).collect(),
        pinned: false,
    }
}
