//! Distilling threads in the background: summaries, observations, facts.

mod cut;
mod extraction;
mod make;
mod observation;
mod queue;
mod source;
mod summary;

use std::sync::Arc;
use std::time::Duration;

use memory_contract::{ResolvedPolicy, Thread};
use memory_distill::{DistillError, Distiller, Method};
use memory_index::Background;
use memory_recall::{Recall, RecallError};
use memory_store::{Caller, DistillJob, Store, StoreError};
use tokio::task::JoinError;

use crate::config::DistillWorkConfig;

pub(crate) use queue::DistillQueue;

/// The most tokens by which a thread grows before it is distilled again: its policy may
/// have changed since the next run was scheduled.
const MAX_GROWTH: i64 = 20_000;
/// The pause before a retry of a thread that changes during each run.
const PAUSE: Duration = Duration::from_secs(1);

/// The dependencies of distilling.
#[derive(Clone)]
pub(crate) struct Distilling {
    pub(crate) store: Store,
    pub(crate) recall: Recall,
    pub(crate) distiller: Arc<Distiller>,
    pub(crate) background: Background,
    pub(crate) config: DistillWorkConfig,
}

/// Distilling one thread once.
struct DistillRun<'a> {
    with: &'a Distilling,
    caller: &'a Caller,
    thread: &'a Thread,
    policy: &'a ResolvedPolicy,
    /// The model, or the extractive distiller once the attempts with the model are
    /// used up.
    method: Method,
}

/// When a thread is due to be distilled again: at a size, or at a time, whichever comes
/// first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Due {
    /// The size of the path to the head, in tokens.
    pub(crate) path_tokens: i64,
    /// The time from now. `None`: only the size counts.
    pub(crate) after: Option<Duration>,
}

impl Due {
    /// Only when an append, a policy or a head asks for it.
    const NEVER: Self = Self {
        path_tokens: i64::MAX,
        after: None,
    };

    /// At once, behind the threads that wait already.
    const NOW: Self = Self {
        path_tokens: 0,
        after: None,
    };

    /// In a moment, because the thread is being changed.
    const SOON: Self = Self {
        path_tokens: i64::MAX,
        after: Some(PAUSE),
    };

    /// When the path has reached this size.
    fn at(path_tokens: i64) -> Self {
        Self {
            path_tokens,
            after: None,
        }
    }

    /// The earlier of two.
    fn or(self, other: Self) -> Self {
        Self {
            path_tokens: self.path_tokens.min(other.path_tokens),
            after: match (self.after, other.after) {
                (Some(one), Some(another)) => Some(one.min(another)),
                (one, another) => one.or(another),
            },
        }
    }
}

/// Why distilling failed. What was committed stays.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Distill(#[from] DistillError),
    #[error(transparent)]
    Recall(#[from] RecallError),
    #[error(transparent)]
    Task(#[from] JoinError),
}

impl Distilling {
    /// Distills one thread: does everything that is due, and returns when it is due
    /// again.
    ///
    /// # Errors
    /// The first failure; what was committed before stays.
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

pub(crate) fn describe_metrics() {
    make::describe_metrics();
    extraction::describe_metrics();
    queue::describe_metrics();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earlier_of_two_due_times_counts_by_size_and_by_time() {
        let later = Due {
            after: Some(PAUSE * 2),
            ..Due::at(10)
        };
        assert_eq!(Due::NEVER.or(later), later);
        assert_eq!(later.or(Due::SOON).after, Some(PAUSE));
        assert_eq!(later.or(Due::at(3)).path_tokens, 3);
        assert_eq!(later.or(Due::NOW).path_tokens, 0);
    }
}
