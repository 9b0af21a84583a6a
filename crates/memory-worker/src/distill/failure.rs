//! Failures of distilling.

use memory_distill::DistillError;
use memory_recall::RecallError;
use memory_store::StoreError;
use tokio::task::JoinError;

/// Why distilling failed. Earlier commits stay.
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
