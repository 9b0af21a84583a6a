//! The statuses of errors of documents and checkpoints.

use memory_contract::proto::ErrorReason;
use memory_contract::{Invalid, limits};
use memory_store::CheckpointError;
use tonic::Code;

use super::Answer;

impl Answer {
    pub(super) fn document_too_large(index: i64) -> Self {
        Self::invalid(vec![Invalid::new(
            format!("documents[{index}].json"),
            expanded(limits::DOCUMENT_BYTES),
        )])
    }

    pub(super) fn checkpoint(error: &CheckpointError) -> Self {
        match error {
            CheckpointError::TooLarge => Self::invalid(vec![Invalid::new(
                "checkpoint_id",
                format!(
                    "must name a checkpoint whose values have at most {0} bytes, and its writes at \
                     most {0}",
                    limits::CHECKPOINT_STATE_BYTES
                ),
            )]),
            CheckpointError::ParentNotFound => Self::new(
                Code::FailedPrecondition,
                ErrorReason::CheckpointParentNotFound,
                "the parent of the checkpoint is not stored, because it was deleted; begin a new \
                 run without parent_checkpoint_id, or set allow_missing_parent in an import",
            ),
            CheckpointError::MetadataTooLarge => Self::invalid(vec![Invalid::new(
                "metadata",
                expanded(limits::CHECKPOINT_METADATA_BYTES),
            )]),
            CheckpointError::ValuesDiffer => Self::new(
                Code::FailedPrecondition,
                ErrorReason::CheckpointValuesDiffer,
                "the target has another value of the same namespace, channel and version; copy \
                 into a thread without checkpoints",
            ),
        }
    }
}

fn expanded(most: usize) -> String {
    format!("must have at most {most} bytes when its numbers are written without exponents")
}
