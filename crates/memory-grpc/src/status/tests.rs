//! Tests of the map from errors to statuses.

use std::collections::BTreeSet;
use std::path::PathBuf;

use memory_contract::MessageId;
use memory_embed::EmbedError;
use memory_index::{Backend, IndexError};
use memory_store::MemoryError;
use memory_store::PlanError;
use tonic_types::StatusExt as _;

use super::names::PREFIX;
use super::*;

fn check(error: impl Into<ApiError>, code: Code, reason: ErrorReason) -> Status {
    let error = error.into();
    let (what, retryable) = (format!("{error:?}"), error.retryable());
    let status = Status::from(error);
    let info = status.get_details_error_info().unwrap();
    assert_eq!(
        (status.code(), info.reason.as_str()),
        (code, name(reason)),
        "{what}"
    );
    assert_eq!(info.domain, "recollect.dev", "{what}");
    assert_eq!(
        status.get_details_retry_info().is_some(),
        retryable,
        "{what}"
    );
    assert!(!status.message().is_empty(), "{what}");
    status
}

fn metadata(status: &Status, key: &str) -> String {
    status
        .get_details_error_info()
        .unwrap()
        .metadata
        .get(key)
        .cloned()
        .unwrap_or_default()
}

#[test]
fn every_error_has_a_code_and_a_reason() {
    use ErrorReason as R;

    let id = MessageId::new();
    check(
        StoreError::ThreadNotFound,
        Code::NotFound,
        R::ThreadNotFound,
    );
    check(
        StoreError::MessageNotFound,
        Code::NotFound,
        R::MessageNotFound,
    );
    check(
        ApiError::from(StoreError::MessageNotFound).naming("head_message_id"),
        Code::NotFound,
        R::MessageNotFound,
    );
    check(StoreError::FileNotFound, Code::NotFound, R::FileNotFound);
    check(
        StoreError::Thread(ThreadError::Exists),
        Code::AlreadyExists,
        R::ThreadAlreadyExists,
    );
    let status = check(
        StoreError::Append(AppendError::MessageExists { id }),
        Code::AlreadyExists,
        R::MessageAlreadyExists,
    );
    assert!(status.message().contains(&id.to_string()));
    let own = AppendError::ExternalIdExists {
        index: 2,
        id: "msg_01".to_owned(),
    };
    let status = check(
        StoreError::Append(own),
        Code::AlreadyExists,
        R::MessageAlreadyExists,
    );
    assert!(status.message().contains("messages[2].external_id"));
    assert_eq!(metadata(&status, "external_id"), "msg_01");
    check(
        StoreError::Append(AppendError::RequestReused),
        Code::AlreadyExists,
        R::RequestIdReused,
    );
    let status = check(
        StoreError::Append(AppendError::HeadMoved { head: Some(id) }),
        Code::Aborted,
        R::HeadMoved,
    );
    assert_eq!(metadata(&status, "head"), id.to_string());
    check(
        StoreError::Append(AppendError::HeadMoved { head: None }),
        Code::Aborted,
        R::HeadMoved,
    );
    check(
        StoreError::PoolTimeout,
        Code::Unavailable,
        R::DatabaseUnavailable,
    );
    check(
        RecallError::from(StoreError::ThreadNotFound),
        Code::NotFound,
        R::ThreadNotFound,
    );
    check(
        RecallError::from(EmbedError::Busy),
        Code::Unavailable,
        R::IndexUnavailable,
    );
    let after = Duration::from_secs(1);
    check(
        RecallError::from(IndexError::Timeout {
            backend: Backend::Edge,
            after,
        }),
        Code::Unavailable,
        R::IndexUnavailable,
    );
    let large = ContextError::from(BudgetError::TurnTooLarge {
        needed_tokens: 17,
        needed_messages: 2,
        max_tokens: 10,
        message_limit: 5,
        whole: true,
    });
    let status = check(large, Code::FailedPrecondition, R::TurnTooLarge);
    assert_eq!(metadata(&status, "needed_tokens"), "17");
    let large = ContextError::PromptTooLarge {
        needed_tokens: 17,
        max_tokens: 5,
    };
    let status = check(large, Code::FailedPrecondition, R::ContextTooLarge);
    assert_eq!(metadata(&status, "needed_tokens"), "17");
    let long = ContextError::PromptTooLong { needed_tokens: 17 };
    let status = check(long, Code::FailedPrecondition, R::ContextTooLarge);
    assert_eq!(metadata(&status, "needed_tokens"), "17");
    let large = ContextError::TaskTooLarge {
        needed_tokens: 17,
        max_tokens: 5,
    };
    let status = check(large, Code::FailedPrecondition, R::ContextTooLarge);
    assert_eq!(metadata(&status, "needed_tokens"), "17");
    let changed = StoreError::EtagChanged {
        etag: Some("7".to_owned()),
    };
    let status = check(changed, Code::Aborted, R::EtagChanged);
    assert_eq!(metadata(&status, "etag"), "7");
    check(
        StoreError::Plan(PlanError::NotFound),
        Code::NotFound,
        R::PlanNotFound,
    );
    check(
        StoreError::Plan(PlanError::StepNotFound),
        Code::NotFound,
        R::PlanNotFound,
    );
    check(
        StoreError::Plan(PlanError::LogFull),
        Code::FailedPrecondition,
        R::AttemptLogFull,
    );
    check(
        StoreError::Plan(PlanError::EventLogFull),
        Code::FailedPrecondition,
        R::EventLogFull,
    );
    check(
        ApiError::Unauthenticated,
        Code::Unauthenticated,
        R::Unauthenticated,
    );
    check(
        ApiError::Overloaded { retry_after: after },
        Code::ResourceExhausted,
        R::Overloaded,
    );
    let status = check(
        ApiError::QuotaExceeded {
            quota: Quota {
                subject: "tenant:acme".to_owned(),
                limit: "at most 3 calls per second".to_owned(),
            },
            retry_after: after,
        },
        Code::ResourceExhausted,
        R::QuotaExceeded,
    );
    let quota = status.get_details_quota_failure().unwrap();
    let violation = &quota.violations[0];
    assert_eq!(violation.subject, "tenant:acme");
    assert_eq!(violation.description, "at most 3 calls per second");
    let status = check(
        ApiError::StorageFull {
            quota: Quota {
                subject: "tenant:acme".to_owned(),
                limit: "at most 3 messages".to_owned(),
            },
            setting: "server.tenant_messages",
        },
        Code::ResourceExhausted,
        R::QuotaExceeded,
    );
    assert_eq!(metadata(&status, "setting"), "server.tenant_messages");
    let quota = status.get_details_quota_failure().unwrap();
    assert_eq!(quota.violations[0].description, "at most 3 messages");
    let scope = KeyScope::Delete;
    let denied = |field: Option<&str>| ApiError::PermissionDenied {
        scope,
        field: field.map(str::to_owned),
    };
    for field in [None, Some("thread.ttl")] {
        let status = check(denied(field), Code::PermissionDenied, R::PermissionDenied);
        assert_eq!(metadata(&status, "scope"), "delete");
        assert_eq!(metadata(&status, "field"), field.unwrap_or_default());
    }
    let status = check(
        ApiError::WebhookDenied,
        Code::PermissionDenied,
        R::PermissionDenied,
    );
    assert_eq!(metadata(&status, "scope"), "admin");
    let full = StoreError::Memory(MemoryError::Full);
    let status = check(full, Code::PermissionDenied, R::PermissionDenied);
    assert_eq!(metadata(&status, "field"), "memories");
    check(
        ApiError::DeadlineExceeded,
        Code::DeadlineExceeded,
        R::DeadlineExceeded,
    );
    check(
        ApiError::RecordDiffers {
            exists: "the thread has another plan".to_owned(),
            replaceable: true,
        },
        Code::FailedPrecondition,
        R::RecordDiffers,
    );
    check(
        ApiError::NoSecondIndex,
        Code::FailedPrecondition,
        R::NoSecondIndex,
    );
    check(
        ApiError::Unreadable {
            problem: "no".into(),
        },
        Code::InvalidArgument,
        R::InvalidField,
    );
    check(ApiError::Panicked, Code::Internal, R::Internal);
}

