//! Errors of nodes and of object storage.

use memory_contract::Invalid;
use memory_contract::proto::ErrorReason;
use memory_runtime::error_chain;
use memory_store::{NodeError, StoreError};
use tonic::Code;

use super::Answer;

impl Answer {
    /// What goes wrong with memories of nodes alone.
    pub(super) fn node(error: NodeError) -> Self {
        match error {
            NodeError::ParentNotFound => Self::invalid(vec![Invalid::new(
                "parent_message_id",
                "must be a message of the node's memory",
            )]),
            NodeError::MessageExists { id } => Self::new(
                Code::AlreadyExists,
                ErrorReason::MessageAlreadyExists,
                format!("the node's memory has a message_id {id} already"),
            )
            .with("message_id", id),
            NodeError::Full { max_bytes } => Self::new(
                Code::FailedPrecondition,
                ErrorReason::NodeMemoryFull,
                format!(
                    "the node's memory has its largest size, {max_bytes} bytes; clear it, or use another node_id"
                ),
            )
            .with("max_bytes", max_bytes),
            NodeError::Corrupt {
                object_key,
                kept_as,
                why,
            } => {
                tracing::error!(object_key, kept_as, why, "a node's memory cannot be read");
                Self::new(
                    Code::DataLoss,
                    ErrorReason::NodeMemoryCorrupt,
                    format!(
                        "the object {object_key} {why}; put a good one in its place, or start afresh with ClearNodeMemory"
                    ),
                )
                .with("object_key", object_key)
                .with("kept_as", kept_as)
            }
        }
    }

    pub(super) fn objects(error: &StoreError) -> Self {
        if matches!(error, StoreError::NoObjectStore) {
            return Self::new(
                Code::Unavailable,
                ErrorReason::ObjectStoreUnavailable,
                "this server has no object storage: set objects.url",
            );
        }
        tracing::warn!(error = %error_chain(error), "the object storage is not available");
        Self::new(
            Code::Unavailable,
            ErrorReason::ObjectStoreUnavailable,
            "the object storage does not answer; what was added is safe, retry later",
        )
    }
}
