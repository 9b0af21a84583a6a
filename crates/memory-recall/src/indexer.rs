//! The worker that carries changes from the outbox into the index.

mod carry;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures::future::join_all;
use memory_contract::TenantId;
use memory_store::{Failure, Job, LeaseId};
use time::OffsetDateTime;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::config::IndexerConfig;
use crate::embed::Embedder;
use crate::error::RecallError;
use crate::index::{Backend, Index, IndexState, Prepared};
use crate::source::Outbox;

/// The worker: claim, load, embed, write, recheck, acknowledge. Several may run
/// at once, in several processes.
pub struct Indexer {
    outbox: Arc<dyn Outbox>,
    index: Arc<dyn Index>,
    embedder: Option<Embedder>,
    config: IndexerConfig,
    wake: Arc<Notify>,
    status: watch::Sender<IndexerStatus>,
    /// Since when the index is being rebuilt, as far as this worker knows.
    rebuilding: Mutex<Option<Instant>>,
    /// The error of the store, the index or the model that lasts, in words.
    outage: Mutex<Option<String>>,
}

/// Wakes the worker, waits for it, and looks at it. Cheap to clone.
#[derive(Clone)]
pub struct IndexerHandle {
    wake: Arc<Notify>,
    status: watch::Receiver<IndexerStatus>,
}

/// What the worker has done since it was started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexerStatus {
    /// Changes acknowledged.
    pub acknowledged: u64,
    /// The error met last.
    pub last_error: Option<LastError>,
}

/// An error and when it was met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastError {
    /// The error in words, its causes included.
    pub message: String,
    /// When it was met.
    pub time: OffsetDateTime,
}

/// How often an idle worker looks whether the index still has its collection.
const LOOK: Duration = Duration::from_secs(2);

impl Indexer {
    /// A worker that has yet to [`Indexer::run`].
    pub fn new(
        outbox: Arc<dyn Outbox>,
        index: Arc<dyn Index>,
        embedder: Option<Embedder>,
        config: IndexerConfig,
    ) -> Self {
        Self {
            outbox,
            index,
            embedder,
            config,
            wake: Arc::new(Notify::new()),
            status: watch::Sender::new(IndexerStatus::default()),
            rebuilding: Mutex::default(),
            outage: Mutex::default(),
        }
    }

    /// Wakes this worker, waits for it and looks at it.
    pub fn handle(&self) -> IndexerHandle {
        IndexerHandle {
            wake: Arc::clone(&self.wake),
            status: self.status.subscribe(),
        }
    }

    /// Prepares the index, then works until it is told to stop; the batches at
    /// hand are finished first. A store or an index that does not answer is
    /// tried again for as long as it takes, and costs no change one of its tries.
    pub async fn run(self, stop: CancellationToken) {
        let mut failures = 0;
        while !stop.is_cancelled() {
            match self.prepare().await {
                Ok(()) => {
                    failures = 0;
                    // While one lane writes, another embeds.
                    let lost = stop.child_token();
                    join_all((0..self.config.lanes.max(1)).map(|_| self.lane(&lost))).await;
                }
                Err(error) => {
                    failures += 1;
                    self.note(&error);
                    self.pause(&stop, self.backoff(failures)).await;
                }
            }
        }
    }

    /// Carries out batches until it is told to stop, or the index is lost.
    async fn lane(&self, lost: &CancellationToken) {
        let mut failures = 0;
        let mut looked = Instant::now();
        while !lost.is_cancelled() {
            match self.round().await {
                Ok(0) => {
                    failures = 0;
                    tokio::select! {
                        () = self.wake.notified() => {}
                        // Only after a pause, so that preparing cannot spin.
                        () = self.pause(lost, self.config.poll_interval) => {
                            if self.is_unavailable(&mut looked).await {
                                lost.cancel();
                            }
                        }
                    }
                }
                Ok(_) => failures = 0,
                Err(error) => {
                    failures += 1;
                    self.note(&error);
                    if matches!(error, RecallError::IndexLost { .. }) {
                        lost.cancel();
                    }
                    self.pause(lost, self.backoff(failures)).await;
                }
            }
        }
    }

