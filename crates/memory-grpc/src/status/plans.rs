//! The statuses of errors of plans.

use memory_contract::limits;
use memory_contract::proto::ErrorReason;
use memory_store::PlanError;
use tonic::Code;

use super::Answer;

impl Answer {
    pub(super) fn etag_changed(etag: Option<String>) -> Self {
        Self::new(
            Code::Aborted,
            ErrorReason::EtagChanged,
            "the stored state is not the one that the request requires; read it and try again",
        )
        .with("etag", etag.unwrap_or_default())
    }

    pub(super) fn plan(error: &PlanError) -> Self {
        match error {
            PlanError::NotFound => Self::new(
                Code::NotFound,
                ErrorReason::PlanNotFound,
                "the thread has no plan",
            ),
            PlanError::StepNotFound => Self::new(
                Code::NotFound,
                ErrorReason::PlanNotFound,
                "the plan has no such step",
            ),
            PlanError::LogFull => Self::new(
                Code::FailedPrecondition,
                ErrorReason::AttemptLogFull,
                format!(
                    "the thread's log has {} attempts, which is all it may have; \
                     go on in another thread, or clear this one",
                    limits::ATTEMPTS
                ),
            ),
            PlanError::EventLogFull => Self::new(
                Code::FailedPrecondition,
                ErrorReason::EventLogFull,
                format!(
                    "the thread's log has {} events, which is all it may have; \
                     go on in another thread, or clear this one",
                    limits::EVENTS
                ),
            ),
        }
    }

    pub(super) fn briefing_too_large(needed_tokens: i32, max_tokens: i32) -> Self {
        Self::new(
            Code::FailedPrecondition,
            ErrorReason::ContextTooLarge,
            format!("the task alone has {needed_tokens} tokens, over the budget of {max_tokens}"),
        )
        .with("needed_tokens", needed_tokens)
    }
}
