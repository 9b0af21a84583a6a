//! The one map from errors to `tonic::Status`. No handler builds a status by
//! hand. Every status carries a google.rpc.ErrorInfo; an error that the caller cannot fix
//! is logged here, once, under an incident id that the caller is given.
#![expect(
    clippy::disallowed_methods,
    reason = "the one place that makes a status"
)]

mod documents;
mod import;
mod memories;
mod memory_files;
mod names;
mod nodes;
mod plans;
mod quotas;
mod subscriptions;

use std::collections::HashMap;
use std::error::Error;
use std::time::Duration;

use memory_budget::BudgetError;
use memory_context::ContextError;
use memory_contract::proto::ErrorReason;
use memory_contract::{Invalid, InvalidFields, key::KeyScope, limits};
use memory_objects::ObjectsError;
use memory_recall::RecallError;
use memory_runtime::error_chain;
use memory_store::{AppendError, KeyError, SecretError, StoreError, ThreadError};
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, FieldViolation, QuotaViolation, StatusExt as _};
use uuid::Uuid;

pub use import::import_error;
pub use names::{code_name, name, reason_of};

use crate::error::ApiError;
use crate::quota::Quota;

/// The domain of every google.rpc.ErrorInfo.
const DOMAIN: &str = "recollect.dev";
/// Bytes of the wrong fields that an error names one by one.
const VIOLATION_BYTES: usize = 3_000;
/// Bytes of the message that names them in one line.
const MESSAGE_BYTES: usize = 1_500;
/// When to come back to a database or an index that does not answer.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// An error as a caller sees it.
pub struct Answer {
    /// The gRPC status code.
    pub code: Code,
    /// The reason of google.rpc.ErrorInfo.
    pub reason: ErrorReason,
    /// What happened, and what to do.
    pub message: String,
    /// The fields that are invalid.
    pub violations: Vec<Invalid>,
    /// The metadata of google.rpc.ErrorInfo.
    pub metadata: HashMap<String, String>,
    /// When the same call may succeed; `None`: never, unchanged.
    pub retry_after: Option<Duration>,
    /// The limit that was reached.
    pub quota: Option<Quota>,
}

impl From<ApiError> for Status {
    fn from(error: ApiError) -> Self {
        Answer::from(error).into()
    }
}

impl From<Answer> for Status {
    fn from(answer: Answer) -> Self {
        let Answer {
            code,
            reason,
            message,
            violations,
            metadata,
            retry_after,
            quota,
        } = answer;
        let mut details = ErrorDetails::with_error_info(name(reason), DOMAIN, metadata);
        if !violations.is_empty() {
            let violations: Vec<FieldViolation> = violations
                .into_iter()
                .map(|Invalid { field, problem }| FieldViolation::new(field, problem))
                .collect();
            details.set_bad_request(violations);
        }
        if let Some(Quota { subject, limit }) = quota {
            details.set_quota_failure(vec![QuotaViolation::new(subject, limit)]);
        }
        if let Some(delay) = retry_after {
            details.set_retry_info(Some(delay));
        }
        Self::with_error_details(code, message, details)
    }
}

