//! Replaces the index when its embedding model is missing.

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

/// Stands in for an index whose embedding model is missing. Every operation fails with
/// [`IndexError::NoModel`], so recall falls back to Postgres, and the server
/// can serve the rest.
pub struct UnavailableIndex {
    backend: Backend,
    schema: IndexSchema,
    permanent_error: String,
}

impl UnavailableIndex {
    /// A stand-in for an index of this backend. `permanent_error` names the
    /// problem and its remedy.
    pub fn new(backend: Backend, permanent_error: impl Into<String>) -> Self {
        Self {
            backend,
            schema: IndexSchema::new("unavailable", None),
            permanent_error: permanent_error.into(),
        }
    }

    fn refuse<T>(&self) -> Result<T, IndexError> {
        Err(IndexError::NoModel {
            backend: self.backend,
        })
    }
}

#[async_trait]
impl Index for UnavailableIndex {
    fn backend(&self) -> Backend {
        self.backend
    }

    fn schema(&self) -> &IndexSchema {
        &self.schema
    }

    async fn prepare(&self) -> Result<Prepared, IndexError> {
        self.refuse()
    }

    async fn apply(&self, _changes: Vec<Change>) -> Result<(), IndexError> {
        self.refuse()
    }

    async fn search(&self, _search: Search) -> Result<Candidates, IndexError> {
        self.refuse()
    }

    async fn names(
        &self,
        _selection: &Selection,
        _limit: usize,
    ) -> Result<Vec<String>, IndexError> {
        self.refuse()
    }

    async fn word_counts(
        &self,
        _tenant: &TenantId,
        _most: usize,
    ) -> Result<WordCounts, IndexError> {
        self.refuse()
    }

    async fn mark_rebuilding(&self, _rebuilding: bool) -> Result<(), IndexError> {
        self.refuse()
    }

    async fn erase(&self, _selection: &Selection) -> Result<(), IndexError> {
        self.refuse()
    }

    async fn count(&self, _selection: &Selection) -> Result<u64, IndexError> {
        self.refuse()
    }

    async fn discard(&self, _collection: &str) -> Result<(), IndexError> {
        self.refuse()
    }

    async fn status(&self, _tenant: &TenantId) -> IndexStatus {
        IndexStatus {
            state: IndexState::Unavailable,
            collection: String::new(),
            points: 0,
        }
    }

    fn last_state(&self) -> IndexState {
        IndexState::Unavailable
    }

    fn permanent_error(&self) -> Option<&str> {
        Some(&self.permanent_error)
    }

    async fn stop(&self) {}
}
