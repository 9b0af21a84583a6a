//! The public keys of an issuer, read from a file or fetched from its address.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use jsonwebtoken::DecodingKey;
use jsonwebtoken::jwk::JwkSet;
use memory_runtime::task;
use reqwest::redirect::Policy;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

/// Keys that are older are read again, so that a key which the issuer withdraws ends.
const MAX_AGE: Duration = Duration::from_secs(300);
/// Pause between two readings, so that tokens with unknown keys cause few.
const MIN_PAUSE: Duration = Duration::from_secs(5);
/// The longest pause after readings that failed.
const MAX_PAUSE: Duration = Duration::from_secs(60);
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

/// The keys of an issuer. Clones share them.
#[derive(Clone)]
pub(super) struct Keys(Arc<Shared>);

struct Shared {
    source: Source,
    ages: Ages,
    known: RwLock<Option<Known>>,
    reading: Mutex<Reading>,
}

/// How old keys may be.
struct Ages {
    /// Older keys are read again.
    fresh: Duration,
    /// Older ones are not used before that was tried.
    usable: Duration,
}

/// The reading that is under way, and when the next one may begin.
#[derive(Default)]
struct Reading {
    /// Closes when the reading ends.
    running: Option<watch::Receiver<()>>,
    not_before: Option<Instant>,
    /// Readings in a row that failed.
    failures: u32,
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
        let ages = Ages {
            fresh: MAX_AGE,
            usable: 2 * MAX_AGE,
        };
        Self::with(source, ages)
    }

    fn with(source: Source, ages: Ages) -> Self {
        Self(Arc::new(Shared {
            source,
            ages,
            known: RwLock::new(None),
            reading: Mutex::default(),
        }))
    }

    /// The key with an id, or the only one for a token that names none. Reads the keys again if they
    /// are old or lack it. All calls share one reading. A call with a known key waits for it only if
    /// the keys are very old and the last reading succeeded: an issuer that does not answer delays
    /// no such call twice.
    pub(super) async fn find(
        &self,
        id: Option<&str>,
    ) -> Result<Option<DecodingKey>, KeysUnavailable> {
        let known = self.known();
        let key = known.as_ref().and_then(|known| key_of(&known.keys, id));
        let age = known.map(|known| known.read.elapsed());
        if let (Some(key), Some(age)) = (&key, age)
            && age < self.0.ages.fresh
        {
            return Ok(Some(key.clone()));
        }
        let (reading, last_failed) = self.read_again();
        if let (Some(key), Some(age)) = (key, age)
            && (age < self.0.ages.usable || last_failed)
        {
            return Ok(Some(key));
        }
        if let Some(mut reading) = reading {
            // It ends with an error, because the channel closes.
            let _ = timeout(TIMEOUT, reading.changed()).await;
        }
        let known = self.known().ok_or(KeysUnavailable)?;
        Ok(key_of(&known.keys, id))
    }

    /// The reading that is under way, begun now if none is and it is not too soon; and whether the
    /// last one failed.
    fn read_again(&self) -> (Option<watch::Receiver<()>>, bool) {
        let mut reading = self.lock();
        let last_failed = reading.failures > 0;
        // A closed one was cut off, as by a panic.
        let running = reading.running.as_ref();
        if let Some(running) = running.filter(|running| running.has_changed().is_ok()) {
            return (Some(running.clone()), last_failed);
        }
        let now = Instant::now();
        if reading.not_before.is_some_and(|begin| now < begin) {
            return (None, last_failed);
        }
        let (running, receiver) = watch::channel(());
        reading.running = Some(receiver.clone());
        drop(reading);
        let keys = self.clone();
        task::spawn("jwt_keys", async move {
            keys.read().await;
            drop(running);
        });
        (Some(receiver), last_failed)
    }

    async fn read(&self) {
        let read = match timeout(TIMEOUT, self.0.source.read()).await {
            Ok(read) => read,
            Err(_) => Err("it took too long".to_owned()),
        };
        let mut reading = self.lock();
        match read {
            Ok(keys) => {
                let read = Instant::now();
                let mut known = self.0.known.write().unwrap_or_else(PoisonError::into_inner);
                *known = Some(Known { keys, read });
                reading.failures = 0;
            }
            Err(problem) => {
                tracing::warn!(problem, "the keys of auth.jwt cannot be read");
                reading.failures = reading.failures.saturating_add(1);
            }
        }
        let pause = MIN_PAUSE.saturating_mul(reading.failures.max(1));
        reading.not_before = Some(Instant::now() + pause.min(MAX_PAUSE));
        reading.running = None;
    }

    fn known(&self) -> Option<Known> {
        let known = self.0.known.read().unwrap_or_else(PoisonError::into_inner);
        known.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Reading> {
        self.0
            .reading
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    const KEYS: &str = include_str!("testdata/keys.json");

    /// An issuer that answers once, and then accepts connections without an answer. Returns its
    /// address and the number of requests.
    async fn answers_once() -> (String, Arc<AtomicUsize>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/keys", listener.local_addr().unwrap());
        let requests = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&requests);
        task::spawn("issuer", async move {
            let mut hanging = Vec::new();
            loop {
                let (mut connection, _) = listener.accept().await.unwrap();
                let before = counted.fetch_add(1, Ordering::Relaxed);
                let _ = connection.read(&mut [0; 1024]).await;
                if before == 0 {
                    let answer = format!(
                        "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{KEYS}",
                        KEYS.len()
                    );
                    connection.write_all(answer.as_bytes()).await.unwrap();
                }
                hanging.push(connection);
            }
        });
        (url, requests)
    }

    #[tokio::test]
    async fn an_issuer_that_hangs_delays_a_known_key_at_most_once() {
        let (url, requests) = answers_once().await;
        let ages = Ages {
            fresh: Duration::ZERO,
            usable: Duration::from_secs(3_600),
        };
        let keys = Keys::with(Source::url(url), ages);
        let set: JwkSet = serde_json::from_str(KEYS).unwrap();
        let id = set.keys[0].common.key_id.clone();
        assert!(keys.find(id.as_deref()).await.unwrap().is_some());
        // The next reading hangs; the pause after the first one is over.
        keys.lock().not_before = None;
        let begin = Instant::now();
        for _ in 0..100 {
            assert!(keys.find(id.as_deref()).await.unwrap().is_some());
        }
        assert!(begin.elapsed() < TIMEOUT / 5, "{:?}", begin.elapsed());
        // Calls with unknown keys wait for the same reading together.
        let unknown = (0..20).map(|_| keys.find(Some("unknown")));
        let found = futures::future::join_all(unknown).await;
        assert!(found.iter().all(|found| matches!(found, Ok(None))));
        assert!(begin.elapsed() < 2 * TIMEOUT, "{:?}", begin.elapsed());
        assert_eq!(requests.load(Ordering::Relaxed), 2);
        // Afterwards they are refused at once for a while.
        let begin = Instant::now();
        assert!(keys.find(Some("unknown")).await.unwrap().is_none());
        assert!(begin.elapsed() < TIMEOUT / 5);
    }
}
