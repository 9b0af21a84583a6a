//! The object storage of a process.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use memory_contract::duration_text::format_duration;
use metrics::{counter, describe_counter};
use object_store::path::Path;
use object_store::{
    Error, GetOptions, ObjectStore, ObjectStoreExt as _, PutMode, PutOptions, PutPayload,
    UpdateVersion,
};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;
use tracing::Instrument as _;
use uuid::Uuid;

use crate::backend::Backend;
use crate::config::ObjectsConfig;
use crate::error::ObjectsError;
use crate::gates::Gates;
use crate::key::path_of;
use crate::local::Locks;
use crate::open::{Opened, open};
use crate::signed::Signed;

/// The most flushes under way at a time in one process: each holds an object in memory and a
/// connection to the database while object storage is read and written.
const FLUSHES: usize = 8;
/// Memories of nodes read at a time in one process: each is held as a whole.
const READS: usize = 32;
/// The most memories cleared at a time in one process whose objects are erased at once: each
/// holds a connection to the database while object storage answers.
const ERASURES: usize = 8;
/// Flushes hold at most this part of the database's connections, a quarter but at least one, and
/// erasures as many, so that slow object storage leaves half of four or more to other calls.
const CONNECTION_PARTS: usize = 4;
/// How long a write goes on in this process at most, in timeouts of one write.
const WRITE_FACTOR: u32 = 6;
/// After how many such timeouts a write that is about to begin has ended in this process.
const LOCAL_FACTOR: u32 = 10;
/// After how many such timeouts a service carries out no request any more that it has not
/// answered.
const SERVICE_FACTOR: u32 = 60;
/// How many times larger than our own size limit an object of another writer may be.
const FOREIGN: usize = 4;

/// Object storage. A clone shares it.
#[derive(Clone)]
pub struct Objects(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) store: Arc<dyn ObjectStore>,
    /// What signs URLs, and those that were signed.
    pub(crate) signer: Option<Signed>,
    pub(crate) backend: Backend,
    pub(crate) locks: Option<Locks>,
    pub(crate) config: ObjectsConfig,
    pub(crate) gates: Gates,
    pub(crate) flushes: Semaphore,
    pub(crate) reads: Semaphore,
    pub(crate) erasures: Semaphore,
}

/// An object and its version.
pub struct Object {
    /// The content; `None` if it is too large to be read.
    pub bytes: Option<Vec<u8>>,
    /// The version that was read.
    pub version: Version,
}

/// The version of an object's content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version(UpdateVersion);

impl Version {
    /// A name for it, to recognize it by.
    pub fn name(&self) -> &str {
        let UpdateVersion { e_tag, version } = &self.0;
        e_tag.as_deref().or(version.as_deref()).unwrap_or_default()
    }
}

/// The outcome of a conditional write.
pub enum Written {
    /// It is stored.
    Done(Version),
    /// The object has another version: nothing was written.
    Conflict,
}

impl Objects {
    /// Opens the store for a process with so many connections to the database.
    ///
    /// # Errors
    /// `Config` where an operator has to act.
    pub fn open(config: &ObjectsConfig, connections: usize) -> Result<Self, ObjectsError> {
        let share = (connections / CONNECTION_PARTS).max(1);
        let Opened {
            store,
            signer,
            backend,
            locks,
        } = open(config)?;
        Ok(Self(Arc::new(Inner {
            store,
            signer: signer.map(|signer| Signed::new(signer, config.url_lifetime)),
            backend,
            locks,
            config: config.clone(),
            gates: Gates::default(),
            flushes: Semaphore::new(share.min(FLUSHES)),
            reads: Semaphore::new(READS),
            erasures: Semaphore::new(share.min(ERASURES)),
        })))
    }

    /// The kind of store.
    pub fn backend(&self) -> Backend {
        self.0.backend
    }

    /// Writes an object, reads it and erases it again, to know that it works and
    /// that nothing that is there is overwritten unseen.
    ///
    /// # Errors
    /// `Failed` with what did not work.
    pub async fn probe(&self) -> Result<(), ObjectsError> {
        let key = format!("recollect_probe/{}", Uuid::now_v7());
        let worked = self.write_and_read(&key).await;
        let erased = self.delete(&key).await;
        worked.and(erased)
    }

