//! Caches the database's answers about API keys.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use memory_database::{Databases, StoreError};
use memory_postgres::Caller;
use moka::{Expiry, future::Cache};
use tokio::sync::Semaphore;

use crate::api_keys::caller_of_key;

/// The SHA-256 of an API key.
type KeyDigest = [u8; 32];

/// How long an answer is valid, counted from the question: a revoked or expired key
/// stops working within 5 seconds.
const KNOWN_TTL: Duration = Duration::from_secs(5);
/// How long an unknown digest is cached. Short, so that a key that was tried before it
/// was created works soon.
const UNKNOWN_TTL: Duration = Duration::from_secs(1);
/// Cached keys, at most.
const CAPACITY: u64 = 10_000;
/// How long a valid key is looked up apart from keys that may be guesses.
const SEEN_TTL: Duration = Duration::from_secs(3_600);
/// Concurrent lookups, at most: guessing keys must not use up the connections.
const MAX_LOOKUPS: usize = 8;
/// Calls that may wait for lookups.
const MAX_WAITING: usize = 1_024;

/// Looks up API keys in the database and caches the answers for seconds. Clones share
/// the cache.
#[derive(Clone, Debug)]
pub struct Authenticator {
    store: Databases,
    known: Cache<KeyDigest, KnownCaller>,
    /// A separate cache, so that unknown keys do not evict known ones.
    unknown: Cache<KeyDigest, ()>,
    /// Keys that were valid. They have lookups of their own, so that guesses delay and
    /// displace none of them.
    seen: Cache<KeyDigest, ()>,
    of_seen: Arc<Lookups>,
    of_others: Arc<Lookups>,
}

/// The lookups of a kind of keys.
#[derive(Debug)]
struct Lookups {
    /// Places for calls that wait.
    waiting: Semaphore,
    running: Semaphore,
}

/// Why it is not known whether a key is valid.
#[derive(Clone, Debug)]
pub enum LookupError {
    /// Too many calls wait for lookups.
    Busy,
    /// The database failed. Concurrent calls for one key share the error.
    Failed(Arc<StoreError>),
}

#[derive(Clone, Debug)]
struct KnownCaller {
    caller: Caller,
    asked: Instant,
}

/// A lookup without a caller, and its cause.
enum Missing {
    Unknown,
    Failed(Arc<StoreError>),
}

impl Authenticator {
    /// An authenticator without cached keys.
    pub fn new(store: Databases) -> Self {
        Self {
            store,
            known: Cache::builder()
                .max_capacity(CAPACITY)
                .expire_after(SinceAsked)
                .build(),
            unknown: Cache::builder()
                .max_capacity(CAPACITY)
                .time_to_live(UNKNOWN_TTL)
                .build(),
            seen: Cache::builder()
                .max_capacity(CAPACITY)
                .time_to_live(SEEN_TTL)
                .build(),
            of_seen: Arc::default(),
            of_others: Arc::default(),
        }
    }

    /// The caller that the key with this SHA-256 identifies; `None` for an unknown key.
    /// Concurrent calls for one key share a lookup and its error.
    ///
    /// # Errors
    /// [`LookupError`].
    pub async fn caller(&self, digest: KeyDigest) -> Result<Option<Caller>, LookupError> {
        if let Some(known) = self.known.get(&digest).await {
            return Ok(Some(known.caller));
        }
        if self.unknown.contains_key(&digest) {
            return Ok(None);
        }
        let lookups = match self.seen.contains_key(&digest) {
            true => &self.of_seen,
            false => &self.of_others,
        };
        let Ok(_place) = lookups.waiting.try_acquire() else {
            return Err(LookupError::Busy);
        };
        let look_up = self.look_up(digest, lookups);
        let looked_up = self.known.try_get_with(digest, look_up).await;
        match looked_up {
            Ok(known) => Ok(Some(known.caller)),
            Err(missing) => match missing.as_ref() {
                Missing::Unknown => Ok(None),
                Missing::Failed(error) => Err(LookupError::Failed(Arc::clone(error))),
            },
        }
    }

    async fn look_up(&self, digest: KeyDigest, lookups: &Lookups) -> Result<KnownCaller, Missing> {
        // The semaphore is never closed.
        let _permit = lookups.running.acquire().await.ok();
        let asked = Instant::now();
        match caller_of_key(&self.store, &digest).await {
            Ok(Some(caller)) => {
                self.seen.insert(digest, ()).await;
                Ok(KnownCaller { caller, asked })
            }
            Ok(None) => {
                self.unknown.insert(digest, ()).await;
                Err(Missing::Unknown)
            }
            Err(error) => Err(Missing::Failed(Arc::new(error))),
        }
    }
}

impl Default for Lookups {
    fn default() -> Self {
        Self {
            waiting: Semaphore::new(MAX_WAITING),
            running: Semaphore::new(MAX_LOOKUPS),
        }
    }
}

/// Expires entries [`KNOWN_TTL`] after the question, because a change to the key after
/// the question may be missing from the answer.
struct SinceAsked;

impl Expiry<KeyDigest, KnownCaller> for SinceAsked {
    fn expire_after_create(
        &self,
        _digest: &KeyDigest,
        known: &KnownCaller,
        _created: Instant,
    ) -> Option<Duration> {
        Some(KNOWN_TTL.saturating_sub(known.asked.elapsed()))
    }
}
