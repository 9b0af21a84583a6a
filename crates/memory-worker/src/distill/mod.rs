//! Distilling: what workers make of threads' messages while nobody waits for it.

mod cut;
mod extraction;
mod make;
mod observation;
mod queue;
mod source;
mod summary;

use std::sync::Arc;
use std::time::Duration;

use memory_contract::{PolicyLevel, ResolvedPolicy, TenantId, Thread};
use memory_distill::{DistillError, Distiller, Method};
use memory_recall::{Recall, RecallError};
use memory_store::{DistillJob, Policies, Store, StoreError};
use tokio::task::JoinError;

use crate::config::DistillWorkConfig;

pub(crate) use queue::DistillQueue;

/// A policy may change in a way that needs a look earlier than was thought, so one
/// comes after so many tokens in any case.
const LOOK_ANYWAY: i64 = 20_000;
/// The pause before a thread is looked at again that others keep changing.
const PAUSE: Duration = Duration::from_secs(1);

/// What a look at a thread works with.
#[derive(Clone)]
pub(crate) struct Distilling {
    pub(crate) store: Store,
    pub(crate) recall: Recall,
    pub(crate) distiller: Arc<Distiller>,
    pub(crate) config: DistillWorkConfig,
}

/// One look at one thread.
struct Look<'a> {
    with: &'a Distilling,
    tenant: &'a TenantId,
    thread: &'a Thread,
    policy: &'a ResolvedPolicy,
    /// Who is to distill: the extractive distiller once tries with the model are
    /// used up.
    method: Method,
}

/// When the next look is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Due {
    /// The size of the path to the head at which it is, in tokens.
    pub(crate) path_tokens: i64,
    /// At the latest after this time. `None`: only the size counts.
    pub(crate) after: Option<Duration>,
}

impl Due {
    /// Not before anything is said that needs one.
    const NEVER: Self = Self {
        path_tokens: i64::MAX,
        after: None,
    };

    /// At once, after those that wait already.
    const NOW: Self = Self {
        path_tokens: 0,
        after: None,
    };

    /// In a moment, because somebody else changes the thread.
    const SOON: Self = Self {
        path_tokens: i64::MAX,
        after: Some(PAUSE),
    };

    /// When the path has so many tokens.
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

/// Why a look failed. What it has committed stays.
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
    /// Looks at a thread: does everything that is due, and tells when the next look
    /// is.
    ///
    /// # Errors
    /// What kept it from going on; what it has committed stays.
    pub(crate) async fn look(&self, job: &DistillJob) -> Result<Due, Failure> {
        match self.try_look(job).await {
            // It was erased, or its time has come.
            Err(Failure::Store(StoreError::ThreadNotFound)) => Ok(Due::NEVER),
            // The head that it began with was erased.
            Err(Failure::Store(StoreError::MessageNotFound)) => Ok(Due::SOON),
            looked => looked,
        }
    }

    async fn try_look(&self, job: &DistillJob) -> Result<Due, Failure> {
        let Policies { thread, app } = self.store.policies(&job.tenant, job.thread).await?;
        let policy = ResolvedPolicy::resolve(&[
            (PolicyLevel::App, &app),
            (PolicyLevel::Thread, &thread.policy),
        ]);
        let look = Look {
            with: self,
            tenant: &job.tenant,
            thread: &thread,
            policy: &policy,
            method: match job.attempts > self.config.model_attempts {
                true => Method::Extractive,
                false => Method::Model,
            },
        };
        look.run().await
    }
}

impl Look<'_> {
    /// Does everything that is due, and tells when the next look is. A step that
    /// fails does not keep the others from being done: they may need no model, or
    /// another one.
    async fn run(&self) -> Result<Due, Failure> {
        let first = self.state().await?;
        let anyway = Due::at(first.path_tokens.saturating_add(LOOK_ANYWAY));
        let summarized = summary::step(self, first).await;
        let observed = observation::step(self).await;
        let extracted = extraction::step(self).await;
        Ok(anyway.or(summarized?).or(observed?).or(extracted?))
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
    fn the_earlier_of_two_looks_counts_by_size_and_by_time() {
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