impl From<ApiError> for Answer {
    fn from(error: ApiError) -> Self {
        let retryable = error.retryable();
        let answer = match error {
            ApiError::Invalid(InvalidFields(violations)) => Self::invalid(violations),
            ApiError::TextRefused(InvalidFields(violations)) => Self {
                reason: ErrorReason::TextRefused,
                ..Self::invalid(violations)
            },
            ApiError::Context(error) => Self::context(error),
            ApiError::Store(error) => Self::store(error),
            ApiError::Recall(error) => Self::recall(error),
            ApiError::MessageNotFound { field } => Self::message_not_found(field),
            ApiError::Unauthenticated => Self::new(
                Code::Unauthenticated,
                ErrorReason::Unauthenticated,
                "a valid API key is required: send it as metadata `authorization: Bearer KEY`",
            ),
            ApiError::PermissionDenied { scope, field } => {
                Self::permission_denied(scope, field.as_deref())
            }
            ApiError::WebhookDenied => Self::webhook_denied(),
            ApiError::OutOfBounds { field } => Self::out_of_bounds(field),
            ApiError::KeyLookup(error) if error.retryable() => Self::database_unavailable(&error),
            ApiError::TokenKeys => Self::new(
                Code::Unavailable,
                ErrorReason::TokenKeysUnavailable,
                "the public keys that verify tokens cannot be read; retry later",
            ),
            ApiError::Overloaded { retry_after } => Self {
                retry_after: Some(retry_after),
                ..Self::new(
                    Code::ResourceExhausted,
                    ErrorReason::Overloaded,
                    "too many calls are under way; retry later",
                )
            },
            ApiError::QuotaExceeded { quota, retry_after } => {
                Self::quota_exceeded(quota, retry_after)
            }
            ApiError::StorageFull { quota, setting } => Self::storage_full(quota, setting),
            ApiError::DeadlineExceeded => Self::new(
                Code::DeadlineExceeded,
                ErrorReason::DeadlineExceeded,
                "the deadline of the call, or the server's own limit for a call, has passed",
            ),
            ApiError::Stopping => Self::new(
                Code::Unavailable,
                ErrorReason::ServerStopping,
                "the server stops; retry later, with the cursor of the last event",
            ),
            ApiError::NoSecondIndex => Self::new(
                Code::FailedPrecondition,
                ErrorReason::NoSecondIndex,
                "this server has no second index to compare with: set embedding_next and \
                 restart; see deploy/README.md",
            ),
            ApiError::ExtractionOff => Self::new(
                Code::FailedPrecondition,
                ErrorReason::ExtractionOff,
                "no memories are extracted from the thread: it has no user, or its policy's \
                 extraction is EXTRACTION_STRATEGY_NONE",
            ),
            ApiError::RecordDiffers {
                exists,
                replaceable,
            } => {
                let hint = match replaceable {
                    true => "; ImportOptions.replace overwrites it",
                    false => "",
                };
                Self::new(
                    Code::FailedPrecondition,
                    ErrorReason::RecordDiffers,
                    format!("{exists}, which was kept{hint}"),
                )
            }
            ApiError::Unreadable { problem } => {
                Self::new(Code::InvalidArgument, ErrorReason::InvalidField, problem)
            }
            error @ (ApiError::KeyLookup(_) | ApiError::Panicked | ApiError::Task(_)) => {
                Self::internal(&error)
            }
        };
        let retry_after = answer.retry_after.or(retryable.then_some(RETRY_DELAY));
        Self {
            retry_after,
            ..answer
        }
    }
}

impl Answer {
    fn new(code: Code, reason: ErrorReason, message: impl Into<String>) -> Self {
        Self {
            code,
            reason,
            message: message.into(),
            violations: Vec::new(),
            metadata: HashMap::new(),
            retry_after: None,
            quota: None,
        }
    }

    fn with(mut self, key: &str, value: impl ToString) -> Self {
        self.metadata.insert(key.to_owned(), value.to_string());
        self
    }

    fn out_of_bounds(field: Option<String>) -> Self {
        let denied =
            |message: String| Self::new(Code::PermissionDenied, ErrorReason::OutOfBounds, message);
        match field {
            Some(field) => denied(format!(
                "{field}: the API key or token is bound to other apps or users; name one that it is bound to"
            ))
            .with("field", field),
            None => denied(
                "the API key or token is bound to some apps or users: name one of them and no more, \
                 or call with a key of the whole tenant"
                    .to_owned(),
            ),
        }
    }

    fn permission_denied(scope: KeyScope, field: Option<&str>) -> Self {
        let scope = scope.name();
        let message = match field {
            Some(field) => format!(
                "this value of {field} erases stored content earlier, which needs an API key with \
                 the scope `{scope}`"
            ),
            None => format!("the call needs an API key with the scope `{scope}`"),
        };
        let denied = Self::new(
            Code::PermissionDenied,
            ErrorReason::PermissionDenied,
            message,
        )
        .with("scope", scope);
        match field {
            Some(field) => denied.with("field", field),
            None => denied,
        }
    }

    /// Names the first wrong fields. An error travels in headers, and clients
    /// close a connection on which those are longer than 8 KiB.
    fn invalid(mut violations: Vec<Invalid>) -> Self {
        let all = violations.len();
        let mut bytes = 0;
        let mut fits = |one: &Invalid| {
            bytes += one.field.len() + one.problem.len();
            bytes <= VIOLATION_BYTES
        };
        let named = violations.iter().take_while(|one| fits(one)).count().max(1);
        violations.truncate(named);
        let mut message = InvalidFields(violations.clone()).to_string();
        if message.len() > MESSAGE_BYTES {
            message.truncate(message.floor_char_boundary(MESSAGE_BYTES));
            message.push('…');
        }
        if all > named {
            message.push_str(&format!("; and {} more", all - named));
        }
        Self {
            violations,
            ..Self::new(Code::InvalidArgument, ErrorReason::InvalidField, message)
        }
    }

