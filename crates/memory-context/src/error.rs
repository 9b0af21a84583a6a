//! Why a context or a briefing was not built.

use memory_budget::BudgetError;
use memory_contract::{Invalid, InvalidFields};
use memory_recall::RecallError;
use memory_store::StoreError;

/// Why a context, a history or a briefing was not built.
#[derive(Debug, thiserror::Error)]
pub enum ContextError {
    /// Fields of the request that only turn out wrong once the policy is known.
    #[error("the request has wrong fields")]
    Invalid(#[from] InvalidFields),
    /// Postgres or object storage failed, or something named is not stored.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The search failed.
    #[error(transparent)]
    Recall(#[from] RecallError),
    /// A turn is larger than the budget, and the request asks to fail then.
    #[error(transparent)]
    Budget(#[from] BudgetError),
    /// The thread has no message of the id in this field of the request.
    #[error("{field}: the thread has no such message")]
    MessageNotFound {
        /// The field that holds the id.
        field: &'static str,
    },
    /// System prompt and input need more tokens than the budget has.
    #[error("system prompt and input have {needed_tokens} tokens")]
    PromptTooLarge {
        /// The tokens of both.
        needed_tokens: i32,
        /// The budget.
        max_tokens: i32,
    },
    /// System prompt and input fit into the budget, but not into one answer.
    #[error("system prompt and input do not fit into an answer")]
    PromptTooLong {
        /// The tokens of both.
        needed_tokens: i32,
    },
    /// The task of a briefing needs more tokens than the budget has.
    #[error("the task has {needed_tokens} tokens")]
    TaskTooLarge {
        /// The tokens of the task.
        needed_tokens: i32,
        /// The budget.
        max_tokens: i32,
    },
    /// A task of the blocking pool panicked, or the runtime is shutting down.
    #[error("a task ended early")]
    Task(#[from] tokio::task::JoinError),
}

impl From<Invalid> for ContextError {
    fn from(invalid: Invalid) -> Self {
        Self::Invalid(invalid.into())
    }
}

impl ContextError {
    /// An error of the store, where a missing message is one that `field` names.
    pub(crate) fn naming(error: StoreError, field: &'static str) -> Self {
        match error {
            StoreError::MessageNotFound => Self::MessageNotFound { field },
            other => other.into(),
        }
    }

    /// Whether the same call may succeed later.
    pub fn retryable(&self) -> bool {
        match self {
            Self::Store(error) => error.retryable(),
            Self::Recall(error) => error.retryable(),
            Self::Budget(_) => false,
            Self::Invalid(_)
            | Self::MessageNotFound { .. }
            | Self::PromptTooLarge { .. }
            | Self::PromptTooLong { .. }
            | Self::TaskTooLarge { .. }
            | Self::Task(_) => false,
        }
    }
}
