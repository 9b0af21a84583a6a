//! Vectors of recent documents, and the texts that searches wait for.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use memory_contract::TenantId;
use moka::policy::EvictionPolicy;
use moka::sync::Cache;
use sha2::{Digest, Sha256};
use tokio::sync::oneshot;

use crate::input::Input;

/// Bytes of the vectors kept: 5,000 of 384 dimensions, 680 of 3,072. A search embeds at most 64
/// messages or memories, or 256 documents, so the newest ones of many conversations fit.
const BYTES: u64 = 8 * 1024 * 1024;
/// Requests of searches that may wait. A further one is dropped.
const REQUESTS: usize = 32;

/// The vectors of recent documents, by tenant and text, and the texts to embed next. The
/// indexer and searches share it, so neither embeds a text that the other has embedded.
/// Clones share their content.
#[derive(Clone)]
pub(crate) struct Vectors {
    input: Input,
    known: Cache<TextKey, Arc<[f32]>>,
    requests: Arc<Mutex<VecDeque<Request>>>,
}

/// A text to embed. Vectors are kept by tenant, so that the duration of a search does not
/// show which texts other tenants have, and the tokens of an endpoint count for the tenant.
#[derive(Clone, Debug)]
pub struct TenantText {
    /// The owner of the text; `None` for a text of no tenant, such as those of
    /// [`Baseline`](crate::Baseline).
    pub tenant: Option<TenantId>,
    /// The text.
    pub text: String,
}

impl From<String> for TenantText {
    /// A text of no tenant.
    fn from(text: String) -> Self {
        Self { tenant: None, text }
    }
}

impl From<&str> for TenantText {
    /// A text of no tenant.
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<&String> for TenantText {
    /// A text of no tenant.
    fn from(text: &String) -> Self {
        text.clone().into()
    }
}

/// Identifies the text of a tenant, as far as the model reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TextKey([u8; 16]);

/// Texts that a search waits for.
pub(crate) struct Request {
    pub(crate) texts: Vec<TenantText>,
    /// Whether the texts are embedded also when the search no longer waits.
    pub(crate) always: bool,
    /// Dropped when the texts are embedded.
    pub(crate) done: oneshot::Sender<()>,
}

impl Vectors {
    pub(crate) fn new(input: Input) -> Self {
        let known = Cache::builder()
            .max_capacity(BYTES)
            .weigher(|_, vector: &Arc<[f32]>| {
                u32::try_from(size_of_val::<[f32]>(vector)).unwrap_or(u32::MAX)
            })
            // The newest texts are needed, not the most frequent ones.
            .eviction_policy(EvictionPolicy::lru())
            .build();
        Self {
            input,
            known,
            requests: Arc::default(),
        }
    }

    /// The beginning of a text, which is all that the model reads.
    pub(crate) fn clip(&self, text: String) -> String {
        match self.input.clip(&text) {
            all if all.len() == text.len() => text,
            beginning => beginning.to_owned(),
        }
    }

    /// The passages of a document after the first one, at most `most`.
    pub(crate) fn later_passages(&self, text: &str, most: usize) -> Vec<String> {
        let passages = self.input.later_passages(text, most);
        passages.map(str::to_owned).collect()
    }

    /// The vector of a text, if it is known.
    pub(crate) fn get(&self, key: &TextKey) -> Option<Vec<f32>> {
        let vector = self.known.get(key)?;
        Some(vector.to_vec())
    }

    /// Keeps the vector of a text.
    pub(crate) fn put(&self, of: &TenantText, vector: &[f32]) {
        let key = self.key(of.tenant.as_ref(), &of.text);
        self.known.insert(key, vector.into());
    }

    /// Asks for texts. The receiver ends when they are embedded, or at once if too many
    /// requests wait.
    pub(crate) fn request(&self, texts: Vec<TenantText>, always: bool) -> oneshot::Receiver<()> {
        let (done, embedded) = oneshot::channel();
        let mut requests = self.lock();
        if requests.len() < REQUESTS {
            requests.push_back(Request {
                texts,
                always,
                done,
            });
        }
        embedded
    }

    /// The next request.
    pub(crate) fn next(&self) -> Option<Request> {
        self.lock().pop_front()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Request>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A hash of the tenant and the part of the text that the model reads.
    pub(crate) fn key(&self, tenant: Option<&TenantId>, text: &str) -> TextKey {
        let tenant = tenant.map_or("", TenantId::as_str);
        let digest = Sha256::new()
            .chain_update(tenant.len().to_le_bytes())
            .chain_update(tenant)
            .chain_update(self.input.clip(text))
            .finalize();
        let mut key = [0; 16];
        key.copy_from_slice(&digest[..16]);
        TextKey(key)
    }
}
