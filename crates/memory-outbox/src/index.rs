//! Queues messages and memories for the indexer, for one tenant at a time.

use memory_contract::ThreadId;
use memory_database::{
    Page, StoreError,
    page::one_more,
    rows::{self, column, only},
};
use memory_postgres::{Params, query};
use uuid::Uuid;

use super::queue::read_stats;
use crate::{DeadLetter, DeadSubject, IndexStore, OutboxStats};

/// Messages or memories that one statement queues.
const ENQUEUE_PAGE: i64 = 5_000;

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
            queued += self.enqueue_memories(collection).await?;
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

    /// Queues the memories of a tenant for indexing; a memory that waits already is not queued
    /// twice. Returns how many were queued.
    async fn enqueue_memories(self, collection: Option<i32>) -> Result<i64, StoreError> {
        let tenant = &self.caller.tenant;
        let (mut queued, mut after) = (0, 0_i64);
        if !self.store.remembers {
            return Ok(queued);
        }
        loop {
            let params: Params<'_> = &[&tenant.as_str(), &after, &ENQUEUE_PAGE, &collection];
            let rows = self
                .store
                .pool
                .within(self.caller, query!("outbox/enqueue_memories"), params)
                .await?;
            let Some(row) = rows.first() else {
                return Ok(queued);
            };
            queued += column::<i64>(row, "queued_count")?;
            after = column(row, "ordinal")?;
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
