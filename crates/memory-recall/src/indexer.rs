//! The worker that applies the changes in the outbox to the index.

mod batch_size;
mod carry;
mod handle;
mod lease;
mod prepare;

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures::future::join_all;
use memory_contract::TenantId;
use memory_store::{Failure, Job, LeaseId, Store, WorkerStore, error_chain};
use time::OffsetDateTime;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::background::{Background, Room};
use crate::config::IndexerConfig;
use crate::embed::Embedder;
use crate::error::RecallError;
use crate::index::{Backend, Index, IndexState};
use batch_size::{BatchSize, Limits};
pub use handle::IndexerHandle;
use lease::keep_extending;

/// Indexes changes: claims a batch from the outbox, loads and embeds what it is about,
/// writes the index, rechecks, acknowledges. Several indexers may run at once, in one or
/// several processes.
pub struct Indexer {
    store: Store,
    outbox: WorkerStore,
    index: Arc<dyn Index>,
    embedder: Option<Embedder>,
    config: IndexerConfig,
    background: Background,
    /// Whether its collection is recorded in the database, which then says whether it
    /// receives changes.
    recorded: bool,
    wake: Arc<Notify>,
    /// Wakes a lane that claims any change.
    wake_any: Notify,
    status: watch::Sender<IndexerStatus>,
    /// Queries that wait for a change.
    waiting: watch::Sender<usize>,
    /// The number of its recorded collection when the index was prepared last.
    prepared: Mutex<Option<i32>>,
    /// When a rebuild of the index began, as far as this worker knows; `None` outside a
    /// rebuild.
    rebuilding: Mutex<Option<Instant>>,
    /// Text of the last logged error of the store, the index or the model as a whole,
    /// until a batch succeeds.
    outage: Mutex<Option<String>>,
}

/// The changes that a lane claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lane {
    /// All changes.
    Any,
    /// Those of neither an import nor a rebuild, which so always find a free lane.
    Live,
}

/// What a lane did at a time.
#[derive(Default)]
struct Round {
    /// How many it claimed.
    changes: usize,
    /// Whether it claimed as many as it may.
    is_full: bool,
    /// Whether they are of imports and rebuilds.
    is_bulk: bool,
}

/// Progress of an [`Indexer`] since its start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexerStatus {
    /// Changes indexed and acknowledged.
    pub acknowledged: u64,
    /// The most recent error of the indexer as a whole; it stays after a recovery. Errors of
    /// single changes are kept with these, for their tenants.
    pub last_error: Option<LastError>,
}

/// An error of an [`Indexer`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastError {
    /// The error's text with its causes. No message content.
    pub message: String,
    /// When it occurred.
    pub time: OffsetDateTime,
}

/// Minimum time between two checks that the index receives changes. An idle worker also checks
/// that the collection still exists.
const COLLECTION_CHECK_INTERVAL: Duration = Duration::from_secs(2);

/// While users call, a batch is made in so many parts: a live change that is written
/// meanwhile waits less.
const BATCHES_BESIDE_CALLS: usize = 4;

/// Longest pause between two attempts to reach the store or the index.
const LONGEST_OUTAGE_PAUSE: Duration = Duration::from_secs(5);

pub(crate) fn describe_metrics() {
    metrics::describe_counter!(
        "recollect_indexed_total",
        "Changes written into the index and acknowledged."
    );
    metrics::describe_counter!(
        "recollect_dead_letters_total",
        "Changes that could not be indexed and were given up."
    );
    metrics::describe_histogram!(
        "recollect_index_batch_seconds",
        metrics::Unit::Seconds,
        "Duration of indexing one batch of changes: loading, embedding, writing, rechecking."
    );
}

