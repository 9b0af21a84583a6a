//! The changes that wait to be indexed, as the index will have them.

use std::collections::HashSet;
use std::hash::Hash;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use memory_contract::TenantId;
use memory_contract::limits::UNINDEXED_READ;
use memory_embed::{Embedder, TextKey};
use memory_index::EncodedPoint;
use memory_store::UnindexedChange;
use moka::policy::EvictionPolicy;
use moka::sync::Cache;

/// Bytes of the changes kept for one index: about ten thousand messages.
const BYTES: u64 = 64 * 1024 * 1024;
/// A change is forgotten when no search has needed it for this long.
const IDLE: Duration = Duration::from_secs(30);
/// A change is read again after this time.
const LIFE: Duration = Duration::from_secs(60);
/// Bytes of a change beside its payload, its words and its text.
const OVERHEAD: usize = 1_024;
/// Bytes of a word of a change.
const WORD_BYTES: usize = 16;

/// The changes that searches have read, by their numbers: each search would otherwise read them and
/// take them apart into words again.
pub(super) struct WaitingChanges {
    /// `None` for a change whose message or memory cannot be read any more.
    known: Cache<i64, Option<Arc<Waiting>>>,
}

/// A change that waits to be indexed.
pub(super) struct Waiting {
    /// Identifies it; the newest has the highest.
    pub(super) number: i64,
    /// The point that it writes, without a dense vector.
    pub(super) entry: EncodedPoint,
    /// The text that is embedded; empty without a model.
    pub(super) meaning: String,
    /// Whether it replaces the point of the index. A message has the same content there, but a
    /// memory may have changed.
    pub(super) replaces: bool,
    key: Option<TextKey>,
    /// Its size in memory, with its vector.
    bytes: u32,
    vector: OnceLock<Vec<f32>>,
}

impl WaitingChanges {
    pub(super) fn new() -> Self {
        let known = Cache::builder()
            .max_capacity(BYTES)
            .weigher(|_, change: &Option<Arc<Waiting>>| {
                change.as_ref().map_or(1, |change| change.bytes)
            })
            .time_to_idle(IDLE)
            .time_to_live(LIFE)
            // The newest changes are needed, not the most frequent ones.
            .eviction_policy(EvictionPolicy::lru())
            .build();
        Self { known }
    }

    /// The known ones of these changes that can be read, at most [`UNINDEXED_READ`] others, which are
    /// to be read now, and how many are left. Of several changes of one message or memory, the
    /// newest counts, which is the first.
    pub(super) fn divide<I: Copy + Eq + Hash>(
        &self,
        changes: Vec<UnindexedChange<I>>,
    ) -> (Vec<Arc<Waiting>>, Vec<UnindexedChange<I>>, u64) {
        let mut seen = HashSet::with_capacity(changes.len());
        let (mut known, mut others) = (Vec::with_capacity(changes.len()), Vec::new());
        for change in changes {
            if seen.insert(change.subject) {
                match self.known.get(&change.number) {
                    Some(waiting) => known.extend(waiting),
                    None => others.push(change),
                }
            }
        }
        let left = others.len().saturating_sub(UNINDEXED_READ);
        others.truncate(UNINDEXED_READ);
        (known, others, left as u64)
    }

    pub(super) fn keep(&self, waiting: Waiting) -> Arc<Waiting> {
        let waiting = Arc::new(waiting);
        self.known
            .insert(waiting.number, Some(Arc::clone(&waiting)));
        waiting
    }

    /// Remembers that what a change is of cannot be read any more.
    pub(super) fn forget(&self, number: i64) {
        self.known.insert(number, None);
    }
}

impl Waiting {
    /// A change of a tenant that writes a point with this text.
    pub(super) fn new(
        number: i64,
        entry: EncodedPoint,
        text: String,
        replaces: bool,
        embedder: Option<&Embedder>,
        tenant: &TenantId,
    ) -> Self {
        let meaning = embedder
            .map(|embedder| embedder.clip(text))
            .unwrap_or_default();
        let dimensions = embedder.map_or(0, |embedder| embedder.model().dimensions);
        Self {
            number,
            bytes: bytes(&entry, &meaning, dimensions),
            entry,
            key: embedder.map(|embedder| embedder.text_key(tenant, &meaning)),
            meaning,
            replaces,
            vector: OnceLock::new(),
        }
    }

    /// The vector, if the text was embedded.
    pub(super) fn vector(&self, embedder: &Embedder) -> Option<&[f32]> {
        if let Some(vector) = self.vector.get() {
            return Some(vector);
        }
        let vector = embedder.known(self.key.as_ref()?)?;
        Some(self.vector.get_or_init(|| vector))
    }
}

fn bytes(entry: &EncodedPoint, meaning: &str, dimensions: usize) -> u32 {
    let payload = serde_json::to_string(&entry.payload).map_or(0, |json| json.len());
    let words = entry.lexical.indices.len() * WORD_BYTES;
    let vector = size_of::<f32>() * dimensions;
    let bytes = OVERHEAD + 2 * payload + words + meaning.len() + vector;
    u32::try_from(bytes).unwrap_or(u32::MAX)
}
