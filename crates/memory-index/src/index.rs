//! The vector index: one trait, which both backends implement.

use async_trait::async_trait;
use memory_contract::TenantId;

use crate::backend::Backend;
use crate::candidate::{Candidates, Search};
use crate::error::IndexError;
use crate::filter::Selection;
use crate::point::Change;
use crate::schema::IndexSchema;
use crate::word_counts::WordCounts;

/// A vector index with the points of all tenants. Every method may be called at any
/// time and from any task.
#[async_trait]
pub trait Index: Send + Sync + 'static {
    /// The backend that keeps the points.
    fn backend(&self) -> Backend;

    /// The model and text recipe of the points.
    fn schema(&self) -> &IndexSchema;

    /// Creates the collection, its payload indexes and the alias, unless they exist.
    /// Returns whether the points have to be written again because the collection is
    /// new or was lost. Idempotent.
    ///
    /// # Errors
    /// [`IndexError::Unavailable`], [`IndexError::Timeout`],
    /// [`IndexError::Refused`].
    async fn prepare(&self) -> Result<Prepared, IndexError>;

    /// Applies changes in order. When it returns, they are durable and visible to every
    /// later search. After an error some may have been applied; each is idempotent.
    ///
    /// # Errors
    /// As [`Index::prepare`], and [`IndexError::Dimensions`].
    async fn apply(&self, changes: Vec<Change>) -> Result<(), IndexError>;

    /// Finds candidates by dense vector, by sparse vector, or by both in one request.
    ///
    /// # Errors
    /// As [`Index::apply`].
    async fn search(&self, search: Search) -> Result<Candidates, IndexError>;

    /// Whether one search by both costs much less than one by each. Otherwise it is faster to search
    /// by words before the dense vector is known.
    fn searches_at_once(&self) -> bool {
        false
    }

    /// The speakers' names of the selected points, the most frequent first, at most
    /// `limit`. Counts may be approximate.
    ///
    /// # Errors
    /// As [`Index::prepare`].
    async fn names(&self, selection: &Selection, limit: usize) -> Result<Vec<String>, IndexError>;

    /// Counts how many of a tenant's points have each word, for the weights of
    /// [`Search::lexical`]: of `most` points, or of all if there are fewer.
    ///
    /// # Errors
    /// As [`Index::prepare`].
    async fn word_counts(&self, tenant: &TenantId, most: usize) -> Result<WordCounts, IndexError>;

    /// Marks the index as being rebuilt or as complete. Until the first mark
    /// [`Index::prepare`] returns [`Prepared::New`]. The mark is durable.
    ///
    /// # Errors
    /// As [`Index::prepare`].
    async fn mark_rebuilding(&self, rebuilding: bool) -> Result<(), IndexError>;

    /// Erases the selected points from every index, also from the indexes of former models, and from
    /// the files as far as the backend can.
    ///
    /// # Errors
    /// As [`Index::prepare`].
    async fn erase(&self, selection: &Selection) -> Result<(), IndexError>;

    /// Counts the selected points in every index, also in the indexes of former models.
    ///
    /// # Errors
    /// As [`Index::prepare`].
    async fn count(&self, selection: &Selection) -> Result<u64, IndexError>;

    /// Removes a collection with all its points: this one, which [`Index::prepare`] then
    /// creates anew, or one that no index of this process uses. Idempotent.
    ///
    /// # Errors
    /// As [`Index::prepare`].
    async fn discard(&self, collection: &str) -> Result<(), IndexError>;

    /// Whether the collection was discarded and not prepared again.
    fn is_discarded(&self) -> bool {
        false
    }

    /// Points Qdrant's alias to this collection, for people who look: it serves. No search depends on
    /// the alias.
    ///
    /// # Errors
    /// As [`Index::prepare`].
    async fn publish(&self) -> Result<(), IndexError> {
        Ok(())
    }

    /// Asks the index for its state and the number of the tenant's points. An index
    /// that does not answer is [`IndexState::Unavailable`], not an error.
    async fn status(&self, tenant: &TenantId) -> IndexStatus;

    /// The state at the last answer, without asking the index.
    fn last_state(&self) -> IndexState;

    /// Why the index will never answer, and the remedy; `None` if it may answer.
    fn permanent_error(&self) -> Option<&str> {
        None
    }

    /// Writes pending changes and closes the index. Later calls fail.
    async fn stop(&self);
}

/// The result of [`Index::prepare`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prepared {
    /// The collection is complete.
    Whole,
    /// A rebuild of the collection has not ended.
    Rebuilding,
    /// The collection is new or was lost; every message and memory has to be queued.
    New,
}

/// Whether an index answers, and completely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexState {
    /// It answers, and its points are complete.
    Ready,
    /// It is being rebuilt, and answers from the points that it has.
    Rebuilding,
    /// It does not answer.
    Unavailable,
}

/// The state and size of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexStatus {
    /// Whether it answers, and completely.
    pub state: IndexState,
    /// The name of the versioned collection.
    pub collection: String,
    /// The tenant's points; 0 if the index does not answer.
    pub points: u64,
}