impl Indexer {
    /// Creates an indexer; [`Indexer::run`] starts it. `store` and `outbox` are of the
    /// same database.
    pub fn new(
        store: Store,
        outbox: WorkerStore,
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

    /// The same for the changes of its index's collection alone, which is one of those that
    /// [`WorkerStore::open_collections`] records. It pauses while the collection receives
    /// none.
    #[must_use]
    pub fn of_recorded_collection(self) -> Self {
        Self {
            outbox: self.outbox.of_collection(self.index.schema().collection()),
            recorded: true,
            ..self
        }
    }

    /// The same, sharing the room for background work with the calls of this process.
    #[must_use]
    pub fn beside_calls(self, background: Background) -> Self {
        Self { background, ..self }
    }

    /// A handle that reports this indexer's status and wakes it.
    pub fn handle(&self) -> IndexerHandle {
        IndexerHandle::new(&self.wake, &self.status, &self.waiting)
    }

    /// Prepares the index, then indexes changes until `stop` is cancelled and the claimed
    /// batches are finished. While the store or the index does not answer, it retries
    /// with growing pauses; changes lose no attempt by that.
    pub async fn run(self, stop: CancellationToken) {
        let mut failures = 0;
        while !stop.is_cancelled() {
            match self.prepare().await {
                Ok(false) => self.pause(&stop, COLLECTION_CHECK_INTERVAL).await,
                Ok(true) => {
                    failures = 0;
                    // While one lane writes, another embeds.
                    let lost = stop.child_token();
                    let lanes = (0..self.config.lanes.max(1)).map(|number| match number {
                        1 => Lane::Live,
                        _ => Lane::Any,
                    });
                    join_all(lanes.map(|lane| self.lane(lane, &lost))).await;
                }
                Err(error) => {
                    failures += 1;
                    self.note(&error);
                    self.pause(&stop, self.outage_pause(failures)).await;
                }
            }
        }
    }

    /// Indexes batches until `lost` is cancelled, which it does itself if the index has
    /// to be prepared again.
    async fn lane(&self, lane: Lane, lost: &CancellationToken) {
        let mut failures = 0;
        let mut woken = false;
        let mut lingers = false;
        let mut checked = Instant::now();
        let mut size = BatchSize::new(self.config.batch_size);
        while !lost.is_cancelled() {
            let room = async {
                if lingers {
                    self.linger().await;
                }
                self.room(lane).await
            };
            let room = tokio::select! {
                room = room => room,
                () = lost.cancelled() => return,
            };
            let limits = self.limits(lane, &size);
            let started = Instant::now();
            match self.round(lane, limits, room).await {
                Ok(Round { changes: 0, .. }) => {
                    failures = 0;
                    lingers = true;
                    if woken && lane == Lane::Live {
                        // The change is another lane's.
                        self.wake_any.notify_one();
                    }
                    woken = false;
                    tokio::select! {
                        () = self.wake.notified() => woken = true,
                        () = self.wake_any.notified(), if lane == Lane::Any => {}
                        // Only after a pause, so that `run` does not prepare in a busy loop.
                        () = self.pause(lost, self.config.poll_interval) => {
                            lingers = false;
                            if self.has_to_be_prepared(&mut checked).await {
                                lost.cancel();
                            }
                        }
                    }
                }
                Ok(round) => {
                    failures = 0;
                    lingers = !round.is_full;
                    if round.is_bulk {
                        size.note(round.changes, started.elapsed());
                    }
                    if self.is_found_replaced(&mut checked).await == Some(true) {
                        lost.cancel();
                    }
                }
                Err(error) => {
                    failures += 1;
                    size.reset();
                    self.note(&error);
                    if matches!(error, RecallError::IndexLost { .. }) {
                        lost.cancel();
                    }
                    self.pause(lost, self.outage_pause(failures)).await;
                    // An engine that closed has to be opened; a server comes back by itself.
                    let is_embedded = self.index.backend() == Backend::Edge;
                    if is_embedded && self.index.last_state() == IndexState::Unavailable {
                        lost.cancel();
                    }
                }
            }
        }
    }

    /// Whether the index does not answer, has lost its collection, was recorded anew, or receives
    /// no more changes. Without writes only the status reveals a lost collection.
    async fn has_to_be_prepared(&self, checked: &mut Instant) -> bool {
        if self.index.last_state() == IndexState::Unavailable {
            return true;
        }
        match self.is_found_replaced(checked).await {
            None => return false,
            Some(true) => return true,
            Some(false) => {}
        }
        if self.index.backend() == Backend::Edge {
            return false;
        }
        let any_tenant = TenantId::new("");
        self.index.status(&any_tenant).await.state == IndexState::Unavailable
    }

    /// Whether the index was replaced; `None` if that was checked a moment ago.
    async fn is_found_replaced(&self, checked: &mut Instant) -> Option<bool> {
        if checked.elapsed() < COLLECTION_CHECK_INTERVAL {
            return None;
        }
        *checked = Instant::now();
        Some(matches!(self.is_replaced().await, Ok(true)))
    }

    async fn pause(&self, stop: &CancellationToken, pause: Duration) {
        // A cancelled `stop` ends the pause early.
        let _ = tokio::time::timeout(pause, stop.cancelled()).await;
    }

    /// Waits for further changes, unless a query waits for one.
    async fn linger(&self) {
        let mut waiting = self.waiting.subscribe();
        let a_query_waits = waiting.wait_for(|queries| *queries > 0);
        let _ = tokio::time::timeout(self.config.linger, a_query_waits).await;
    }

    /// Waits for room beside the calls of users. The lane of live changes has no such bound.
    async fn room(&self, lane: Lane) -> Option<Room> {
        match lane {
            Lane::Any => Some(self.background.indexing().await),
            Lane::Live => None,
        }
    }

    /// How many changes to claim at a time.
    fn limits(&self, lane: Lane, without_calls: &BatchSize) -> Limits {
        let configured = self.config.batch_size;
        let (live, bulk) = match lane {
            Lane::Any if self.background.is_called() => {
                let part = (configured / BATCHES_BESIDE_CALLS).max(1);
                (part, part)
            }
            Lane::Any => (configured, without_calls.get()),
            Lane::Live => (configured, 0),
        };
        Limits { live, bulk }
    }

    /// Indexes one batch in its room.
    async fn round(
        &self,
        lane: Lane,
        limits: Limits,
        _room: Option<Room>,
    ) -> Result<Round, RecallError> {
        let at_most = |limit| u32::try_from(limit).unwrap_or(u32::MAX);
        let (live, bulk) = (at_most(limits.live), at_most(limits.bulk));
        let lease = self.config.lease;
        let claim = match lane {
            Lane::Any => self.outbox.claim_any(live, bulk, lease).await?,
            Lane::Live => self.outbox.claim_live(live, lease).await?,
        };
        if claim.jobs.is_empty() {
            if lane == Lane::Any {
                self.end_rebuilding(None).await?;
            }
            return Ok(Round::default());
        }
        let started = Instant::now();
        let oldest = claim.jobs.first().filter(|job| job.bulk).cloned();
        let (changes, is_bulk) = (claim.jobs.len(), oldest.is_some());
        let limit = if is_bulk { limits.bulk } else { limits.live };
        let round = Round {
            changes,
            is_full: changes >= limit,
            is_bulk,
        };
        if round.is_full {
            // More changes may wait.
            self.wake.notify_one();
        }
        let jobs = self.give_up_worn(claim.lease, claim.jobs).await?;
        if !jobs.is_empty() {
            tokio::select! {
                worked = self.work(claim.lease, &jobs) => worked?,
                never = self.extend(claim.lease, &jobs) => match never {},
            }
        }
        metrics::histogram!("recollect_index_batch_seconds")
            .record(started.elapsed().as_secs_f64());
        // Last, because an error here must not keep the claim. Changes that are not part of
        // a rebuild say nothing about its end.
        if oldest.is_some() {
            self.end_rebuilding(oldest.as_ref()).await?;
        }
        Ok(round)
    }

    /// Keeps the lease of jobs that take longer.
    async fn extend(&self, lease: LeaseId, jobs: &[Job]) -> Infallible {
        let ids: Vec<i64> = jobs.iter().map(|job| job.id).collect();
        let length = self.config.lease;
        keep_extending(length, || self.outbox.extend(lease, &ids, length)).await
    }

    fn set_rebuilding(&self, since: Option<Instant>) {
        *self
            .rebuilding
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = since;
    }

    /// Gives up the jobs whose attempts were exceeded without a recorded failure, as
    /// happens if a job kills its worker, and returns the others.
    async fn give_up_worn(&self, lease: LeaseId, jobs: Vec<Job>) -> Result<Vec<Job>, RecallError> {
        let max = self.max_attempts();
        let (worn, jobs): (Vec<Job>, Vec<Job>) =
            jobs.into_iter().partition(|job| job.attempts > max);
        for job in &worn {
            let ended = job.attempts - 1;
            let error = format!("given up: its worker ended {ended} times before it was done");
            self.give_back(lease, job, error).await?;
        }
        Ok(jobs)
    }

    /// Indexes jobs together; if that is refused, each half of them, so that only the refused
    /// ones fail in the end.
    async fn work(&self, lease: LeaseId, jobs: &[Job]) -> Result<(), RecallError> {
        let ids = |jobs: &[Job]| jobs.iter().map(|job| job.id).collect::<Vec<_>>();
        let mut parts = vec![jobs];
        while let Some(part) = parts.pop() {
            match self.apply(part).await {
                Ok(()) => self.acknowledge(lease, &ids(part)).await?,
                Err(error) if is_outage(&error) => {
                    parts.push(part);
                    let rest: Vec<i64> = parts.into_iter().flat_map(ids).collect();
                    self.outbox.release(lease, &rest).await?;
                    return Err(error);
                }
                Err(error) => match part {
                    [job] => self.put_back(lease, job, &error).await?,
                    _ => {
                        let (first, second) = part.split_at(part.len() / 2);
                        parts.extend([second, first]);
                    }
                },
            }
        }
        Ok(())
    }

    async fn acknowledge(&self, lease: LeaseId, jobs: &[i64]) -> Result<(), RecallError> {
        self.outbox.ack(lease, jobs).await?;
        self.recovered();
        metrics::counter!("recollect_indexed_total").increment(jobs.len() as u64);
        self.status
            .send_modify(|status| status.acknowledged += jobs.len() as u64);
        Ok(())
    }

    async fn put_back(
        &self,
        lease: LeaseId,
        job: &Job,
        error: &RecallError,
    ) -> Result<(), RecallError> {
        let message = error_chain(error);
        self.log(error, &message);
        self.give_back(lease, job, message).await
    }

    /// Returns a job for a later attempt, or gives it up after the last one.
    async fn give_back(&self, lease: LeaseId, job: &Job, error: String) -> Result<(), RecallError> {
        let failure = Failure {
            id: job.id,
            error,
            delay: self.backoff(u32::try_from(job.attempts).unwrap_or(1)),
        };
        let attempts = self.max_attempts();
        let given_up = self.outbox.retry(lease, &[failure], attempts).await?;
        if given_up > 0 {
            tracing::error!(
                job = job.id,
                attempts = job.attempts,
                "a change was given up"
            );
            metrics::counter!("recollect_dead_letters_total").increment(given_up);
        }
        // Wakes queries that wait for this change.
        self.status.send_modify(|_| {});
        Ok(())
    }

    fn note(&self, error: &RecallError) {
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
    fn log(&self, error: &RecallError, message: &str) {
        if is_outage(error) {
            let mut outage = self.outage.lock().unwrap_or_else(PoisonError::into_inner);
            if outage.as_deref() == Some(message) {
                return;
            }
            *outage = Some(message.to_owned());
        }
        tracing::warn!(error = message, "indexing failed");
    }

    /// Ends an outage.
    fn recovered(&self) {
        let mut outage = self.outage.lock().unwrap_or_else(PoisonError::into_inner);
        if outage.take().is_some() {
            tracing::info!("indexing has recovered");
        }
    }

    fn max_attempts(&self) -> i32 {
        i32::try_from(self.config.max_attempts).unwrap_or(i32::MAX)
    }

    /// The pause after `failures` failures in a row of the store or of the index as a whole:
    /// short enough that the index is soon up to date once they answer again.
    fn outage_pause(&self, failures: u32) -> Duration {
        self.backoff(failures).min(LONGEST_OUTAGE_PAUSE)
    }

    /// The pause after `failures` failures in a row: `retry_base` doubled for each after
    /// the first, at most `retry_max`, plus up to 25 % jitter against synchronized
    /// retries.
    fn backoff(&self, failures: u32) -> Duration {
        let doubled = 2_u32.saturating_pow(failures.saturating_sub(1));
        let pause = self
            .config
            .retry_base
            .saturating_mul(doubled)
            .min(self.config.retry_max);
        let jitter = (Uuid::new_v4().as_u128() % 1_000) as u32;
        pause + pause / 4 * jitter / 1_000
    }
}

/// Whether an error concerns the store, the index or the model as a whole rather than
/// one change.
fn is_outage(error: &RecallError) -> bool {
    matches!(error, RecallError::Store(_)) || error.retryable()
}
