//! Wakes an indexer, and reports its progress.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, watch};

use super::status::IndexerStatus;

/// Wakes an [`Indexer`](crate::Indexer), waits for its progress and reads its status. Clones share it.
#[derive(Clone)]
pub struct IndexerHandle {
    wakes: Vec<Arc<Notify>>,
    /// The status of its own indexer first, then of the indexers of [`IndexerHandle::waking`].
    statuses: Vec<watch::Receiver<IndexerStatus>>,
    /// Of the same indexers, the number of queries that wait.
    waiting: Vec<watch::Sender<usize>>,
}

impl IndexerHandle {
    pub(super) fn new(
        wake: &Arc<Notify>,
        status: &watch::Sender<IndexerStatus>,
        waiting: &watch::Sender<usize>,
    ) -> Self {
        Self {
            wakes: vec![Arc::clone(wake)],
            statuses: vec![status.subscribe()],
            waiting: vec![waiting.clone()],
        }
    }

    /// Adds another indexer: the handle wakes both, and has the status of both.
    #[must_use]
    pub fn waking(mut self, other: &Self) -> Self {
        self.wakes.extend(other.wakes.iter().cloned());
        self.statuses.extend(other.statuses.iter().cloned());
        self.waiting.extend(other.waiting.iter().cloned());
        self
    }

    /// Ends the pause of an idle worker.
    pub fn wake(&self) {
        for wake in &self.wakes {
            wake.notify_one();
        }
    }

    /// Progress since the start.
    pub fn status(&self) -> IndexerStatus {
        let mut total = IndexerStatus::default();
        for status in &self.statuses {
            let IndexerStatus {
                acknowledged,
                last_error,
            } = status.borrow().clone();
            total.acknowledged += acknowledged;
            let errors = [total.last_error.take(), last_error];
            total.last_error = errors.into_iter().flatten().max_by_key(|error| error.time);
        }
        total
    }

    /// Waits until the worker has acknowledged or given up more changes, at most `limit`.
    pub async fn progress(&mut self, limit: Duration) {
        let _waiting = self
            .waiting
            .iter()
            .map(WaitingQuery::new)
            .collect::<Vec<_>>();
        let own = &mut self.statuses[0];
        let changed = tokio::time::timeout(limit, own.changed()).await;
        if let Ok(Err(_)) = changed {
            // The worker has ended; another process may index the change.
            tokio::time::sleep(limit).await;
        }
    }
}

/// A query that waits for an [`Indexer`](crate::Indexer), until it is dropped.
struct WaitingQuery(watch::Sender<usize>);

impl WaitingQuery {
    fn new(indexer: &watch::Sender<usize>) -> Self {
        indexer.send_modify(|queries| *queries += 1);
        Self(indexer.clone())
    }
}

impl Drop for WaitingQuery {
    fn drop(&mut self) {
        self.0.send_modify(|queries| *queries -= 1);
    }
}
