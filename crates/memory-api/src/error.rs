//! The errors of handlers and layers.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use memory_context::ContextError;
use memory_contract::{Invalid, InvalidFields, KeyScope};
use memory_http::Unreadable;
use memory_recall::RecallError;
use memory_store::StoreError;

use crate::layers::Quota;

/// Why a call failed. `status` turns it into what the caller sees.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ApiError {
    #[error("the request has wrong fields")]
    Invalid(#[from] InvalidFields),
    #[error(transparent)]
    Context(#[from] ContextError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Recall(#[from] RecallError),
    /// A message that the request names does not exist.
    #[error("{field}: the thread has no such message")]
    MessageNotFound { field: &'static str },
    #[error("the call carries no valid API key")]
    Unauthenticated,
    /// `field` is the path of the field whose value needs the scope; `None` where the
    /// method does.
    #[error("the API key lacks the scope {}", scope.name())]
    PermissionDenied {
        scope: KeyScope,
        field: Option<String>,
    },
    /// Calls with one key at the same time share its lookup.
    #[error("the API key could not be looked up")]
    KeyLookup(#[source] Arc<StoreError>),
    #[error("the public keys that verify tokens are not available")]
    TokenKeys,
    #[error("too many calls are under way")]
    Overloaded { retry_after: Duration },
    #[error("{} has {}", quota.subject, quota.limit)]
    QuotaExceeded { quota: Quota, retry_after: Duration },
    /// `setting` is the key of the configuration that sets the quota.
    #[error("{} may store {}", quota.subject, quota.limit)]
    StorageFull { quota: Quota, setting: &'static str },
    #[error("the deadline has passed")]
    DeadlineExceeded,
    #[error("the server stops")]
    Stopping,
    #[error("the server has no second index")]
    NoSecondIndex,
    #[error("no memories are extracted from the thread")]
    ExtractionOff,
    /// `exists` says what is stored in place of an imported record.
    #[error("{exists}, which was kept")]
    RecordDiffers {
        exists: String,
        /// Whether `ImportOptions.replace` overwrites it.
        replaceable: bool,
    },
    /// The transport could not make a request of what it received.
    #[error("the request cannot be read")]
    Unreadable { problem: Cow<'static, str> },
    #[error("a handler panicked")]
    Panicked,
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
    pub(crate) fn naming(self, field: &'static str) -> Self {
        match self {
            Self::Store(StoreError::MessageNotFound) => Self::MessageNotFound { field },
            other => other,
        }
    }

    /// Whether the same call may succeed later.
    pub(crate) fn retryable(&self) -> bool {
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
            | Self::MessageNotFound { .. }
            | Self::Unauthenticated
            | Self::PermissionDenied { .. }
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
