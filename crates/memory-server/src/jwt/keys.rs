//! The public keys of an issuer, read from a file or fetched from its address.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use jsonwebtoken::DecodingKey;
use jsonwebtoken::jwk::JwkSet;
use reqwest::redirect::Policy;
use tokio::sync::Mutex;
use tokio::time::Instant;

/// Keys that are older are read again, so that a key which the issuer withdraws ends.
const MAX_AGE: Duration = Duration::from_secs(300);
/// Pause between two readings, so that tokens with unknown keys cause few.
const MIN_PAUSE: Duration = Duration::from_secs(5);
const TIMEOUT: Duration = Duration::from_secs(5);
/// A set of keys has a few kilobytes.
const MAX_BYTES: usize = 1024 * 1024;

/// The keys could not be read, and none are known.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeysUnavailable;

/// Where the keys are.
pub(super) enum Source {
    File(PathBuf),
    /// `None`: no HTTP client could be made.
    Url(Option<reqwest::Client>, String),
}

/// The keys of an issuer.
pub(super) struct Keys {
    source: Source,
    known: RwLock<Option<Known>>,
    /// When they were last asked for. Held while they are read.
    asked: Mutex<Option<Instant>>,
}

#[derive(Clone)]
struct Known {
    keys: Arc<[IssuerKey]>,
    read: Instant,
}

/// One key of a set, decoded once.
struct IssuerKey {
    id: Option<String>,
    /// `None`: of a kind that verifies no token.
    verifies: Option<DecodingKey>,
}

impl Source {
    /// The address of a key set.
    pub(super) fn url(url: String) -> Self {
        // An error means that one is installed already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            .timeout(TIMEOUT)
            .redirect(Policy::none())
            .build();
        Self::Url(client.ok(), url)
    }

    async fn read(&self) -> Result<Arc<[IssuerKey]>, String> {
        let bytes = match self {
            Self::File(path) => tokio::fs::read(path)
                .await
                .map_err(|error| error.to_string())?,
            Self::Url(None, _) => return Err("there is no HTTP client".to_owned()),
            Self::Url(Some(client), url) => fetch(client, url)
                .await
                .map_err(|error| error.without_url().to_string())?,
        };
        if bytes.len() > MAX_BYTES {
            return Err("it is larger than 1 MiB".to_owned());
        }
        let set: JwkSet = serde_json::from_slice(&bytes)
            .map_err(|_| "it is not a JSON Web Key Set".to_owned())?;
        let keys = set.keys.into_iter().map(|key| IssuerKey {
            verifies: DecodingKey::from_jwk(&key).ok(),
            id: key.common.key_id,
        });
        Ok(keys.collect())
    }
}

async fn fetch(client: &reqwest::Client, url: &str) -> reqwest::Result<Vec<u8>> {
    let mut answer = client.get(url).send().await?.error_for_status()?;
    let mut bytes = Vec::new();
    while let Some(chunk) = answer.chunk().await? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > MAX_BYTES {
            break;
        }
    }
    Ok(bytes)
}

impl Keys {
    pub(super) fn new(source: Source) -> Self {
        Self {
            source,
            known: RwLock::new(None),
            asked: Mutex::new(None),
        }
    }

    /// The key with an id, or the only one for a token that names none. Reads the keys
    /// again if they are old or lack it; if that fails, those known before stay in use.
    pub(super) async fn find(
        &self,
        id: Option<&str>,
    ) -> Result<Option<DecodingKey>, KeysUnavailable> {
        if let Some(key) = self.fresh(id) {
            return Ok(Some(key));
        }
        let mut asked = self.asked.lock().await;
        // Another call may have read them meanwhile.
        if let Some(key) = self.fresh(id) {
            return Ok(Some(key));
        }
        if asked.is_none_or(|asked| asked.elapsed() >= MIN_PAUSE) {
            *asked = Some(Instant::now());
            match self.source.read().await {
                Ok(keys) => {
                    let known = Known {
                        keys,
                        read: Instant::now(),
                    };
                    *self.known.write().unwrap_or_else(PoisonError::into_inner) = Some(known);
                }
                Err(problem) => {
                    tracing::warn!(problem, "the keys of auth.jwt cannot be read");
                }
            }
        }
        drop(asked);
        let known = self.known().ok_or(KeysUnavailable)?;
        Ok(key_of(&known.keys, id))
    }

    /// A key of a set that is not old.
    fn fresh(&self, id: Option<&str>) -> Option<DecodingKey> {
        let known = self
            .known()
            .filter(|known| known.read.elapsed() < MAX_AGE)?;
        key_of(&known.keys, id)
    }

    fn known(&self) -> Option<Known> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.clone()
    }
}

fn key_of(keys: &[IssuerKey], id: Option<&str>) -> Option<DecodingKey> {
    let found = match (id, keys) {
        (Some(_), _) => keys.iter().find(|key| key.id.as_deref() == id),
        (None, [only]) => Some(only),
        (None, _) => None,
    };
    found?.verifies.clone()
}