    async fn write_and_read(&self, key: &str) -> Result<(), ObjectsError> {
        let failed = |what, why: &str| ObjectsError::Failed {
            what,
            source: why.into(),
        };
        let content = b"a probe of recollect doctor".to_vec();
        if let Written::Conflict = self.write(key, content.clone(), None, None).await? {
            return Err(failed("write", "the bucket or directory is not there"));
        }
        if let Written::Done(_) = self.write(key, content.clone(), None, None).await? {
            return Err(failed("write", "the store takes no notice of conditions"));
        }
        match self.read(key, None).await? {
            Some(Object { bytes, .. }) if bytes.as_ref() == Some(&content) => Ok(()),
            _ => Err(failed("read", "it is not what was written")),
        }
    }

    /// The settings that it was opened with.
    pub fn config(&self) -> &ObjectsConfig {
        &self.0.config
    }

    /// After this time a write that was about to begin and has no answer was carried out, or
    /// never will be.
    pub fn settles_after(&self) -> Duration {
        let factor = match self.0.backend {
            Backend::File | Backend::Memory => LOCAL_FACTOR,
            Backend::S3 | Backend::Gcs | Backend::Azure => SERVICE_FACTOR,
        };
        self.0.config.timeout.saturating_mul(factor)
    }

    /// The largest JSON that is read.
    pub fn read_limit(&self) -> usize {
        self.0.config.max_object_bytes.saturating_mul(FOREIGN)
    }

    /// The gates at which flushes of one node wait for each other.
    pub fn gates(&self) -> &Gates {
        &self.0.gates
    }

    /// Waits until another flush may begin.
    pub async fn flush_permit(&self) -> Option<SemaphorePermit<'_>> {
        self.0.flushes.acquire().await.ok()
    }

    /// Waits until another memory may be read.
    pub async fn read_permit(
        &self,
        deadline: Option<Instant>,
    ) -> Result<Option<SemaphorePermit<'_>>, ObjectsError> {
        let permit = self.0.reads.acquire();
        Ok(self.bounded("read", deadline, permit).await?.ok())
    }

    /// Whether another object may be erased right now.
    pub fn erasure_permit(&self) -> Option<SemaphorePermit<'_>> {
        self.0.erasures.try_acquire().ok()
    }

    /// Reads an object; `None` if it does not exist.
    pub async fn read(
        &self,
        key: &str,
        deadline: Option<Instant>,
    ) -> Result<Option<Object>, ObjectsError> {
        let path = path_of(key)?;
        let limit = u64::try_from(self.read_limit()).unwrap_or(u64::MAX);
        let read = async {
            let found = self.0.store.get_opts(&path, GetOptions::default()).await?;
            let version = Version(UpdateVersion {
                e_tag: found.meta.e_tag.clone(),
                version: found.meta.version.clone(),
            });
            let bytes = if found.meta.size > limit {
                None
            } else {
                Some(found.bytes().await?.to_vec())
            };
            Ok(Object { bytes, version })
        };
        match self.bounded("read", deadline, read).await? {
            Ok(object) => Ok(Some(object)),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(ObjectsError::failed("read", error)),
        }
    }

    /// Writes an object if it is still in the version that was seen, or still
    /// missing. A running write continues after the deadline, for a bounded time.
    pub async fn write(
        &self,
        key: &str,
        bytes: Vec<u8>,
        seen: Option<Version>,
        deadline: Option<Instant>,
    ) -> Result<Written, ObjectsError> {
        let path = path_of(key)?;
        let inner = Arc::clone(&self.0);
        let write = async move { inner.put_counted(path, bytes.into(), seen).await };
        #[expect(
            clippy::disallowed_methods,
            reason = "awaited below; a panic is an error"
        )]
        let write = tokio::spawn(write.in_current_span());
        match self.bounded("write", deadline, write).await? {
            Ok(Ok(written)) => Ok(written),
            Ok(Err(error)) => Err(ObjectsError::failed("write", error)),
            Err(error) => Err(ObjectsError::Failed {
                what: "write",
                source: error.into(),
            }),
        }
    }

    /// Erases an object. Idempotent.
    pub async fn delete(&self, key: &str) -> Result<(), ObjectsError> {
        let path = path_of(key)?;
        match self
            .bounded("delete", None, self.0.store.delete(&path))
            .await?
        {
            Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(ObjectsError::failed("delete", error)),
        }
    }

    /// Waits for `objects.timeout`, and at most until the caller's deadline.
    pub(crate) async fn bounded<T>(
        &self,
        what: &'static str,
        deadline: Option<Instant>,
        work: impl Future<Output = T>,
    ) -> Result<T, ObjectsError> {
        let own = self.0.config.timeout;
        let limit = deadline.map_or(own, |deadline| left(deadline).min(own));
        timeout(limit, work)
            .await
            .map_err(|_elapsed| too_slow(what, limit))
    }
}

