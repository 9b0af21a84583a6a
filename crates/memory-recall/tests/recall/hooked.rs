//! An index that lets a test act in the middle of a write.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use futures::future::BoxFuture;
use memory_contract::TenantId;
use memory_recall::{
    Backend, Candidates, Change, Index, IndexSchema, IndexState, IndexStatus, Prepared,
    RecallError, Search, Selection, WordCounts,
};

/// An index with a hook before each write, which is given the number of writes so far.
pub struct Hooked {
    inner: Arc<dyn Index>,
    writes: AtomicUsize,
    before_write: Box<dyn Fn(usize) -> BoxFuture<'static, ()> + Send + Sync>,
}

impl Hooked {
    pub fn new(
        inner: Arc<dyn Index>,
        before_write: impl Fn(usize) -> BoxFuture<'static, ()> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            inner,
            writes: AtomicUsize::new(0),
            before_write: Box::new(before_write),
        })
    }

    pub fn writes(&self) -> usize {
        self.writes.load(Ordering::Relaxed)
    }
}

#[async_trait]
impl Index for Hooked {
    fn backend(&self) -> Backend {
        self.inner.backend()
    }
    fn schema(&self) -> &IndexSchema {
        self.inner.schema()
    }
    async fn prepare(&self) -> Result<Prepared, RecallError> {
        self.inner.prepare().await
    }
    async fn apply(&self, changes: Vec<Change>) -> Result<(), RecallError> {
        let writes = self.writes.fetch_add(1, Ordering::Relaxed);
        (self.before_write)(writes).await;
        self.inner.apply(changes).await
    }
    async fn search(&self, search: Search) -> Result<Candidates, RecallError> {
        self.inner.search(search).await
    }
    async fn names(&self, selection: &Selection, limit: usize) -> Result<Vec<String>, RecallError> {
        self.inner.names(selection, limit).await
    }
    async fn word_counts(&self, tenant: &TenantId) -> Result<WordCounts, RecallError> {
        self.inner.word_counts(tenant).await
    }
    async fn mark_rebuilding(&self, rebuilding: bool) -> Result<(), RecallError> {
        self.inner.mark_rebuilding(rebuilding).await
    }
    async fn erase(&self, selection: &Selection) -> Result<(), RecallError> {
        self.inner.erase(selection).await
    }
    async fn count(&self, selection: &Selection) -> Result<u64, RecallError> {
        self.inner.count(selection).await
    }
    async fn discard(&self, collection: &str) -> Result<(), RecallError> {
        self.inner.discard(collection).await
    }
    async fn status(&self, tenant: &TenantId) -> IndexStatus {
        self.inner.status(tenant).await
    }
    fn last_state(&self) -> IndexState {
        self.inner.last_state()
    }
    async fn stop(&self) {
        self.inner.stop().await;
    }
}
