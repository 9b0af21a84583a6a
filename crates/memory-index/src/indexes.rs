//! The indexes of a process: one, or two while the embedding model is changed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::backend::Backend;
use crate::error::IndexError;
use crate::filter::Selection;
use crate::index::Index;

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

/// The index of the embedding model, and that of the model to change to, if there is one. Clones
/// share which of them serves.
#[derive(Clone)]
pub struct Indexes {
    first: Arc<dyn Index>,
    next: Option<Arc<dyn Index>>,
    place: ServingPlace,
}

impl Indexes {
    /// The first one serves until the place is set.
    pub fn new(first: Arc<dyn Index>, next: Option<Arc<dyn Index>>) -> Self {
        let place = ServingPlace::default();
        Self { first, next, place }
    }

    /// Which of them serves.
    pub fn place(&self) -> &ServingPlace {
        &self.place
    }

    /// The index that serves.
    pub fn serving(&self) -> &Arc<dyn Index> {
        match &self.next {
            Some(next) if self.place.get() == 1 => next,
            _ => &self.first,
        }
    }

    /// Each of them, in the order of their places.
    pub fn each(&self) -> impl Iterator<Item = &Arc<dyn Index>> {
        [&self.first].into_iter().chain(&self.next)
    }

    /// Erases the selected points from all of them.
    ///
    /// # Errors
    /// As [`Index::erase`].
    pub async fn erase(&self, selection: &Selection) -> Result<(), IndexError> {
        for index in self.with_points() {
            index.erase(selection).await?;
        }
        Ok(())
    }

    /// Counts the selected points in all of them.
    ///
    /// # Errors
    /// As [`Index::count`].
    pub async fn count(&self, selection: &Selection) -> Result<u64, IndexError> {
        let mut count = 0;
        for index in self.with_points() {
            count += index.count(selection).await?;
        }
        Ok(count)
    }

    /// Removes a collection of any name, as [`Index::discard`] does.
    ///
    /// # Errors
    /// As [`Index::discard`].
    pub async fn discard(&self, collection: &str) -> Result<(), IndexError> {
        let open = self
            .each()
            .find(|index| index.schema().collection() == collection);
        open.unwrap_or(self.serving()).discard(collection).await
    }

    /// Writes pending changes and closes all of them.
    pub async fn stop(&self) {
        for index in self.each() {
            index.stop().await;
        }
    }

    /// The indexes in which points have to be erased and counted: a Qdrant index does so in
    /// all collections.
    fn with_points(&self) -> Vec<&Arc<dyn Index>> {
        let serving = self.serving();
        match serving.backend() {
            Backend::Edge => self
                .each()
                .filter(|index| Arc::ptr_eq(index, serving) || !index.is_discarded())
                .collect(),
            Backend::Qdrant => vec![serving],
        }
    }
}
