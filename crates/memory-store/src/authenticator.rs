//! Looking up whom API keys stand for, for every call and yet seldom.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use moka::{Expiry, future::Cache};
use tokio::sync::Semaphore;

use crate::{KeyHolder, Store, StoreError};

/// The SHA-256 of an API key.
type KeyDigest = [u8; 32];

/// How long an answer counts from the moment it was asked for: a key that was
/// revoked or has expired ends within 5 seconds.
const FRESH: Duration = Duration::from_secs(5);
/// How long a digest that is nobody's is remembered: a key that was just made
/// works soon even where it was tried before.
const UNKNOWN: Duration = Duration::from_secs(1);
/// Keys remembered at most.
const KEYS: u64 = 10_000;
/// Lookups under way at a time: whoever tries keys must not take the
/// connections that others work with.
const LOOKUPS: usize = 8;

/// Looks keys up in the database, and remembers the answers for a moment. A
/// clone shares what is remembered.
#[derive(Clone, Debug)]
pub struct Authenticator {
    store: Store,
    known: Cache<KeyDigest, Known>,
    /// Apart from the good ones, so that nobody can drive those out.
    unknown: Cache<KeyDigest, ()>,
    lookups: Arc<Semaphore>,
}

#[derive(Clone, Debug)]
struct Known {
    holder: KeyHolder,
    asked: Instant,
}

/// Why there is no holder.
enum Nobody {
    Unknown,
    Failed(Arc<StoreError>),
}

impl Authenticator {
    /// Looks up the keys of a store.
    pub fn new(store: Store) -> Self {
        Self {
            store,
            known: Cache::builder()
                .max_capacity(KEYS)
                .expire_after(SinceAsked)
                .build(),
            unknown: Cache::builder()
                .max_capacity(KEYS)
                .time_to_live(UNKNOWN)
                .build(),
            lookups: Arc::new(Semaphore::new(LOOKUPS)),
        }
    }

    /// Whom the key with this SHA-256 stands for; `None` for nobody. Calls at
    /// the same time share one lookup, and its error.
    ///
    /// # Errors
    /// Only those of the database.
    pub async fn holder(&self, digest: KeyDigest) -> Result<Option<KeyHolder>, Arc<StoreError>> {
        if let Some(known) = self.known.get(&digest).await {
            return Ok(Some(known.holder));
        }
        if self.unknown.contains_key(&digest) {
            return Ok(None);
        }
        let looked_up = self.known.try_get_with(digest, self.look_up(digest)).await;
        match looked_up {
            Ok(known) => Ok(Some(known.holder)),
            Err(nobody) => match nobody.as_ref() {
                Nobody::Unknown => Ok(None),
                Nobody::Failed(error) => Err(Arc::clone(error)),
            },
        }
    }

    async fn look_up(&self, digest: KeyDigest) -> Result<Known, Nobody> {
        // It is never closed.
        let _permit = self.lookups.acquire().await.ok();
        let asked = Instant::now();
        match self.store.key_holder(&digest).await {
            Ok(Some(holder)) => Ok(Known { holder, asked }),
            Ok(None) => {
                self.unknown.insert(digest, ()).await;
                Err(Nobody::Unknown)
            }
            Err(error) => Err(Nobody::Failed(Arc::new(error))),
        }
    }
}

/// Counts from the question, not from the answer: what happened to the key in
/// between is not in it.
struct SinceAsked;

impl Expiry<KeyDigest, Known> for SinceAsked {
    fn expire_after_create(
        &self,
        _digest: &KeyDigest,
        known: &Known,
        _created: Instant,
    ) -> Option<Duration> {
        Some(FRESH.saturating_sub(known.asked.elapsed()))
    }
}
