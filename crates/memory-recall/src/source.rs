//! What recall and indexing need of the store. Traits, so that both can be
//! tested against a store that fails on purpose.

use std::collections::HashSet;
use std::time::Duration;

use async_trait::async_trait;
use memory_contract::{
    Memory, MemoryFilter, MemoryId, MemoryOwner, MessageFilter, MessageId, TenantId, Thread,
    ThreadId,
};
use memory_store::{
    Claim, Failure, Freshness, Hydrated, IndexRecord, LeaseId, MemoryMatch, MemoryRecord, Neighbor,
    OutboxStats, Recent, Revision, Scope, Store, StoreError, TextMatch,
};

/// What recall reads from the store, which implements it. The methods are those
/// of [`Store`] of the same names.
#[async_trait]
pub trait Source: Send + Sync + 'static {
    /// A thread.
    async fn thread(&self, tenant: &TenantId, thread: ThreadId) -> Result<Thread, StoreError>;

    /// A thread with the newest messages of its active path.
    async fn recent(
        &self,
        tenant: &TenantId,
        thread: ThreadId,
        limit: u32,
    ) -> Result<Recent, StoreError>;

    /// Those of the messages that may be read within the scope, in any order.
    async fn hydrate(
        &self,
        tenant: &TenantId,
        scope: &Scope,
        head: Option<MessageId>,
        ids: &[MessageId],
    ) -> Result<Vec<Hydrated>, StoreError>;

    /// The readable messages around each anchor.
    async fn neighbors(
        &self,
        tenant: &TenantId,
        scope: &Scope,
        head: Option<MessageId>,
        anchors: &[MessageId],
        before: u32,
        after: u32,
    ) -> Result<Vec<Neighbor>, StoreError>;

    /// The best matches by word that the store finds by itself.
    async fn search_text(
        &self,
        tenant: &TenantId,
        scope: &Scope,
        query: &str,
        filter: &MessageFilter,
        limit: u32,
    ) -> Result<Vec<TextMatch>, StoreError>;

    /// Those of the memories of a user that a filter keeps, in any order.
    async fn hydrate_memories(
        &self,
        tenant: &TenantId,
        owner: &MemoryOwner,
        filter: &MemoryFilter,
        ids: &[MemoryId],
    ) -> Result<Vec<Memory>, StoreError>;

    /// The best matches by word among a user's memories that the store finds by
    /// itself.
    async fn search_memories(
        &self,
        tenant: &TenantId,
        owner: &MemoryOwner,
        query: &str,
        filter: &MemoryFilter,
        limit: u32,
    ) -> Result<Vec<MemoryMatch>, StoreError>;

    /// Notes that memories were returned. It does not wait.
    fn memories_used(&self, tenant: &TenantId, memories: &[&Memory]);

    /// Whether a thread is in memory alone: the index does not know it, and
    /// [`Source::search_text`] finds all that can be found in it.
    fn is_ephemeral(&self, _tenant: &TenantId, _thread: ThreadId) -> bool {
        false
    }

    /// Whether the index has reached a revision.
    async fn freshness(
        &self,
        tenant: &TenantId,
        revision: &Revision,
    ) -> Result<Freshness, StoreError>;
}

/// What the indexer reads and writes in the store, over all tenants.
/// [`StoreOutbox`] implements it.
#[async_trait]
pub trait Outbox: Send + Sync + 'static {
    /// Takes up to `limit` changes for the time of a lease, the oldest first.
    async fn claim(&self, limit: u32, lease: Duration) -> Result<Claim, StoreError>;

    /// Loads messages of a tenant with what the text recipe needs. Those that
    /// cannot be read any more are left out.
    async fn records(
        &self,
        tenant: &TenantId,
        ids: &[MessageId],
    ) -> Result<Vec<IndexRecord>, StoreError>;

    /// Those of the messages that can still be read.
    async fn readable(
        &self,
        tenant: &TenantId,
        ids: &[MessageId],
    ) -> Result<HashSet<MessageId>, StoreError>;

    /// Loads memories of a tenant. Those that are not there any more are left out.
    async fn memory_records(
        &self,
        tenant: &TenantId,
        ids: &[MemoryId],
    ) -> Result<Vec<MemoryRecord>, StoreError>;

    /// Those of the memories that are still there.
    async fn present_memories(
        &self,
        tenant: &TenantId,
        ids: &[MemoryId],
    ) -> Result<HashSet<MemoryId>, StoreError>;

    /// Notes that the index has learnt memories, each in the state of a version.
    /// Idempotent.
    async fn memories_persisted(
        &self,
        tenant: &TenantId,
        memories: &[(MemoryId, i64)],
    ) -> Result<(), StoreError>;

    /// Strikes changes off that the lease still holds.
    async fn ack(&self, lease: LeaseId, ids: &[i64]) -> Result<(), StoreError>;

    /// Gives changes back for a later try, or gives them up after
    /// `max_attempts`. Tells how many were given up.
    async fn retry(
        &self,
        lease: LeaseId,
        failures: &[Failure],
        max_attempts: i32,
    ) -> Result<u64, StoreError>;

    /// Gives changes back at once; the try does not count.
    async fn release(&self, lease: LeaseId, ids: &[i64]) -> Result<(), StoreError>;

    /// How far the index is behind, over all tenants.
    async fn stats(&self) -> Result<OutboxStats, StoreError>;

    /// Queues every message and memory of every tenant once more, and tells how
    /// many.
    async fn enqueue_everything(&self) -> Result<u64, StoreError>;
}

