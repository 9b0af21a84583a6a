//! A query as it is put to the index.

use std::time::Duration;

use memory_index::Selection;
use memory_text::LexicalVector;

use crate::query::{Freshness, Method};

/// A query for messages or memories as it is put to the index.
pub(super) struct IndexQuery {
    /// The points that may be found.
    pub(super) selection: Selection,
    pub(super) method: Method,
    /// The most candidates of each search.
    pub(super) limit: usize,
    pub(super) freshness: Freshness,
    /// Longest wait for a revision.
    pub(super) max_wait: Duration,
    /// The text that is embedded, with "I" for the names of speakers: a name would find messages
    /// that only mention it.
    pub(super) meaning: String,
    /// The words of the query, not weighed yet.
    pub(super) words: LexicalVector,
}
