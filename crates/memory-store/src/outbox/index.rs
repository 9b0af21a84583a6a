//! Reads messages for the indexer and queues them, for one tenant at a time.

use std::collections::HashMap;

use memory_contract::{AppId, Message, MessageId, ThreadId, UserId};

use uuid::Uuid;

use memory_postgres::{Params, query};

use super::queue::read_stats;
use crate::{
    DeadLetter, DeadSubject, IndexStore, MessageStore, OutboxStats, Page, StoreError,
    messages::row::read_message,
    page::one_more,
    rows::{self, column, only, uuids},
};

/// Messages that one statement queues.
const ENQUEUE_PAGE: i64 = 5_000;

/// Messages before one that its index entry is made of, at most.
const CONTEXT: i32 = 3;

/// A message with what its index entry is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexRecord {
    /// The message to index.
    pub message: Message,
    /// The messages before it along its parents, the nearest first, at most
    /// three steps away. Deleted ones are left out.
    pub previous: Vec<Message>,
    /// The app of its thread.
    pub app: AppId,
    /// The user of its thread; may be empty.
    pub user: UserId,
    /// The place of its thread in the order of creation of the threads.
    pub thread_ordinal: i64,
}

impl MessageStore<'_> {
    /// Reads messages for indexing. What cannot be read any more is left out, as are
    /// messages before them with more than `max_context_bytes` of content.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn index_records(
        self,
        ids: &[MessageId],
        max_context_bytes: i32,
    ) -> Result<Vec<IndexRecord>, StoreError> {
        let tenant = &self.caller.tenant;
        let params: Params<'_> = &[&tenant.as_str(), &uuids(ids), &CONTEXT, &max_context_bytes];
        let found = self
            .store
            .pool
            .within(self.caller, query!("messages/index_records"), params)
            .await?;
        let rows = found.iter().map(read_row).collect::<Result<Vec<_>, _>>()?;
        let by_id: HashMap<MessageId, &Row> =
            rows.iter().map(|row| (row.message.id, row)).collect();
        Ok(rows
            .iter()
            .filter(|row| row.wanted)
            .map(|row| IndexRecord {
                message: row.message.clone(),
                previous: previous(row, &by_id),
                app: row.app.clone(),
                user: row.user.clone(),
                thread_ordinal: row.thread_ordinal,
            })
            .collect())
    }

    /// Which of these messages can be read, each with its thread and seq: a message that is
    /// erased and appended again under its id has another place.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn places(
        self,
        ids: &[MessageId],
    ) -> Result<HashMap<MessageId, (ThreadId, i64)>, StoreError> {
        let tenant = &self.caller.tenant;
        let params: Params<'_> = &[&tenant.as_str(), &uuids(ids)];
        let found = self
            .store
            .pool
            .within(self.caller, query!("messages/places"), params)
            .await?;
        let place = |row| {
            let place = (rows::id(row, "thread_id")?, column(row, "seq")?);
            Ok::<_, StoreError>((rows::id(row, "message_id")?, place))
        };
        found.iter().map(place).collect()
    }
}