    /// Whether the index does not answer, or has lost its collection, which only
    /// its status tells where nobody writes: then it has to be prepared anew.
    async fn is_unavailable(&self, looked: &mut Instant) -> bool {
        if self.index.last_state() == IndexState::Unavailable {
            return true;
        }
        if self.index.backend() == Backend::Edge || looked.elapsed() < LOOK {
            return false;
        }
        *looked = Instant::now();
        let nobody = TenantId::new("");
        self.index.status(&nobody).await.state == IndexState::Unavailable
    }

    async fn pause(&self, stop: &CancellationToken, pause: Duration) {
        // Over early when it is told to stop.
        let _ = tokio::time::timeout(pause, stop.cancelled()).await;
    }

    /// Carries out one batch, and tells how many changes were in it.
    async fn round(&self) -> Result<usize, RecallError> {
        let batch = u32::try_from(self.config.batch_size).unwrap_or(u32::MAX);
        let claim = self.outbox.claim(batch, self.config.lease).await?;
        if claim.jobs.is_empty() {
            self.end_rebuilding(None).await?;
            return Ok(0);
        }
        let started = Instant::now();
        let count = claim.jobs.len();
        let oldest = claim.jobs.first().cloned();
        if count >= self.config.batch_size {
            // There is more to do than for one lane.
            self.wake.notify_one();
        }
        let jobs = self.bury(claim.lease, claim.jobs).await?;
        if !jobs.is_empty() {
            self.work(claim.lease, &jobs).await?;
        }
        metrics::histogram!("recollect_index_batch_seconds")
            .record(started.elapsed().as_secs_f64());
        // Only now: an error here must not keep what was claimed.
        self.end_rebuilding(oldest.as_ref()).await?;
        Ok(count)
    }

    /// Makes the index ready, and queues every message where it has none yet. A
    /// worker that dies in between leaves the index unmarked, so that the next
    /// one queues again.
    async fn prepare(&self) -> Result<(), RecallError> {
        match self.index.prepare().await? {
            Prepared::Whole => self.set_rebuilding(None),
            Prepared::Rebuilding => self.set_rebuilding(Some(Instant::now())),
            Prepared::New => {
                let queued = self.outbox.enqueue_everything().await?;
                let rebuilding = queued > 0;
                self.index.mark_rebuilding(rebuilding).await?;
                self.set_rebuilding(rebuilding.then(Instant::now));
                if rebuilding {
                    tracing::info!(
                        queued,
                        "the index is new; every message and memory is queued"
                    );
                }
            }
        }
        Ok(())
    }

    /// The index is whole again once nothing waits that was queued before the
    /// rebuilding began. `oldest` is the oldest change that was just claimed.
    async fn end_rebuilding(&self, oldest: Option<&Job>) -> Result<(), RecallError> {
        let since = *self
            .rebuilding
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let Some(since) = since else { return Ok(()) };
        let age = |job: &Job| OffsetDateTime::now_utc() - job.created;
        if oldest.is_some_and(|job| age(job) >= since.elapsed()) {
            return Ok(());
        }
        let stats = self.outbox.stats().await?;
        if stats.pending == 0 || stats.lag < since.elapsed() {
            self.index.mark_rebuilding(false).await?;
            self.set_rebuilding(None);
            tracing::info!("the index is whole");
        }
        Ok(())
    }

    fn set_rebuilding(&self, since: Option<Instant>) {
        *self
            .rebuilding
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = since;
    }

