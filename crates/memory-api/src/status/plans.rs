//! What goes wrong with plans alone.

use memory_contract::limits;
use memory_contract::proto::ErrorReason;
use memory_store::StoreError;
use tonic::Code;

use super::Answer;

impl Answer {
    pub(super) fn plan(error: StoreError) -> Self {
        match error {
            StoreError::EtagChanged { etag } => Self::new(
                Code::Aborted,
                ErrorReason::EtagChanged,
                "it was changed since the etag was read; read it again, and decide anew",
            )
            .with("etag", etag.unwrap_or_default()),
            StoreError::PlanNotFound => Self::new(
                Code::NotFound,
                ErrorReason::PlanNotFound,
                "the thread has no plan",
            ),
            StoreError::PlanStepNotFound => Self::new(
                Code::NotFound,
                ErrorReason::PlanNotFound,
                "the plan has no such step",
            ),
            StoreError::IterationLogFull => Self::new(
                Code::FailedPrecondition,
                ErrorReason::IterationLogFull,
                format!(
                    "the thread's log has {} attempts, which is all it may have; \
                     go on in another thread, or clear this one",
                    limits::ITERATIONS
                ),
            ),
            other => Self::internal(&other),
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
