//! Looking at threads that have something to distill.

use std::sync::Arc;
use std::time::{Duration, Instant};

use memory_distill::BreakerState;
use memory_store::{DistillJob, LeaseId, Outbox, StoreError, retry_pause};
use metrics::{describe_gauge, gauge};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep};
use tokio_util::sync::CancellationToken;

use super::{Distilling, Due, Failure};
use crate::jobs::record_run;
use memory_store::error_chain;

const NAME: &str = "distill";
/// The pause after the database did not answer.
const ERROR_PAUSE: Duration = Duration::from_secs(5);
/// How often a lease is prolonged before it ends.
const EXTENSIONS: u32 = 3;

/// Looks at threads whose time has come, several at a time.
pub(crate) struct DistillQueue {
    with: Distilling,
    outbox: Outbox,
}

impl DistillQueue {
    pub(crate) fn new(with: Distilling, outbox: Outbox) -> Self {
        Self { with, outbox }
    }

    /// Works until the server stops. Then what is under way is broken off, and the
    /// threads are given back: nothing is lost by that, since only what is
    /// committed counts.
    pub(crate) async fn run(self, stop: CancellationToken) {
        let this = Arc::new(self);
        let lanes = this.with.config.lanes as usize;
        let mut looks = JoinSet::new();
        let mut ticks = interval(this.with.config.poll_interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while !stop.is_cancelled() {
            tokio::select! {
                () = stop.cancelled() => break,
                _ = ticks.tick(), if looks.len() < lanes => {}
                // There may be more to do now.
                Some(ended) = looks.join_next() => warn_of_panic(ended),
            }
            while let Some(ended) = looks.try_join_next() {
                warn_of_panic(ended);
            }
            let free = u32::try_from(lanes - looks.len()).unwrap_or_default();
            let lease = this.with.config.lease;
            let claim = match this.outbox.claim_distill(free, lease).await {
                Ok(claim) => claim,
                Err(error) => {
                    tracing::warn!(job = NAME, error = %error_chain(&error), "a background job failed");
                    ticks.reset_after(ERROR_PAUSE);
                    continue;
                }
            };
            for job in claim.jobs {
                let (this, stop) = (Arc::clone(&this), stop.clone());
                looks.spawn(async move { this.look(claim.lease, &job, &stop).await });
            }
        }
        while let Some(ended) = looks.join_next().await {
            warn_of_panic(ended);
        }
    }

    /// Looks at one thread, and ends its claim.
    async fn look(&self, lease: LeaseId, job: &DistillJob, stop: &CancellationToken) {
        let start = Instant::now();
        let looked = tokio::select! {
            () = stop.cancelled() => {
                self.told(job, self.outbox.release_distill(lease, job).await.map(drop));
                return;
            }
            // Somebody else has it now.
            () = self.keep(lease, job) => return,
            looked = self.with.look(job) => looked,
        };
        record_run(NAME, start, looked.is_ok());
        for model in self.with.distiller.models() {
            let is_open = model.health.breaker != BreakerState::Closed;
            gauge!("recollect_model_breaker_open", "purpose" => model.purpose.as_str())
                .set(u8::from(is_open));
        }
        self.told(job, self.end(lease, job, looked).await);
    }

    async fn end(
        &self,
        lease: LeaseId,
        job: &DistillJob,
        looked: Result<Due, Failure>,
    ) -> Result<(), StoreError> {
        let store = &self.with.store;
        let ended = match looked {
            Ok(Due {
                path_tokens,
                after: None,
            }) => store.distill_done(lease, job, path_tokens).await?,
            Ok(Due {
                path_tokens,
                after: Some(after),
            }) => {
                store
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
                self.outbox.retry_distill(lease, job, &why, pause).await?
            }
        };
        tracing::debug!(thread_id = %job.thread, ended, "a thread was looked at");
        Ok(())
    }

    /// Prolongs a lease, until it is lost.
    async fn keep(&self, lease: LeaseId, job: &DistillJob) {
        let time = self.with.config.lease;
        loop {
            sleep(time / EXTENSIONS).await;
            match self.outbox.extend_distill(lease, job, time).await {
                Ok(true) => {}
                Ok(false) => return,
                // It may be there again before the lease ends. If not, what is
                // committed meanwhile is fenced.
                error => self.told(job, error.map(drop)),
            }
        }
    }

    /// Logs what kept a claim from being ended. The lease ends it then.
    fn told(&self, job: &DistillJob, ended: Result<(), StoreError>) {
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

/// A thread that makes a worker panic comes back when its lease ends, and the try
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
