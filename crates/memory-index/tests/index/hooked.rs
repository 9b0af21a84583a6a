//! An index that lets a test act in the middle of a write.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use futures::future::BoxFuture;
use memory_contract::TenantId;
use memory_index::{
    Backend, Candidates, Change, Index, IndexError, IndexSchema, IndexState, IndexStatus, Prepared,
    Search, Selection, WordCounts,
};

/// Is given the number of calls so far.
type Hook = Box<dyn Fn(usize) -> BoxFuture<'static, ()> + Send + Sync>;

/// An index with hooks before each write and after each preparation.
pub struct Hooked {
    inner: Arc<dyn Index>,
    writes: AtomicUsize,
    before_write: Hook,
    /// The most changes of one write so far, and how many it takes at most.
    largest: AtomicUsize,
    most: AtomicUsize,
    preparations: AtomicUsize,
    after_prepare: Hook,
    fills: AtomicUsize,
    closes_at: AtomicUsize,
    /// Until it is prepared.
    closed: AtomicBool,
    /// The tenant whose words are not counted beyond so many points, and whether that was tried.
    uncounted: OnceLock<(TenantId, usize)>,
    counts_waiting: AtomicBool,
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
            largest: AtomicUsize::new(0),
            most: AtomicUsize::new(usize::MAX),
            preparations: AtomicUsize::new(0),
            after_prepare: Box::new(|_| Box::pin(async {})),
            fills: AtomicUsize::new(0),
            closes_at: AtomicUsize::new(usize::MAX),
            closed: AtomicBool::new(false),
            uncounted: OnceLock::new(),
            counts_waiting: AtomicBool::new(false),
        })
    }

    pub fn after_prepare(
        inner: Arc<dyn Index>,
        after_prepare: impl Fn(usize) -> BoxFuture<'static, ()> + Send + Sync + 'static,
    ) -> Arc<Self> {
        let mut hooked = Self::new(inner, |_| Box::pin(async {}));
        Arc::get_mut(&mut hooked).unwrap().after_prepare = Box::new(after_prepare);
        hooked
    }

    /// Closes the index at the write with this number, as after a failed replacement of the
    /// engine.
    pub fn close_at(&self, write: usize) {
        self.closes_at.store(write, Ordering::Relaxed);
    }

    /// Lets counts of more points of a tenant wait without end.
    pub fn count_at_most(&self, tenant: TenantId, points: usize) {
        self.uncounted.set((tenant, points)).unwrap();
    }

    /// Whether such counts wait.
    pub fn do_counts_wait(&self) -> bool {
        self.counts_waiting.load(Ordering::Relaxed)
    }

    /// How often everything was queued for it.
    pub fn fills(&self) -> usize {
        self.fills.load(Ordering::Relaxed)
    }

    /// Fails writes of more changes, as an index does that limits the rate of writes.
    pub fn take_at_most(&self, changes: usize) {
        self.most.store(changes, Ordering::Relaxed);
    }

    /// The most changes of one write so far.
    pub fn largest(&self) -> usize {
        self.largest.load(Ordering::Relaxed)
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
    async fn prepare(&self) -> Result<Prepared, IndexError> {
        let prepared = self.inner.prepare().await?;
        self.closed.store(false, Ordering::Relaxed);
        let preparations = self.preparations.fetch_add(1, Ordering::Relaxed);
        (self.after_prepare)(preparations).await;
        Ok(prepared)
    }
    async fn apply(&self, changes: Vec<Change>) -> Result<(), IndexError> {
        let writes = self.writes.fetch_add(1, Ordering::Relaxed);
        (self.before_write)(writes).await;
        if writes == self.closes_at.load(Ordering::Relaxed) {
            self.closed.store(true, Ordering::Relaxed);
        }
        self.largest.fetch_max(changes.len(), Ordering::Relaxed);
        let problem = if self.closed.load(Ordering::Relaxed) {
            Some("it is not open")
        } else {
            let too_many = changes.len() > self.most.load(Ordering::Relaxed);
            too_many.then_some("these are too many changes")
        };
        if let Some(problem) = problem {
            return Err(IndexError::Unavailable {
                backend: self.backend(),
                source: problem.into(),
            });
        }
        self.inner.apply(changes).await
    }
    async fn search(&self, search: Search) -> Result<Candidates, IndexError> {
        self.inner.search(search).await
    }
    async fn names(&self, selection: &Selection, limit: usize) -> Result<Vec<String>, IndexError> {
        self.inner.names(selection, limit).await
    }
    async fn word_counts(&self, tenant: &TenantId, most: usize) -> Result<WordCounts, IndexError> {
        let uncounted = self.uncounted.get();
        if uncounted.is_some_and(|(slow, points)| slow == tenant && most > *points) {
            self.counts_waiting.store(true, Ordering::Relaxed);
            std::future::pending::<()>().await;
        }
        self.inner.word_counts(tenant, most).await
    }
    async fn mark_rebuilding(&self, rebuilding: bool) -> Result<(), IndexError> {
        self.fills
            .fetch_add(usize::from(rebuilding), Ordering::Relaxed);
        self.inner.mark_rebuilding(rebuilding).await
    }
    async fn erase(&self, selection: &Selection) -> Result<(), IndexError> {
        self.inner.erase(selection).await
    }
    async fn count(&self, selection: &Selection) -> Result<u64, IndexError> {
        self.inner.count(selection).await
    }
    async fn discard(&self, collection: &str) -> Result<(), IndexError> {
        self.inner.discard(collection).await
    }
    async fn status(&self, tenant: &TenantId) -> IndexStatus {
        self.inner.status(tenant).await
    }
    fn last_state(&self) -> IndexState {
        if self.closed.load(Ordering::Relaxed) {
            return IndexState::Unavailable;
        }
        self.inner.last_state()
    }
    async fn stop(&self) {
        self.inner.stop().await;
    }
}