impl fmt::Debug for Objects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Objects").field(&self.0.backend).finish()
    }
}

impl Inner {
    /// Counts the outcome, also after the caller's deadline.
    async fn put_counted(
        &self,
        path: Path,
        bytes: PutPayload,
        seen: Option<Version>,
    ) -> Result<Written, Error> {
        let limit = self.config.timeout.saturating_mul(WRITE_FACTOR);
        let put = timeout(limit, self.put(path, bytes, seen)).await;
        let written = match put.unwrap_or_else(|elapsed| Err(gave_up(elapsed))) {
            Ok(version) => Ok(Written::Done(version)),
            // A deletion may remove the directory that it leaves empty.
            Err(
                Error::Precondition { .. } | Error::AlreadyExists { .. } | Error::NotFound { .. },
            ) => Ok(Written::Conflict),
            Err(error) => Err(error),
        };
        let outcome = match &written {
            Ok(Written::Done(_)) => "done",
            Ok(Written::Conflict) => "conflict",
            Err(_) => "failed",
        };
        counter!("recollect_object_writes_total", "outcome" => outcome).increment(1);
        written
    }

    async fn put(
        &self,
        path: Path,
        bytes: PutPayload,
        seen: Option<Version>,
    ) -> Result<Version, Error> {
        let mode = match (&self.locks, seen) {
            (Some(locks), Some(seen)) => {
                let (locks, key) = (locks.clone(), path.to_string());
                let limit = self.config.timeout;
                let lock = tokio::task::spawn_blocking(move || locks.lock(&key, limit))
                    .await?
                    .map_err(|error| Error::Generic {
                        store: "file",
                        source: error.into(),
                    })?;
                let found = self.store.head(&path).await?;
                if found.e_tag != seen.0.e_tag {
                    return Err(Error::Precondition {
                        path: path.to_string(),
                        source: "the file has changed".into(),
                    });
                }
                let written = self.write_as(&path, bytes, PutMode::Overwrite).await;
                drop(lock);
                return written;
            }
            (None, Some(Version(seen))) => PutMode::Update(seen),
            (_, None) => PutMode::Create,
        };
        self.write_as(&path, bytes, mode).await
    }

    async fn write_as(
        &self,
        path: &Path,
        bytes: PutPayload,
        mode: PutMode,
    ) -> Result<Version, Error> {
        let written = self
            .store
            .put_opts(path, bytes, PutOptions::from(mode))
            .await?;
        Ok(Version(UpdateVersion::from(written)))
    }
}

fn gave_up(elapsed: tokio::time::error::Elapsed) -> Error {
    Error::Generic {
        store: "any",
        source: elapsed.into(),
    }
}

/// The time until a deadline.
pub fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}

/// The error of an object that took too long.
pub fn too_slow(what: &'static str, limit: Duration) -> ObjectsError {
    ObjectsError::Failed {
        what,
        source: format!("no answer within {}", format_duration(limit)).into(),
    }
}

/// Describes this crate's metrics to the installed recorder.
pub fn describe_metrics() {
    describe_counter!(
        "recollect_object_writes_total",
        "Conditional writes to object storage, by outcome: done, conflict or failed."
    );
}
