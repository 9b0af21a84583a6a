//! Prepares the index, and fills it if it is new.

use std::convert::Infallible;
use std::sync::PoisonError;
use std::time::Duration;

use memory_store::{Caller, CollectionState, Job};
use time::OffsetDateTime;
use tokio::time::Instant;

use super::error::IndexerError;
use super::lease::keep_extending;
use super::state::Indexer;
use crate::backend::Backend;
use crate::error::IndexError;
use crate::index::Prepared;

/// Tenants listed in one query.
const TENANTS_PAGE: u32 = 100;

/// How long one worker has for emptying a collection.
const LEASE: Duration = Duration::from_secs(120);
/// How long a worker that fills a collection may be silent until another one does it.
const FILL_LEASE: Duration = Duration::from_secs(15);

/// The role of an index that receives changes.
struct IndexRole {
    /// The number of its recorded collection; `None` if none is recorded.
    number: Option<i32>,
    /// It serves.
    serves: bool,
    /// Whether points that an earlier collection of its name left are removed.
    emptied: bool,
}

impl Indexer {
    /// Prepares the index, and queues every message and memory if it is new. A worker
    /// that dies in between leaves the index unmarked, so the next one queues again.
    /// Returns whether the index receives changes, and no other worker prepares it.
    pub(super) async fn prepare(&self) -> Result<bool, IndexerError> {
        let collection = self.index.schema().collection();
        let Some(role) = self.role().await? else {
            if self.index.backend() == Backend::Edge {
                // No other process can use it, and it would keep what is deleted from now on.
                self.index.discard(collection).await?;
            }
            return Ok(false);
        };
        if let (Some(number), false) = (role.number, role.emptied) {
            // Another worker may be about to do the same; its points must stay.
            if !self.outbox.lease_collection(number, LEASE).await? {
                return Ok(false);
            }
            if let Err(error) = self.index.discard(collection).await {
                // After a timeout Qdrant may still remove it.
                if !matches!(error, IndexError::Timeout { .. }) {
                    self.release(number).await;
                }
                return Err(error.into());
            }
            self.outbox.collection_emptied(number).await?;
        }
        self.set_prepared(role.number);
        if self.open().await? != Prepared::New {
            return Ok(true);
        }
        let Some(number) = role
            .number
            .filter(|_| self.index.backend() != Backend::Edge)
        else {
            // No other worker can find the same.
            self.fill(&role).await?;
            return Ok(true);
        };
        if !self.outbox.lease_to_fill(number, FILL_LEASE, false).await? {
            return Ok(false);
        }
        let filled = tokio::select! {
            filled = self.fill_if_new(&role) => filled,
            never = self.extend_filling(number) => match never {},
        };
        self.release(number).await;
        filled.map(|()| true)
    }

    async fn open(&self) -> Result<Prepared, IndexerError> {
        let prepared = self.index.prepare().await?;
        match prepared {
            Prepared::Whole => self.set_rebuilding(None),
            Prepared::Rebuilding => self.set_rebuilding(Some(Instant::now())),
            Prepared::New => {}
        }
        Ok(prepared)
    }

    /// Fills the index, unless the former holder of the lease has filled it.
    async fn fill_if_new(&self, role: &IndexRole) -> Result<(), IndexerError> {
        if self.open().await? == Prepared::New {
            self.fill(role).await?;
        }
        Ok(())
    }

    /// Keeps the lease of a collection that this worker fills.
    async fn extend_filling(&self, number: i32) -> Infallible {
        let extend = || self.outbox.lease_to_fill(number, FILL_LEASE, true);
        keep_extending(FILL_LEASE, extend).await
    }

    async fn release(&self, number: i32) {
        if let Err(error) = self.outbox.release_collection(number).await {
            tracing::warn!(%error, "ending a lease failed; it ends by itself");
        }
    }

