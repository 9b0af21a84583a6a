//! What can go wrong. No message holds a prompt, an answer, a key, or what a
//! provider repeated of them, which is why no error of a provider's client is
//! kept as a source.

use std::time::Duration;

/// Why a model did not answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// Nobody is there.
    #[error("the model cannot be reached")]
    Unreachable,
    /// The connection broke before there was an answer.
    #[error("the connection to the model broke")]
    Disconnected,
    /// It took too long.
    #[error("the model did not answer within {} ms", after.as_millis())]
    Timeout {
        /// The limit.
        after: Duration,
    },
    /// The provider wants fewer calls.
    #[error("the provider limits the rate of calls")]
    RateLimited {
        /// How long it asks to be left alone.
        retry_after: Option<Duration>,
    },
    /// The provider failed.
    #[error("the provider failed with HTTP status {status}")]
    Failed {
        /// 500 or more.
        status: u16,
    },
    /// What came is no answer of the provider's protocol.
    #[error("the provider's answer cannot be read")]
    Unreadable,
    /// The model, or a filter before it, does not want to answer.
    #[error("the model refused to answer")]
    Refused,
    /// The answer has no text.
    #[error("the model's answer is empty")]
    Empty,
    /// The answer is longer than it may be, and was cut.
    #[error("the model's answer was cut at its longest length")]
    Truncated,
    /// The provider does not take the key.
    #[error("the provider does not take the key")]
    Unauthorized,
    /// The provider does not take the request: a wrong model name or endpoint, or
    /// a prompt that is too long for the model.
    #[error("the provider refused the request with HTTP status {status}")]
    BadRequest {
        /// Between 300 and 499.
        status: u16,
    },
    /// The tenant has no tokens left to spend.
    #[error("the tenant's budget of tokens is spent")]
    BudgetSpent,
    /// What a tenant has left cannot be known just now, so nothing is spent.
    #[error("the ledger of tokens cannot be read")]
    LedgerUnavailable,
    /// The model failed too often, and is left alone for a while.
    #[error("the model is left alone after repeated failures")]
    BreakerOpen {
        /// How long it still is.
        retry_after: Duration,
    },
}

impl ModelError {
    /// Whether the same call may succeed a moment later, so that trying again at
    /// once is worth it.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable
            | Self::Disconnected
            | Self::Timeout { .. }
            | Self::RateLimited { .. }
            | Self::Failed { .. }
            | Self::Unreadable => true,
            Self::Refused
            | Self::Empty
            | Self::Truncated
            | Self::Unauthorized
            | Self::BadRequest { .. }
            | Self::BudgetSpent
            | Self::LedgerUnavailable
            | Self::BreakerOpen { .. } => false,
        }
    }

    /// Whether it says that the model as a whole is out of order, and not just
    /// that this prompt or this moment was wrong.
    pub(crate) fn is_outage(&self) -> bool {
        match self {
            Self::Unreachable
            | Self::Disconnected
            | Self::Timeout { .. }
            | Self::Failed { .. }
            | Self::Unreadable
            | Self::Unauthorized => true,
            Self::RateLimited { .. }
            | Self::Refused
            | Self::Empty
            | Self::Truncated
            | Self::BadRequest { .. }
            | Self::BudgetSpent
            | Self::LedgerUnavailable
            | Self::BreakerOpen { .. } => false,
        }
    }

    /// Whether the model may have read the prompt, and written, before it failed.
    pub(crate) fn may_have_cost(&self) -> bool {
        matches!(
            self,
            Self::Disconnected | Self::Timeout { .. } | Self::Unreadable
        )
    }
}

/// Why nothing was distilled. Nothing is changed then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DistillError {
    /// The model did not answer.
    #[error("no answer of the model {model}")]
    Model {
        /// Which model.
        model: String,
        /// Why not.
        #[source]
        source: ModelError,
    },
    /// The model answered twice with something else than was asked for.
    #[error("the answer of the model {model} does not have the form that was asked for: {problem}")]
    Malformed {
        /// Which model.
        model: String,
        /// What is wrong with it, without a word of it.
        problem: String,
    },
    /// The budget of tokens is so small that nothing fits.
    #[error("nothing fits into {max_tokens} tokens")]
    BudgetTooSmall {
        /// The budget.
        max_tokens: i32,
    },
}

impl DistillError {
    /// Whether the same call may succeed later.
    pub fn retryable(&self) -> bool {
        match self {
            Self::Model { .. } | Self::Malformed { .. } => true,
            Self::BudgetTooSmall { .. } => false,
        }
    }

    /// Whether the extractive distiller is to stand in at once: nothing is left to
    /// spend, and waiting would not help.
    pub fn is_spent(&self) -> bool {
        match self {
            Self::Model { source, .. } => *source == ModelError::BudgetSpent,
            Self::Malformed { .. } | Self::BudgetTooSmall { .. } => false,
        }
    }
}

/// A configuration value that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {problem}")]
pub struct ConfigError {
    /// The key, such as `distill.generation.api_key`.
    pub key: String,
    /// What is wrong with its value, and what to set.
    pub problem: String,
}
