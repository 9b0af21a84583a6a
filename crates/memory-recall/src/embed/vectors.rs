//! Vectors of recent documents, and the texts that searches wait for.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use moka::policy::EvictionPolicy;
use moka::sync::Cache;
use sha2::{Digest, Sha256};
use tokio::sync::oneshot;

use super::model::Model;

/// Vectors kept, of about 1.5 KiB each. A search embeds at most 64 texts, so the newest
/// messages of many conversations fit.
const VECTORS: u64 = 4_096;
/// Requests of searches that may wait. A further one is dropped.
const REQUESTS: usize = 32;

/// The vectors of recent documents, by their text, and the texts to embed next. The
/// indexer and searches share it, so neither embeds a text that the other has embedded.
/// Clones share their content.
#[derive(Clone)]
pub(super) struct Vectors {
    model: Model,
    known: Cache<[u8; 16], Arc<[f32]>>,
    requests: Arc<Mutex<VecDeque<Request>>>,
}

/// Texts that a search waits for.
pub(super) struct Request {
    pub(super) texts: Vec<String>,
    /// Dropped when the texts are embedded.
    _done: oneshot::Sender<()>,
}

impl Vectors {
    pub(super) fn new(model: &Model) -> Self {
        let known = Cache::builder()
            .max_capacity(VECTORS)
            // The newest texts are needed, not the most frequent ones.
            .eviction_policy(EvictionPolicy::lru())
            .build();
        Self {
            model: model.clone(),
            known,
            requests: Arc::default(),
        }
    }

    /// The vector of a text, if it is known.
    pub(super) fn get(&self, text: &str) -> Option<Vec<f32>> {
        let vector = self.known.get(&self.key(text))?;
        Some(vector.to_vec())
    }

    /// Keeps the vector of a text.
    pub(super) fn put(&self, text: &str, vector: &[f32]) {
        self.known.insert(self.key(text), vector.into());
    }

    /// Asks for texts. The receiver ends when they are embedded, or at once if too many
    /// requests wait.
    pub(super) fn request(&self, texts: Vec<String>) -> oneshot::Receiver<()> {
        let (done, embedded) = oneshot::channel();
        let mut requests = self.lock();
        if requests.len() < REQUESTS {
            requests.push_back(Request { texts, _done: done });
        }
        embedded
    }

    /// The next request.
    pub(super) fn next(&self) -> Option<Request> {
        self.lock().pop_front()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Request>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A hash of the part of a text that the model reads.
    fn key(&self, text: &str) -> [u8; 16] {
        let digest = Sha256::digest(self.model.clip(text));
        let mut key = [0; 16];
        key.copy_from_slice(&digest[..16]);
        key
    }
}