impl IndexStore<'_> {
    /// Queues the readable messages of a tenant and its memories, or the messages
    /// of one of its threads, for indexing, dead letters included. Messages and memories that wait
    /// already are not queued twice. Returns how many were queued. Idempotent. It works
    /// page by page, so after an error a part has been queued.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn enqueue_all(self, thread: Option<ThreadId>) -> Result<i64, StoreError> {
        let requeued = self.requeue_dead(thread).await?;
        Ok(requeued + self.enqueue(thread, None).await?)
    }

    /// Queues the readable messages of a tenant and its memories for the collection with
    /// this number alone, as [`IndexStore::enqueue_all`] does; nothing if it receives no
    /// changes.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn fill(self, collection: i32) -> Result<i64, StoreError> {
        self.enqueue(None, Some(collection)).await
    }

    async fn enqueue(
        self,
        thread: Option<ThreadId>,
        collection: Option<i32>,
    ) -> Result<i64, StoreError> {
        let tenant = &self.caller.tenant;
        let mut queued = 0;
        if thread.is_none() {
            queued += self
                .store
                .memories(self.caller)
                .enqueue_memories(collection)
                .await?;
        }
        let last_thread = thread.map_or(Uuid::max(), ThreadId::uuid);
        let noted_thread = thread.map(ThreadId::uuid);
        let (mut after_thread, mut after_seq) = (thread.map_or(Uuid::nil(), ThreadId::uuid), 0_i64);
        loop {
            let params: Params<'_> = &[
                &tenant.as_str(),
                &after_thread,
                &after_seq,
                &last_thread,
                &ENQUEUE_PAGE,
                &noted_thread,
                &collection,
            ];
            let rows = self
                .store
                .pool
                .within(self.caller, query!("outbox/enqueue_page"), params)
                .await?;
            let Some(row) = rows.first() else {
                return Ok(queued);
            };
            queued += column::<i64>(row, "queued_count")?;
            after_thread = column(row, "thread_id")?;
            after_seq = column(row, "seq")?;
        }
    }

    /// Queues the dead letters of a tenant, or of one of its threads, once
    /// more. Returns how many there were.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn requeue_dead(self, thread: Option<ThreadId>) -> Result<i64, StoreError> {
        let tenant = &self.caller.tenant;
        let params: Params<'_> = &[&tenant.as_str(), &thread.map(ThreadId::uuid)];
        let row = only(
            self.store
                .pool
                .within(self.caller, query!("outbox/requeue_dead"), params)
                .await?,
        )?;
        column(&row, "requeued_count")
    }

    /// How far the index is behind the tenant's messages.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn outbox_stats(self) -> Result<OutboxStats, StoreError> {
        let tenant = &self.caller.tenant;
        let params: Params<'_> = &[&tenant.as_str()];
        read_stats(&only(
            self.store
                .pool
                .within(self.caller, query!("outbox/tenant_stats"), params)
                .await?,
        )?)
    }

    /// Lists a tenant's dead letters, the one that failed last first, after
    /// the `next` of the page before.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn list_dead(
        self,
        after: Option<i64>,
        limit: u32,
    ) -> Result<Page<DeadLetter, i64>, StoreError> {
        let tenant = &self.caller.tenant;
        let params: Params<'_> = &[
            &tenant.as_str(),
            &after.unwrap_or(i64::MAX),
            &one_more(limit),
        ];
        let found = self
            .store
            .pool
            .within(self.caller, query!("outbox/list_dead"), params)
            .await?;
        let letters = found
            .iter()
            .map(|row| {
                let thread = rows::id(row, "thread_id")?;
                let id: Option<Uuid> = column(row, "message_id")?;
                let subject = match (column(row, "kind")?, id) {
                    ("memory", Some(id)) => DeadSubject::Memory(id.into()),
                    (_, Some(id)) => DeadSubject::Message(thread, id.into()),
                    (_, None) => DeadSubject::Thread(thread),
                };
                let letter = DeadLetter {
                    subject,
                    attempts: column(row, "attempts")?,
                    error: column(row, "last_error")?,
                    failed: column(row, "dead_at")?,
                };
                Ok((column(row, "dead_order")?, letter))
            })
            .collect::<Result<_, StoreError>>()?;
        Ok(Page::cut(letters, limit))
    }
}

/// A row of `messages/index_records`.
struct Row {
    message: Message,
    app: AppId,
    user: UserId,
    thread_ordinal: i64,
    /// It was asked for, and is not only the context of another.
    wanted: bool,
    readable: bool,
}

fn read_row(row: &tokio_postgres::Row) -> Result<Row, StoreError> {
    Ok(Row {
        message: read_message(row)?,
        app: AppId::new(column::<String>(row, "app_id")?),
        user: UserId::new(column::<String>(row, "user_id")?),
        thread_ordinal: column(row, "ordinal")?,
        wanted: column(row, "wanted")?,
        readable: column(row, "readable")?,
    })
}

fn previous(row: &Row, by_id: &HashMap<MessageId, &Row>) -> Vec<Message> {
    std::iter::successors(Some(row), |row| by_id.get(&row.message.parent?).copied())
        .skip(1)
        .take(CONTEXT as usize)
        .filter(|row| row.readable)
        .map(|row| row.message.clone())
        .collect()
}
