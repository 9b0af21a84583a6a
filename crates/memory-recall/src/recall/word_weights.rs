//! Inverse document frequencies of words.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use moka::sync::Cache;

use crate::index::{Index, LexicalVector, Search, Selection};

/// Words whose frequency is kept.
const WORDS: u64 = 65_536;
/// How long a frequency is used. It changes slowly: it is that of all documents.
const TTL: Duration = Duration::from_secs(600);
/// Most words looked up for one search; further ones count as rare.
const LOOKUPS: usize = 16;
/// How long a search waits for lookups. Words without an answer count as rare.
const LOOKUP_TIMEOUT: Duration = Duration::from_millis(50);
/// The usual BM25 weight of a word in the document that matches it best.
pub(super) const BEST_TERM_WEIGHT: f32 = 1.4;

/// Estimates inverse document frequencies, which the index applies and does not tell: the
/// score of the best match of a word alone is its frequency times a weight that varies
/// little.
pub(super) struct WordWeights {
    index: Arc<dyn Index>,
    known: Cache<u32, f32>,
}

impl WordWeights {
    pub(super) fn new(index: Arc<dyn Index>) -> Self {
        let known = Cache::builder().max_capacity(WORDS).time_to_live(TTL);
        Self {
            index,
            known: known.build(),
        }
    }

    /// The weights of words, without those that no selected document contains.
    pub(super) async fn of(&self, selection: &Selection, words: &[u32]) -> HashMap<u32, f32> {
        let mut weights = HashMap::with_capacity(words.len());
        let mut unknown = Vec::new();
        for &word in words {
            match self.known.get(&word) {
                Some(weight) => {
                    weights.insert(word, weight);
                }
                None => unknown.push(word),
            }
        }
        unknown.truncate(LOOKUPS);
        let looked_up = join_all(unknown.iter().map(|&word| self.look_up(selection, word))).await;
        for (word, weight) in unknown.into_iter().zip(looked_up) {
            if let Some(weight) = weight {
                self.known.insert(word, weight);
                weights.insert(word, weight);
            }
        }
        weights
    }

    async fn look_up(&self, selection: &Selection, word: u32) -> Option<f32> {
        let search = Search {
            selection: selection.clone(),
            dense: None,
            lexical: Some(LexicalVector {
                indices: vec![word],
                values: vec![1.0],
            }),
            limit: 1,
        };
        let found = tokio::time::timeout(LOOKUP_TIMEOUT, self.index.search(search)).await;
        // A failure shows in the search itself.
        let found = found.ok()?.ok()?;
        Some(found.lexical.first()?.score / BEST_TERM_WEIGHT)
    }
}
