//! Claims threads that are due to be distilled, and ends the claims.

use std::sync::Arc;
use std::time::{Duration, Instant};

use memory_distill::BreakerState;
use memory_runtime::error_chain;
use memory_store::{DistillJob, DistillateWorker, LeaseId, StoreError, WorkerStore, retry_pause};
use metrics::{describe_gauge, gauge};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep};
use tokio_util::sync::CancellationToken;

use super::due::Due;
use super::failure::Failure;
use super::run::Distilling;
use crate::jobs::record_run;

const NAME: &str = "distill";
/// The pause after the database did not answer.
const ERROR_PAUSE: Duration = Duration::from_secs(5);
/// How often a lease is extended before it would end.
const EXTENSIONS: u32 = 3;
/// While users call, a run without a model is followed by a pause of so many times its
/// duration, in which the messages of further appends collect.
const PAUSE: u32 = 19;
/// The longest of these pauses.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// There is no pause while a thread of any tenant has waited for this long.
const LONG_WAIT: Duration = Duration::from_secs(5);

/// Distills the threads that are due, several at a time.
pub(crate) struct DistillQueue {
    with: Distilling,
    workers: WorkerStore,
}

impl DistillQueue {
    pub(crate) fn new(with: Distilling, workers: WorkerStore) -> Self {
        Self { with, workers }
    }

    fn queue(&self) -> DistillateWorker<'_> {
        self.workers.distillates(&self.with.store)
    }

    /// Works until `stop`. Then runs in progress are aborted and their threads are
    /// released; only committed work counts, so nothing is lost.
    pub(crate) async fn run(self: Arc<Self>, stop: CancellationToken) {
        let this = self;
        let lanes = this.with.config.lanes as usize;
        let mut runs = JoinSet::new();
        let mut ticks = interval(this.with.config.poll_interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while !stop.is_cancelled() {
            tokio::select! {
                () = stop.cancelled() => break,
                _ = ticks.tick(), if runs.len() < lanes => {}
                // A free lane may claim at once.
                Some(ended) = runs.join_next() => warn_of_panic(ended),
            }
            while let Some(ended) = runs.try_join_next() {
                warn_of_panic(ended);
            }
            let free = u32::try_from(lanes - runs.len()).unwrap_or_default();
            let lease = this.with.config.lease;
            let claim = match this.queue().claim_distill(free, lease).await {
                Ok(claim) => claim,
                Err(error) => {
                    tracing::warn!(job = NAME, error = %error_chain(&error), "a background job failed");
                    ticks.reset_after(ERROR_PAUSE);
                    continue;
                }
            };
            for job in claim.jobs {
                let (this, stop) = (Arc::clone(&this), stop.clone());
                runs.spawn(async move {
                    let start = Instant::now();
                    this.distill_claimed(claim.lease, &job, &stop).await;
                    this.leave_room(start.elapsed(), &stop).await;
                });
            }
        }
        while let Some(ended) = runs.join_next().await {
            warn_of_panic(ended);
        }
    }

    /// Distills one thread, and ends its claim.
    async fn distill_claimed(&self, lease: LeaseId, job: &DistillJob, stop: &CancellationToken) {
        let start = Instant::now();
        let distilled = tokio::select! {
            () = stop.cancelled() => {
                self.log_error(job, self.queue().release_distill(lease, job).await.map(drop));
                return;
            }
            // The lease is lost: another worker has the thread.
            () = self.keep(lease, job) => return,
            distilled = self.with.distill(job) => distilled,
        };
        record_run(NAME, start, distilled.is_ok());
        for model in self.with.distiller.models() {
            let is_open = model.health.breaker != BreakerState::Closed;
            gauge!("recollect_model_breaker_open", "purpose" => model.purpose.as_str())
                .set(u8::from(is_open));
        }
        self.log_error(job, self.end(lease, job, distilled).await);
    }

    /// Leaves most of the time to users while they call. A run with a model mostly waits for
    /// that.
    async fn leave_room(&self, worked: Duration, stop: &CancellationToken) {
        let distiller = &self.with.distiller;
        let model = distiller.generation_model().or(distiller.observer_model());
        if model.is_some() || !self.with.background.is_called() {
            return;
        }
        if let Ok(false) = self.queue().distill_is_behind(LONG_WAIT).await {
            let pause = (worked * PAUSE).min(LONGEST_PAUSE);
            stop.run_until_cancelled(sleep(pause)).await;
        }
    }

    async fn end(
        &self,
        lease: LeaseId,
        job: &DistillJob,
        distilled: Result<Due, Failure>,
    ) -> Result<(), StoreError> {
        let queue = self.queue();
        let ended = match distilled {
            Ok(Due {
                path_tokens,
                after: None,
            }) => queue.distill_done(lease, job, path_tokens).await?,
            Ok(Due {
                path_tokens,
                after: Some(after),
            }) => {
                queue
                    .distill_postpone(lease, job, path_tokens, after)
                    .await?
            }
            Err(failure) => {
                let why = error_chain(&failure);
                let pause = retry_pause(job.attempts);
                tracing::warn!(
                    thread_id = %job.thread,
                    attempts = job.attempts,
                    pause_ms = pause.as_millis(),
                    error = %why,
                    "a thread could not be distilled; it is tried again"
                );
                queue.retry_distill(lease, job, &why, pause).await?
            }
        };
        tracing::debug!(thread_id = %job.thread, ended, "a thread was distilled");
        Ok(())
    }

    /// Extends the lease until it is lost.
    async fn keep(&self, lease: LeaseId, job: &DistillJob) {
        let time = self.with.config.lease;
        loop {
            sleep(time / EXTENSIONS).await;
            match self.queue().extend_distill(lease, job, time).await {
                Ok(true) => {}
                Ok(false) => return,
                // The database may answer again before the lease ends. If not, the
                // generation check rejects the commits made meanwhile.
                error => self.log_error(job, error.map(drop)),
            }
        }
    }

    /// Logs that a claim could not be changed. It ends with its lease.
    fn log_error(&self, job: &DistillJob, ended: Result<(), StoreError>) {
        if let Err(error) = ended {
            tracing::warn!(
                job = NAME,
                thread_id = %job.thread,
                error = %error_chain(&error),
                "a thread's claim could not be changed"
            );
        }
    }
}

/// A thread that makes a worker panic becomes due again when its lease ends; the attempt
/// counts.
fn warn_of_panic(ended: Result<(), tokio::task::JoinError>) {
    if let Err(error) = ended {
        tracing::error!(job = NAME, %error, "a background job panicked");
    }
}

pub(super) fn describe_metrics() {
    describe_gauge!(
        "recollect_model_breaker_open",
        "1 while the circuit breaker of a model is open or half-open, by purpose; else 0."
    );
}
