//! What the searches of one index share.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use memory_embed::Embedder;
use memory_index::{Index, IndexerHandle};
use memory_store::Store;

use super::embeddings::QueryEmbeddings;
use super::names::Names;
use super::waiting::WaitingChanges;
use super::word_weights::WordWeights;
use crate::config::SearchConfig;

/// Matches that one search by word in Postgres returns at most.
pub(super) const TEXT_MATCHES: u32 = 100;

/// Searches one index with its embedding model.
pub(super) struct Searcher {
    pub(super) store: Store,
    pub(super) index: Arc<dyn Index>,
    pub(super) embedder: Option<Embedder>,
    pub(super) embeddings: Arc<QueryEmbeddings>,
    pub(super) indexer: Option<IndexerHandle>,
    pub(super) config: SearchConfig,
    pub(super) names: Names,
    pub(super) word_weights: WordWeights,
    pub(super) waiting: WaitingChanges,
    pub(super) state_checked: Mutex<Option<Instant>>,
    /// When queries first found the index unavailable; `None` while it answers.
    pub(super) unavailable_since: Mutex<Option<Instant>>,
}

impl Searcher {
    pub(super) fn new(
        store: Store,
        index: Arc<dyn Index>,
        embedder: Option<Embedder>,
        indexer: Option<IndexerHandle>,
        config: SearchConfig,
    ) -> Self {
        Self {
            names: Names::new(Arc::clone(&index)),
            word_weights: WordWeights::new(Arc::clone(&index)),
            waiting: WaitingChanges::new(),
            store,
            index,
            embedder,
            embeddings: Arc::default(),
            indexer,
            config,
            state_checked: Mutex::default(),
            unavailable_since: Mutex::default(),
        }
    }
}