    fn store(error: StoreError) -> Self {
        match error {
            StoreError::ThreadNotFound => Self::new(
                Code::NotFound,
                ErrorReason::ThreadNotFound,
                "there is no such thread; AppendMessages with its session, or ResolveThread, \
                 creates one",
            ),
            StoreError::MessageNotFound => Self::new(
                Code::NotFound,
                ErrorReason::MessageNotFound,
                "the thread has no such message",
            ),
            StoreError::FileNotFound => Self::new(
                Code::NotFound,
                ErrorReason::FileNotFound,
                "no such file is registered",
            ),
            StoreError::Memory(error) => Self::memory(error),
            StoreError::Thread(ThreadError::Exists) => Self::new(
                Code::AlreadyExists,
                ErrorReason::ThreadAlreadyExists,
                "the app and user have a thread with this session key; ResolveThread returns it",
            ),
            StoreError::Append(AppendError::MessageExists { id }) => Self::new(
                Code::AlreadyExists,
                ErrorReason::MessageAlreadyExists,
                format!("the message_id {id} is used already"),
            )
            .with("message_id", id),
            StoreError::Append(AppendError::ExternalIdExists { index, id }) => Self::new(
                Code::AlreadyExists,
                ErrorReason::MessageAlreadyExists,
                format!(
                    "messages[{index}].external_id {id:?} is the id of another message of the \
                     thread, or of an erased one"
                ),
            )
            .with("external_id", id),
            StoreError::Append(AppendError::RequestReused) => Self::new(
                Code::AlreadyExists,
                ErrorReason::RequestIdReused,
                "the request_id was used with other content; use a new UUID for each new request",
            ),
            StoreError::Append(AppendError::HeadMoved { head }) => Self::new(
                Code::Aborted,
                ErrorReason::HeadMoved,
                "the thread's head is not expected_head; read the history again, then retry",
            )
            .with("head", head.map(|id| id.to_string()).unwrap_or_default()),
            StoreError::Append(AppendError::ParentNotFound { index }) => {
                Self::invalid(vec![Invalid::new(
                    format!("messages[{index}].parent_message_id"),
                    "must be a message of the thread that is not erased",
                )])
            }
            StoreError::Thread(ThreadError::EphemeralFull) => Self::new(
                Code::ResourceExhausted,
                ErrorReason::EphemeralMemoryFull,
                "the tenant's ephemeral threads have reached their limit; delete some, or raise \
                 ephemeral.max_bytes or ephemeral.max_threads",
            ),
            StoreError::Thread(ThreadError::Ephemeral) => Self::new(
                Code::FailedPrecondition,
                ErrorReason::EphemeralThread,
                "the thread is ephemeral; this call requires a persistent thread",
            ),
            StoreError::Key(KeyError::Exists) => Self::new(
                Code::AlreadyExists,
                ErrorReason::ApiKeyAlreadyExists,
                "there is an API key of this name; choose another, or revoke that one",
            ),
            StoreError::Secret(SecretError::NotFound) => Self::new(
                Code::NotFound,
                ErrorReason::SecretNotFound,
                "there is no such secret",
            ),
            error @ StoreError::Secret(SecretError::Unavailable { .. }) => Self::new(
                Code::FailedPrecondition,
                ErrorReason::SecretsUnavailable,
                error.to_string(),
            ),
            StoreError::Subscription(error) => Self::subscription(&error),
            StoreError::Plan(error) => Self::plan(&error),
            StoreError::MemoryFile(error) => Self::memory_file(&error),
            StoreError::OutOfBounds => Self::out_of_bounds(None),
            StoreError::DeletionInProgress => Self::new(
                Code::FailedPrecondition,
                ErrorReason::DeletionInProgress,
                "the user, the app or the tenant is being deleted, or the thread cleared; wait until that has finished",
            ),
            StoreError::DeletionNotFound => Self::new(
                Code::NotFound,
                ErrorReason::DeletionNotFound,
                "there is no such deletion, or its receipt was forgotten",
            ),
            StoreError::SpaceFull => Self::invalid(vec![Invalid::new(
                "app_policy.policy.memory_space",
                format!(
                    "must name a space with fewer than {} other apps",
                    limits::MEMORY_SPACE_APPS
                ),
            )]),
            StoreError::Checkpoint(error) => Self::checkpoint(&error),
            StoreError::NeedsErase { field } => {
                Self::permission_denied(KeyScope::Delete, Some(&field))
            }
            StoreError::DocumentTooLarge { index } => Self::document_too_large(index),
            StoreError::EtagChanged { etag } => Self::etag_changed(etag),
            StoreError::Node(error) => Self::node(error),
            error @ (StoreError::NoObjectStore
            | StoreError::Objects(ObjectsError::Failed { .. })) => Self::objects(&error),
            error @ (StoreError::Unavailable { .. } | StoreError::PoolTimeout) => {
                Self::database_unavailable(&error)
            }
            error @ (StoreError::Query { .. }
            | StoreError::Crypto { .. }
            | StoreError::Misplaced
            | StoreError::Corrupt { .. }
            | StoreError::Config { .. }
            | StoreError::Objects(_)
            | StoreError::Migration { .. }) => Self::internal(&error),
        }
    }

