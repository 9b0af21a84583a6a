//! The state of an indexer.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use memory_embed::Embedder;
use memory_runtime::error_chain;
use memory_store::{Outbox, Store};
use time::OffsetDateTime;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use super::error::IndexerError;
use super::handle::IndexerHandle;
use super::status::{IndexerStatus, LastError};
use crate::background::Background;
use crate::config::IndexerConfig;
use crate::index::Index;

/// Indexes changes: claims a batch from the outbox, loads and embeds the messages and memories,
/// writes the index, rechecks, acknowledges. Several indexers may run at once, in one or
/// several processes.
pub struct Indexer {
    pub(super) store: Store,
    pub(super) outbox: Outbox,
    pub(super) index: Arc<dyn Index>,
    pub(super) embedder: Option<Embedder>,
    pub(super) config: IndexerConfig,
    pub(super) background: Background,
    /// Whether its collection is recorded in the database, which then says whether it
    /// receives changes.
    pub(super) recorded: bool,
    pub(super) wake: Arc<Notify>,
    /// Wakes a lane that claims any change.
    pub(super) wake_any: Notify,
    pub(super) status: watch::Sender<IndexerStatus>,
    /// Queries that wait for a change.
    pub(super) waiting: watch::Sender<usize>,
    /// The number of its recorded collection when the index was prepared last.
    pub(super) prepared: Mutex<Option<i32>>,
    /// When a rebuild of the index began, as far as this worker knows; `None` outside a
    /// rebuild.
    pub(super) rebuilding: Mutex<Option<Instant>>,
    /// The last logged error of the store, the index or the model as a whole; `None` after a batch
    /// has succeeded.
    pub(super) outage: Mutex<Option<String>>,
}

/// Longest pause between two attempts to reach the store or the index.
const LONGEST_OUTAGE_PAUSE: Duration = Duration::from_secs(5);

impl Indexer {
    /// Creates an indexer; [`Indexer::run`] starts it. `store` and `outbox` are of the
    /// same database.
    pub fn new(
        store: Store,
        outbox: Outbox,
        index: Arc<dyn Index>,
        embedder: Option<Embedder>,
        config: IndexerConfig,
    ) -> Self {
        Self {
            store,
            outbox,
            index,
            embedder,
            config,
            background: Background::default(),
            recorded: false,
            wake: Arc::new(Notify::new()),
            wake_any: Notify::new(),
            status: watch::Sender::new(IndexerStatus::default()),
            waiting: watch::Sender::new(0),
            prepared: Mutex::default(),
            rebuilding: Mutex::default(),
            outage: Mutex::default(),
        }
    }

    /// Limits the indexer to the changes for the collection of its index, which
    /// [`Outbox::open_collections`] has recorded. It pauses while the collection receives no
    /// changes.
    #[must_use]
    pub fn of_recorded_collection(self) -> Self {
        Self {
            outbox: self.outbox.of_collection(self.index.schema().collection()),
            recorded: true,
            ..self
        }
    }

    /// Makes the indexer share the bound of background work with the calls of this process.
    #[must_use]
    pub fn beside_calls(self, background: Background) -> Self {
        Self { background, ..self }
    }

    /// A handle that reports this indexer's status and wakes it.
    pub fn handle(&self) -> IndexerHandle {
        IndexerHandle::new(&self.wake, &self.status, &self.waiting)
    }

    pub(super) fn set_rebuilding(&self, since: Option<Instant>) {
        *self
            .rebuilding
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = since;
    }

    pub(super) fn note(&self, error: &IndexerError) {
        let message = error_chain(error);
        self.log(error, &message);
        let last = LastError {
            message,
            time: OffsetDateTime::now_utc(),
        };
        self.status
            .send_modify(|status| status.last_error = Some(last));
    }

    /// Logs an error. An outage is logged once until its text changes or it ends.
    pub(super) fn log(&self, error: &IndexerError, message: &str) {
        if error.is_outage() {
            let mut outage = self.outage.lock().unwrap_or_else(PoisonError::into_inner);
            if outage.as_deref() == Some(message) {
                return;
            }
            *outage = Some(message.to_owned());
        }
        tracing::warn!(error = message, "indexing failed");
    }

    /// Ends an outage.
    pub(super) fn recovered(&self) {
        let mut outage = self.outage.lock().unwrap_or_else(PoisonError::into_inner);
        if outage.take().is_some() {
            tracing::info!("indexing has recovered");
        }
    }

    pub(super) fn max_attempts(&self) -> i32 {
        i32::try_from(self.config.max_attempts).unwrap_or(i32::MAX)
    }

    /// The pause after `failures` failures in a row of the store or of the index as a whole:
    /// short enough that the index is soon up to date once they answer again.
    pub(super) fn outage_pause(&self, failures: u32) -> Duration {
        self.backoff(failures).min(LONGEST_OUTAGE_PAUSE)
    }

    /// The pause after `failures` failures in a row: `retry_base` doubled for each after
    /// the first, at most `retry_max`, plus up to 25 % jitter against synchronized
    /// retries.
    pub(super) fn backoff(&self, failures: u32) -> Duration {
        let doubled = 2_u32.saturating_pow(failures.saturating_sub(1));
        let pause = self
            .config
            .retry_base
            .saturating_mul(doubled)
            .min(self.config.retry_max);
        pause + pause / 4 * fastrand::u32(..1_000) / 1_000
    }
}
