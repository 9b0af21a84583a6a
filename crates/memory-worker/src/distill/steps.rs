//! The steps of distilling a thread.

use memory_distill::Method;
use memory_store::{DistillJob, StoreError};

use super::due::Due;
use super::failure::Failure;
use super::run::{DistillRun, Distilling};
use super::{extraction, observation, summary};

/// The most tokens by which a thread grows before it is distilled again: its policy may
/// have changed since the next run was scheduled.
const MAX_GROWTH: i64 = 20_000;
impl Distilling {
    /// Distills one thread: does everything that is due, and returns when it is due
    /// again.
    ///
    /// # Errors
    /// The first failure; earlier commits stay.
    pub(crate) async fn distill(&self, job: &DistillJob) -> Result<Due, Failure> {
        match self.try_distill(job).await {
            // It was erased or has expired.
            Err(Failure::Store(StoreError::ThreadNotFound)) => Ok(Due::NEVER),
            // The head that the run began with was erased.
            Err(Failure::Store(StoreError::MessageNotFound)) => Ok(Due::SOON),
            distilled => distilled,
        }
    }

    async fn try_distill(&self, job: &DistillJob) -> Result<Due, Failure> {
        let policies = self
            .store
            .policies(&job.caller)
            .policies(job.thread)
            .await?;
        let policy = policies.resolve();
        let thread = policies.thread;
        let run = DistillRun {
            with: self,
            caller: &job.caller,
            thread: &thread,
            policy: &policy,
            method: match job.attempts > self.config.model_attempts {
                true => Method::Extractive,
                false => Method::Model,
            },
        };
        run.all_steps().await
    }
}

impl DistillRun<'_> {
    /// Runs every step, and returns when the next run is due. A failed step does not
    /// stop the others: they may need no model, or another one.
    async fn all_steps(&self) -> Result<Due, Failure> {
        let first = self.state().await?;
        let at_latest = Due::at(first.path_tokens.saturating_add(MAX_GROWTH));
        let summarized = summary::step(self, first.clone()).await;
        // Summaries do not change what observations are made of.
        let observed = observation::step(self, first).await;
        let extracted = extraction::step(self).await;
        Ok(at_latest.or(summarized?).or(observed?).or(extracted?))
    }
}