    /// Gives up the jobs that were claimed too often, as those are that kill
    /// their worker, and returns the others.
    async fn bury(&self, lease: LeaseId, jobs: Vec<Job>) -> Result<Vec<Job>, RecallError> {
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

    /// Carries out jobs together; if the index refuses one of them, each by
    /// itself, so that it alone fails.
    async fn work(&self, lease: LeaseId, jobs: &[Job]) -> Result<(), RecallError> {
        let ids = |jobs: &[Job]| jobs.iter().map(|job| job.id).collect::<Vec<_>>();
        match self.carry_out(jobs).await {
            Ok(()) => return self.acknowledge(lease, &ids(jobs)).await,
            Err(error) if passing(&error) => {
                self.outbox.release(lease, &ids(jobs)).await?;
                return Err(error);
            }
            Err(error) if jobs.len() == 1 => return self.put_back(lease, &jobs[0], &error).await,
            Err(_) => {}
        }
        for (place, job) in jobs.iter().enumerate() {
            match self.carry_out(std::slice::from_ref(job)).await {
                Ok(()) => self.acknowledge(lease, &[job.id]).await?,
                Err(error) if passing(&error) => {
                    self.outbox.release(lease, &ids(&jobs[place..])).await?;
                    return Err(error);
                }
                Err(error) => self.put_back(lease, job, &error).await?,
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
        self.note(error);
        self.give_back(lease, job, chain(error)).await
    }

    /// Gives a job back for a later try, or gives it up after the last one.
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
        // Whoever waits for the index learns that this will not come.
        self.status.send_modify(|_| {});
        Ok(())
    }

    fn note(&self, error: &RecallError) {
        let message = chain(error);
        self.log(error, &message);
        let last = LastError {
            message,
            time: OffsetDateTime::now_utc(),
        };
        self.status
            .send_modify(|status| status.last_error = Some(last));
    }

    /// Logs an error of one change each time; one of the store, the index or the
    /// model as a whole only where it is another than before.
    fn log(&self, error: &RecallError, message: &str) {
        if passing(error) {
            let mut outage = self.outage.lock().unwrap_or_else(PoisonError::into_inner);
            if outage.as_deref() == Some(message) {
                return;
            }
            *outage = Some(message.to_owned());
        }
        tracing::warn!(error = message, "indexing met an error");
    }

    /// The store, the index and the model have worked.
    fn recovered(&self) {
        let mut outage = self.outage.lock().unwrap_or_else(PoisonError::into_inner);
        if outage.take().is_some() {
            tracing::info!("indexing works again");
        }
    }

    fn max_attempts(&self) -> i32 {
        i32::try_from(self.config.max_attempts).unwrap_or(i32::MAX)
    }

    /// The pause after so many failures: doubled each time, with up to a quarter
    /// of chance on top, so that workers do not come back all at once.
    fn backoff(&self, failures: u32) -> Duration {
        let doubled = 2_u32.saturating_pow(failures.saturating_sub(1));
        let pause = self
            .config
            .retry_base
            .saturating_mul(doubled)
            .min(self.config.retry_max);
        let chance = (Uuid::new_v4().as_u128() % 1_000) as u32;
        pause + pause / 4 * chance / 1_000
    }
}

impl IndexerHandle {
    /// Tells the worker that there is something to do.
    pub fn wake(&self) {
        self.wake.notify_one();
    }

    /// What the worker has done.
    pub fn status(&self) -> IndexerStatus {
        self.status.borrow().clone()
    }

    /// Waits until the worker has done something more, but no longer than
    /// `limit`.
    pub(crate) async fn moved(&mut self, limit: Duration) {
        let moved = tokio::time::timeout(limit, self.status.changed()).await;
        if let Ok(Err(_)) = moved {
            // The worker is gone; somebody else may do its work.
            tokio::time::sleep(limit).await;
        }
    }
}

/// Whether an error is about the store, the index or the model as a whole, and
/// not about a change.
fn passing(error: &RecallError) -> bool {
    matches!(error, RecallError::Store(_)) || error.retryable()
}

/// An error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