    fn database_unavailable(error: &(dyn Error + 'static)) -> Self {
        tracing::warn!(error = %error_chain(error), "the database is not available");
        Self::new(
            Code::Unavailable,
            ErrorReason::DatabaseUnavailable,
            "the database does not answer; retry later",
        )
    }

    fn message_not_found(field: &str) -> Self {
        Self::new(
            Code::NotFound,
            ErrorReason::MessageNotFound,
            format!("{field}: the thread has no such message"),
        )
        .with("field", field)
    }

    fn context(error: ContextError) -> Self {
        match error {
            ContextError::Invalid(InvalidFields(violations)) => Self::invalid(violations),
            ContextError::Store(error) => Self::store(error),
            ContextError::Recall(error) => Self::recall(error),
            ContextError::Budget(error) => Self::budget(&error),
            ContextError::MessageNotFound { field } => Self::message_not_found(field),
            ContextError::PromptTooLarge {
                needed_tokens,
                max_tokens,
            } => Self::new(
                Code::FailedPrecondition,
                ErrorReason::ContextTooLarge,
                format!(
                    "system_prompt and input alone have {needed_tokens} tokens, \
                     over the budget of {max_tokens}; shorten them, or raise max_tokens"
                ),
            )
            .with("needed_tokens", needed_tokens),
            ContextError::PromptTooLong { needed_tokens } => Self::new(
                Code::FailedPrecondition,
                ErrorReason::ContextTooLarge,
                "system_prompt and input do not fit into one answer in so many formats; \
                 ask for fewer formats",
            )
            .with("needed_tokens", needed_tokens),
            ContextError::TaskTooLarge {
                needed_tokens,
                max_tokens,
            } => Self::briefing_too_large(needed_tokens, max_tokens),
            error @ ContextError::Task(_) => Self::internal(&error),
        }
    }

    fn recall(error: RecallError) -> Self {
        if let RecallError::Store(error) = error {
            return Self::store(error);
        }
        if error.retryable() {
            tracing::warn!(error = %error_chain(&error), "the index is not available");
            return Self::new(
                Code::Unavailable,
                ErrorReason::IndexUnavailable,
                "the index does not answer; retry later",
            );
        }
        Self::internal(&error)
    }

    fn budget(error: &BudgetError) -> Self {
        match error {
            BudgetError::TurnTooLarge { needed_tokens, .. } => Self::new(
                Code::FailedPrecondition,
                ErrorReason::TurnTooLarge,
                error.to_string(),
            )
            .with("needed_tokens", needed_tokens),
        }
    }

    fn internal(error: &(dyn Error + 'static)) -> Self {
        let incident = Uuid::now_v7();
        tracing::error!(%incident, error = %error_chain(error), "a call failed");
        Self::new(
            Code::Internal,
            ErrorReason::Internal,
            format!("an internal error; the server's log has it as incident {incident}"),
        )
        .with("incident", incident)
    }
}

#[cfg(test)]
mod tests;
