//! The errors of handlers and layers.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use memory_context::ContextError;
use memory_contract::{Invalid, InvalidFields, key::KeyScope};
use memory_http::Unreadable;
use memory_recall::RecallError;
use memory_store::StoreError;

use crate::quota::Quota;

/// When to come back after [`ApiError::Overloaded`].
pub const RETRY_OVERLOADED: Duration = Duration::from_millis(500);

/// Why a call failed. `status` turns it into what the caller sees.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// The request has invalid fields.
    #[error("the request has wrong fields")]
    Invalid(#[from] InvalidFields),
    /// Texts of the request have what the app's policy refuses.
    #[error("the request has secrets or personal data")]
    TextRefused(InvalidFields),
    /// A context could not be built.
    #[error(transparent)]
    Context(#[from] ContextError),
    /// The store failed or refused.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Recall failed or refused.
    #[error(transparent)]
    Recall(#[from] RecallError),
    /// A message that the request names does not exist.
    #[error("{field}: the thread has no such message")]
    MessageNotFound {
        /// The path of the field that names the message.
        field: &'static str,
    },
    /// The credential is missing, unknown, revoked or expired.
    #[error("the call carries no valid API key")]
    Unauthenticated,
    /// `field` is the path of the field whose value needs the scope; `None` where the
    /// method does.
    #[error("the API key lacks the scope {}", scope.name())]
    PermissionDenied {
        /// The scope that is missing.
        scope: KeyScope,
        /// The path of the field.
        field: Option<String>,
    },
    /// Events that a worker sends to a receiver would be taken by a caller who is no administrator.
    #[error("the API key may not take the events of a webhook")]
    WebhookDenied,
    /// The caller's key is bound to other apps or users.
    #[error("the caller's bounds exclude it")]
    OutOfBounds {
        /// The path of the field that names the app or the user; `None` where none is named.
        field: Option<String>,
    },
    /// Calls with one key at the same time share its lookup.
    #[error("the API key could not be looked up")]
    KeyLookup(#[source] Arc<StoreError>),
    /// The issuer's keys cannot be read.
    #[error("the public keys that verify tokens are not available")]
    TokenKeys,
    /// The server has as many calls as it may have.
    #[error("too many calls are under way")]
    Overloaded {
        /// When to try again.
        retry_after: Duration,
    },
    /// The tenant or key has as many calls as it may have.
    #[error("{} has {}", quota.subject, quota.limit)]
    QuotaExceeded {
        /// The limit that is reached.
        quota: Quota,
        /// When to try again.
        retry_after: Duration,
    },
    /// The tenant stores as much as it may store.
    #[error("{} may store {}", quota.subject, quota.limit)]
    StorageFull {
        /// The limit that is reached.
        quota: Quota,
        /// The key of the configuration that sets the quota.
        setting: &'static str,
    },
    /// The call took longer than its deadline or the server allows.
    #[error("the deadline has passed")]
    DeadlineExceeded,
    /// The server is being stopped.
    #[error("the server stops")]
    Stopping,
    /// Two indexes were to be compared.
    #[error("the server has no second index")]
    NoSecondIndex,
    /// The thread has no user, or its policy extracts nothing.
    #[error("no memories are extracted from the thread")]
    ExtractionOff,
    /// Another record is stored in place of an imported one.
    #[error("{exists}, which was kept")]
    RecordDiffers {
        /// What is stored.
        exists: String,
        /// Whether `ImportOptions.replace` overwrites it.
        replaceable: bool,
    },
    /// The transport could not make a request of what it received.
    #[error("the request cannot be read")]
    Unreadable {
        /// What is wrong with it, and what to do.
        problem: Cow<'static, str>,
    },
    /// A defect of this server.
    #[error("a handler panicked")]
    Panicked,
    /// A task of the call panicked or was cancelled.
    #[error("a task ended early")]
    Task(#[from] tokio::task::JoinError),
}

impl From<Invalid> for ApiError {
    fn from(invalid: Invalid) -> Self {
        Self::Invalid(invalid.into())
    }
}

impl From<Unreadable> for ApiError {
    fn from(unreadable: Unreadable) -> Self {
        let Unreadable { field, problem } = unreadable;
        match field {
            Some(field) => Invalid::new(field, problem).into(),
            None => Self::Unreadable {
                problem: problem.into(),
            },
        }
    }
}

impl ApiError {
    /// Adds the field of the request that names a missing message.
    pub fn naming(self, field: &'static str) -> Self {
        match self {
            Self::Store(StoreError::MessageNotFound) => Self::MessageNotFound { field },
            other => other,
        }
    }

    /// Whether the same call may succeed later.
    pub fn retryable(&self) -> bool {
        match self {
            Self::Context(error) => error.retryable(),
            Self::Store(error) => error.retryable(),
            Self::Recall(error) => error.retryable(),
            Self::KeyLookup(error) => error.retryable(),
            Self::TokenKeys
            | Self::Overloaded { .. }
            | Self::QuotaExceeded { .. }
            | Self::Stopping => true,
            Self::Invalid(_)
            | Self::TextRefused(_)
            | Self::MessageNotFound { .. }
            | Self::Unauthenticated
            | Self::PermissionDenied { .. }
            | Self::WebhookDenied
            | Self::OutOfBounds { .. }
            | Self::StorageFull { .. }
            | Self::DeadlineExceeded
            | Self::NoSecondIndex
            | Self::ExtractionOff
            | Self::RecordDiffers { .. }
            | Self::Unreadable { .. }
            | Self::Panicked
            | Self::Task(_) => false,
        }
    }
}