    /// Queues everything for the new index. It is marked last, so that a worker that dies
    /// before leaves it new.
    async fn fill(&self, role: &IndexRole) -> Result<(), IndexerError> {
        if let Some(number) = role.number {
            self.outbox.set_queued(number, false).await?;
        }
        let queued = self.enqueue_everything(role.number).await?;
        let present = self.role().await?;
        if present.is_none_or(|present| present.number != role.number) {
            // It was recorded again meanwhile: the new collection has to be filled.
            return Ok(());
        }
        if let Some(number) = role.number {
            self.outbox.set_queued(number, true).await?;
        }
        let rebuilding = queued > 0;
        self.index.mark_rebuilding(rebuilding).await?;
        self.set_rebuilding(rebuilding.then(Instant::now));
        if rebuilding {
            let collection = self.index.schema().collection();
            tracing::info!(
                queued,
                collection,
                "the index is new; every message and memory is queued"
            );
        } else {
            self.publish().await?;
        }
        Ok(())
    }

    /// Whether the index has to be prepared again: it receives no more changes, or it was recorded
    /// again since it was prepared, and points of the earlier collection have to be removed.
    pub(super) async fn is_replaced(&self) -> Result<bool, IndexerError> {
        let prepared = *self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        let role = self.role().await?;
        Ok(role.is_none_or(|role| role.number != prepared))
    }

    fn set_prepared(&self, number: Option<i32>) {
        *self.prepared.lock().unwrap_or_else(PoisonError::into_inner) = number;
    }

    /// The role of the index; `None` if it receives no changes.
    async fn role(&self) -> Result<Option<IndexRole>, IndexerError> {
        if !self.recorded {
            return Ok(Some(IndexRole {
                number: None,
                serves: true,
                emptied: true,
            }));
        }
        let collection = self.index.schema().collection();
        let all = self.store.index_collections().await?;
        let record = all.iter().find(|record| record.name == collection);
        Ok(record.and_then(|record| {
            let serves = match record.state {
                CollectionState::Serving => true,
                CollectionState::Beside => false,
                CollectionState::Abandoned | CollectionState::Retired => return None,
            };
            Some(IndexRole {
                number: Some(record.number),
                serves,
                emptied: record.emptied,
            })
        }))
    }

    /// Publishes the index if it serves.
    async fn publish(&self) -> Result<(), IndexerError> {
        match self.role().await? {
            Some(IndexRole { serves: true, .. }) => Ok(self.index.publish().await?),
            _ => Ok(()),
        }
    }

    /// Queues every message and memory of every tenant. Returns how many were queued.
    async fn enqueue_everything(&self, collection: Option<i32>) -> Result<u64, IndexerError> {
        let mut queued = 0;
        let mut after = None;
        loop {
            let tenants = self.outbox.tenants(after.as_ref(), TENANTS_PAGE).await?;
            for tenant in &tenants {
                let caller = Caller::worker(tenant.clone());
                let of_tenant = self.store.index(&caller);
                let count = match collection {
                    Some(number) => of_tenant.fill(number).await?,
                    None => of_tenant.enqueue_all(None).await?,
                };
                queued += u64::try_from(count).unwrap_or_default();
            }
            match tenants.into_iter().next_back() {
                Some(last) => after = Some(last),
                None => return Ok(queued),
            }
        }
    }

    /// Ends a rebuild once no change waits that was queued before it began. `oldest` is
    /// the oldest change of the batch just claimed.
    pub(super) async fn end_rebuilding(&self, oldest: Option<&Job>) -> Result<(), IndexerError> {
        let since = *self
            .rebuilding
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let Some(since) = since else { return Ok(()) };
        let age = |job: &Job| OffsetDateTime::now_utc() - job.created;
        if oldest.is_some_and(|job| age(job) >= since.elapsed()) {
            return Ok(());
        }
        if self.is_replaced().await? {
            return Ok(());
        }
        let stats = self.outbox.stats().await?;
        if stats.pending == 0 || stats.lag < since.elapsed() {
            self.index.mark_rebuilding(false).await?;
            self.publish().await?;
            self.set_rebuilding(None);
            tracing::info!("the index is complete");
        }
        Ok(())
    }
}