/// The store as the indexer sees it: the queue of all tenants, and the messages
/// of each.
#[derive(Clone)]
pub struct StoreOutbox {
    outbox: memory_store::Outbox,
    store: Store,
}

impl StoreOutbox {
    /// Over the workers' queue and the store.
    pub fn new(outbox: memory_store::Outbox, store: Store) -> Self {
        Self { outbox, store }
    }
}

#[async_trait]
impl Source for Store {
    async fn thread(&self, tenant: &TenantId, thread: ThreadId) -> Result<Thread, StoreError> {
        self.get_thread(tenant, thread).await
    }

    async fn recent(
        &self,
        tenant: &TenantId,
        thread: ThreadId,
        limit: u32,
    ) -> Result<Recent, StoreError> {
        Store::recent(self, tenant, thread, limit).await
    }

    async fn hydrate(
        &self,
        tenant: &TenantId,
        scope: &Scope,
        head: Option<MessageId>,
        ids: &[MessageId],
    ) -> Result<Vec<Hydrated>, StoreError> {
        Store::hydrate(self, tenant, scope, head, ids).await
    }

    async fn neighbors(
        &self,
        tenant: &TenantId,
        scope: &Scope,
        head: Option<MessageId>,
        anchors: &[MessageId],
        before: u32,
        after: u32,
    ) -> Result<Vec<Neighbor>, StoreError> {
        Store::neighbors(self, tenant, scope, head, anchors, before, after).await
    }

    async fn search_text(
        &self,
        tenant: &TenantId,
        scope: &Scope,
        query: &str,
        filter: &MessageFilter,
        limit: u32,
    ) -> Result<Vec<TextMatch>, StoreError> {
        Store::search_text(self, tenant, scope, query, filter, limit).await
    }

    async fn hydrate_memories(
        &self,
        tenant: &TenantId,
        owner: &MemoryOwner,
        filter: &MemoryFilter,
        ids: &[MemoryId],
    ) -> Result<Vec<Memory>, StoreError> {
        Store::hydrate_memories(self, tenant, owner, filter, ids).await
    }

    async fn search_memories(
        &self,
        tenant: &TenantId,
        owner: &MemoryOwner,
        query: &str,
        filter: &MemoryFilter,
        limit: u32,
    ) -> Result<Vec<MemoryMatch>, StoreError> {
        Store::search_memories(self, tenant, owner, query, filter, limit).await
    }

    fn memories_used(&self, tenant: &TenantId, memories: &[&Memory]) {
        Store::memories_used(self, tenant, memories.iter().copied());
    }

    fn is_ephemeral(&self, tenant: &TenantId, thread: ThreadId) -> bool {
        Store::is_ephemeral(self, tenant, thread)
    }

    async fn freshness(
        &self,
        tenant: &TenantId,
        revision: &Revision,
    ) -> Result<Freshness, StoreError> {
        Store::freshness(self, tenant, revision).await
    }
}

/// Tenants asked for at a time.
const TENANTS: u32 = 100;

#[async_trait]
impl Outbox for StoreOutbox {
    async fn claim(&self, limit: u32, lease: Duration) -> Result<Claim, StoreError> {
        self.outbox.claim(limit, lease).await
    }

    async fn records(
        &self,
        tenant: &TenantId,
        ids: &[MessageId],
    ) -> Result<Vec<IndexRecord>, StoreError> {
        self.store.index_records(tenant, ids).await
    }

    async fn readable(
        &self,
        tenant: &TenantId,
        ids: &[MessageId],
    ) -> Result<HashSet<MessageId>, StoreError> {
        self.store.readable(tenant, ids).await
    }

    async fn memory_records(
        &self,
        tenant: &TenantId,
        ids: &[MemoryId],
    ) -> Result<Vec<MemoryRecord>, StoreError> {
        self.store.memory_records(tenant, ids).await
    }

    async fn present_memories(
        &self,
        tenant: &TenantId,
        ids: &[MemoryId],
    ) -> Result<HashSet<MemoryId>, StoreError> {
        self.store.present_memories(tenant, ids).await
    }

    async fn memories_persisted(
        &self,
        tenant: &TenantId,
        memories: &[(MemoryId, i64)],
    ) -> Result<(), StoreError> {
        self.store.memories_persisted(tenant, memories).await
    }

    async fn ack(&self, lease: LeaseId, ids: &[i64]) -> Result<(), StoreError> {
        self.outbox.ack(lease, ids).await.map(drop)
    }

    async fn retry(
        &self,
        lease: LeaseId,
        failures: &[Failure],
        max_attempts: i32,
    ) -> Result<u64, StoreError> {
        self.outbox.retry(lease, failures, max_attempts).await
    }

    async fn release(&self, lease: LeaseId, ids: &[i64]) -> Result<(), StoreError> {
        self.outbox.release(lease, ids).await.map(drop)
    }

    async fn stats(&self) -> Result<OutboxStats, StoreError> {
        self.outbox.stats().await
    }

    async fn enqueue_everything(&self) -> Result<u64, StoreError> {
        let mut queued = 0;
        let mut after = None;
        loop {
            let tenants = self.outbox.tenants(after.as_ref(), TENANTS).await?;
            for tenant in &tenants {
                let count = self.store.enqueue_all(tenant, None).await?;
                queued += u64::try_from(count).unwrap_or_default();
            }
            match tenants.into_iter().next_back() {
                Some(last) => after = Some(last),
                None => return Ok(queued),
            }
        }
    }
}
