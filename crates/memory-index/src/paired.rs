//! Two indexes, of which one serves, while the embedding model is changed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use memory_contract::TenantId;

use crate::backend::Backend;
use crate::candidate::{Candidates, Search};
use crate::error::IndexError;
use crate::filter::Selection;
use crate::index::{Index, IndexState, IndexStatus, Prepared};
use crate::point::Change;
use crate::schema::IndexSchema;
use crate::word_counts::WordCounts;

/// Which of two indexes serves. Clones share it. Default: the first.
#[derive(Clone, Debug, Default)]
pub struct ServingPlace(Arc<AtomicBool>);

impl ServingPlace {
    /// 0 for the first, 1 for the next one.
    pub fn get(&self) -> usize {
        usize::from(self.0.load(Ordering::Relaxed))
    }

    /// Chooses the first, or the next one.
    pub fn set(&self, next: bool) {
        self.0.store(next, Ordering::Relaxed);
    }
}

/// The two indexes of a change of the embedding model, as one: it is the serving one, except
/// that points are erased and counted in both.
pub struct PairedIndex {
    both: [Arc<dyn Index>; 2],
    serving: ServingPlace,
}

impl PairedIndex {
    /// The first index and the next one, and which of them serves.
    pub fn new(both: [Arc<dyn Index>; 2], serving: ServingPlace) -> Self {
        Self { both, serving }
    }

    fn serving(&self) -> &Arc<dyn Index> {
        &self.both[self.serving.get()]
    }

    /// The indexes in which points have to be erased and counted: a Qdrant index does so in
    /// all collections.
    fn with_points(&self) -> Vec<&Arc<dyn Index>> {
        let serving = self.serving();
        let other = &self.both[1 - self.serving.get()];
        match serving.backend() {
            Backend::Edge if !other.is_discarded() => vec![serving, other],
            Backend::Edge | Backend::Qdrant => vec![serving],
        }
    }
}

#[async_trait]
impl Index for PairedIndex {
    fn backend(&self) -> Backend {
        self.serving().backend()
    }

    fn schema(&self) -> &IndexSchema {
        self.serving().schema()
    }

    async fn prepare(&self) -> Result<Prepared, IndexError> {
        self.serving().prepare().await
    }

    async fn apply(&self, changes: Vec<Change>) -> Result<(), IndexError> {
        self.serving().apply(changes).await
    }

    async fn search(&self, search: Search) -> Result<Candidates, IndexError> {
        self.serving().search(search).await
    }

    async fn names(&self, selection: &Selection, limit: usize) -> Result<Vec<String>, IndexError> {
        self.serving().names(selection, limit).await
    }

    async fn word_counts(&self, tenant: &TenantId, most: usize) -> Result<WordCounts, IndexError> {
        self.serving().word_counts(tenant, most).await
    }

    async fn mark_rebuilding(&self, rebuilding: bool) -> Result<(), IndexError> {
        self.serving().mark_rebuilding(rebuilding).await
    }

    async fn erase(&self, selection: &Selection) -> Result<(), IndexError> {
        for index in self.with_points() {
            index.erase(selection).await?;
        }
        Ok(())
    }

    async fn count(&self, selection: &Selection) -> Result<u64, IndexError> {
        let mut count = 0;
        for index in self.with_points() {
            count += index.count(selection).await?;
        }
        Ok(count)
    }

    async fn discard(&self, collection: &str) -> Result<(), IndexError> {
        let open = self
            .both
            .iter()
            .find(|index| index.schema().collection() == collection);
        open.unwrap_or(self.serving()).discard(collection).await
    }

    async fn publish(&self) -> Result<(), IndexError> {
        self.serving().publish().await
    }

    async fn status(&self, tenant: &TenantId) -> IndexStatus {
        self.serving().status(tenant).await
    }

    fn last_state(&self) -> IndexState {
        self.serving().last_state()
    }

    fn permanent_error(&self) -> Option<&str> {
        self.serving().permanent_error()
    }

    async fn stop(&self) {
        for index in &self.both {
            index.stop().await;
        }
    }
}