#[test]
fn no_error_is_too_long_for_the_headers_of_a_client() {
    for (count, problem) in [(100_000, "is wrong".to_owned()), (3, "ä".repeat(20_000))] {
        let fields = (0..count).map(|index| Invalid::new(format!("f[{index}]"), problem.clone()));
        let status = check(
            InvalidFields(fields.collect()),
            Code::InvalidArgument,
            ErrorReason::InvalidField,
        );
        assert!(status.message().contains("f[0]: "));
        assert!(status.message().ends_with(" more"), "{}", status.message());
        assert!(status.message().len() < 2_000);
    }
}

#[test]
fn all_wrong_fields_are_named() {
    let fields = vec![Invalid::new("a.b", "is wrong"), Invalid::new("c[1]", "too")];
    let status = check(
        InvalidFields(fields),
        Code::InvalidArgument,
        ErrorReason::InvalidField,
    );
    let named: Vec<_> = status
        .get_details_bad_request()
        .unwrap()
        .field_violations
        .into_iter()
        .map(|violation| (violation.field, violation.description))
        .collect();
    let expected = [("a.b", "is wrong"), ("c[1]", "too")];
    assert_eq!(
        named,
        expected.map(|(field, problem)| (field.to_owned(), problem.to_owned()))
    );
    let parent = check(
        StoreError::Append(AppendError::ParentNotFound { index: 3 }),
        Code::InvalidArgument,
        ErrorReason::InvalidField,
    );
    let request = parent.get_details_bad_request().unwrap();
    assert_eq!(
        request.field_violations[0].field,
        "messages[3].parent_message_id"
    );
}

#[test]
fn an_internal_error_shows_the_caller_an_incident_and_nothing_else() {
    let corrupt = StoreError::Corrupt {
        what: "role",
        why: "SELECT secret".to_owned(),
    };
    let broken = RecallError::from(EmbedError::ModelMissing {
        what: "model",
        path: PathBuf::from("/secret"),
    });
    for error in [ApiError::from(corrupt), ApiError::from(broken)] {
        let status = check(error, Code::Internal, ErrorReason::Internal);
        assert!(!format!("{status:?}").contains("secret"), "{status:?}");
        assert!(status.message().contains(&metadata(&status, "incident")));
    }
}

#[test]
fn reasons_are_written_as_the_contract_documents_them() {
    let names: BTreeSet<_> = (1..)
        .map_while(|number| ErrorReason::try_from(number).ok())
        .map(name)
        .collect();
    assert!(
        names.contains("THREAD_NOT_FOUND") && names.len() >= 14,
        "{names:?}"
    );
    assert!(names.iter().all(|name| !name.starts_with(PREFIX)));
}
