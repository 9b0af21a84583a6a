//! Errors. No message contains a prompt, an answer or a key. Provider clients quote them in
//! their own errors, so none of those is kept as a source.

use std::time::Duration;

use memory_contract::duration_text::format_duration;

/// A failed call of a model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// Connection failed.
    #[error("cannot connect to the model's endpoint; check that it is running and reachable")]
    Unreachable,
    /// The connection closed before the answer.
    #[error("the connection to the model closed before it answered")]
    Disconnected,
    /// No answer before the deadline.
    #[error("the model did not answer within {}", format_duration(*after))]
    Timeout {
        /// The deadline, counted from the call.
        after: Duration,
    },
    /// The provider's rate limit is exceeded.
    #[error("the provider's rate limit is exceeded")]
    RateLimited {
        /// The pause that the provider asks for.
        retry_after: Option<Duration>,
    },
    /// An error on the provider's side.
    #[error("the provider failed with HTTP status {status}")]
    Failed {
        /// 500 or more.
        status: u16,
    },
    /// The answer does not follow the provider's protocol.
    #[error("the provider's answer is not valid in its protocol")]
    Unreadable,
    /// The model, or a content filter, refused to answer.
    #[error("the model refused to answer")]
    Refused,
    /// The answer contains no text.
    #[error("the model's answer is empty")]
    Empty,
    /// The answer was cut off at `max_output_tokens`.
    #[error("the model's answer was cut off at max_output_tokens; raise it")]
    Truncated,
    /// The provider rejected the API key.
    #[error("the provider rejected the API key; check api_key, or the tenant's own key")]
    Unauthorized,
    /// The provider rejected the request: a wrong model name or endpoint, or a prompt that is
    /// too long for the model.
    #[error(
        "the provider rejected the request with HTTP status {status}; check model, endpoint and \
         context_window"
    )]
    BadRequest {
        /// 300 to 499.
        status: u16,
    },
    /// The tenant's daily token budget is used up.
    #[error("the tenant's daily token budget is used up")]
    BudgetSpent,
    /// The tenant's remaining budget cannot be read, so the model is not called.
    #[error("the token ledger cannot be read")]
    LedgerUnavailable,
    /// Neither the tenant nor the configuration has a key, so the model is not called.
    #[error("the tenant has no key of the model's provider, and api_key is not set")]
    NoKey,
    /// The tenant's own key of the provider cannot be read, so the model is not called.
    #[error("the tenant's key of the model's provider cannot be read; check secrets.key")]
    KeysUnavailable,
    /// The circuit breaker is open after repeated failures.
    #[error("calls of the model are paused after repeated failures")]
    BreakerOpen {
        /// The rest of the pause.
        retry_after: Duration,
    },
}

impl ModelError {
    /// Whether the same call may succeed when it is retried within seconds.
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
            | Self::KeysUnavailable
            | Self::NoKey
            | Self::BreakerOpen { .. } => false,
        }
    }

    /// Whether it indicates an outage of the model, rather than a problem of this prompt. The
    /// circuit breaker counts outages.
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
            | Self::KeysUnavailable
            | Self::NoKey
            | Self::BreakerOpen { .. } => false,
        }
    }

    /// Whether the model may have used tokens before it failed.
    pub(crate) fn may_have_cost(&self) -> bool {
        matches!(
            self,
            Self::Disconnected | Self::Timeout { .. } | Self::Unreadable
        )
    }
}

/// A failed task of the distiller. Nothing is changed then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DistillError {
    /// The call of the model failed.
    #[error("the call of the model {model} failed")]
    Model {
        /// The model's name.
        model: String,
        /// Why the call failed.
        #[source]
        source: ModelError,
    },
    /// Two answers in a row did not have the requested form.
    #[error("two answers of the model {model} did not have the requested form: {problem}")]
    Malformed {
        /// The model's name.
        model: String,
        /// The problem, without any text of the answer.
        problem: String,
    },
    /// The token budget is below the minimum of 32.
    #[error("max_tokens must be 32 or more, is {max_tokens}")]
    BudgetTooSmall {
        /// The requested budget.
        max_tokens: i32,
    },
}

impl DistillError {
    /// Whether the token budget is used up. Retrying does not help before the next day, so
    /// the extractive distiller should take over.
    pub fn is_spent(&self) -> bool {
        match self {
            Self::Model { source, .. } => *source == ModelError::BudgetSpent,
            Self::Malformed { .. } | Self::BudgetTooSmall { .. } => false,
        }
    }
}

/// An invalid configuration value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {problem}")]
pub struct ConfigError {
    /// The key, such as `distill.generation.api_key`.
    pub key: String,
    /// The problem with the value, and what to set.
    pub problem: String,
}
