//! Errors of memories.

use memory_contract::proto::ErrorReason;
use memory_contract::{Invalid, key::KeyScope};
use memory_store::MemoryError;
use tonic::Code;

use super::Answer;

impl Answer {
    /// What goes wrong with long-term memories alone.
    pub(super) fn memory(error: MemoryError) -> Self {
        match error {
            MemoryError::NotFound => Self::new(
                Code::NotFound,
                ErrorReason::MemoryNotFound,
                "there is no such memory",
            ),
            MemoryError::Changed => Self::new(
                Code::Aborted,
                ErrorReason::EtagChanged,
                "the memory was changed meanwhile; read it and try again",
            ),
            MemoryError::Known { id } => Self::invalid(vec![Invalid::new(
                "text",
                format!("must be another text: the memory {id} says the same"),
            )]),
            MemoryError::SourceNotFound { index, place } => {
                let memory = index.map(|index| format!("memories[{index}]."));
                Self::invalid(vec![Invalid::new(
                    format!("{}source_message_ids[{place}]", memory.unwrap_or_default()),
                    "must be a message of the same app and user",
                )])
            }
            MemoryError::ListedNotFound { index } => Self::invalid(vec![Invalid::new(
                format!("memories[{index}].memory_id"),
                "must be a memory of the same app and user; it may have been deleted since it was \
                 read. Leave memory_id empty to store the memory as a new one",
            )]),
            MemoryError::ListedTaken { index } => Self::invalid(vec![Invalid::new(
                format!("memories[{index}]"),
                "must not have the external_id of another memory, or the former text of one that \
                 changes in the same request; change one at a time",
            )]),
            MemoryError::Off => Self::new(
                Code::FailedPrecondition,
                ErrorReason::LongTermMemoryOff,
                "long-term memory is switched off on this server: set memories.enabled",
            ),
            MemoryError::Full => Self {
                message: "the user has as many memories as memory_max_count keeps, so a new one \
                          deletes another, which needs an API key with the scope `delete`"
                    .to_owned(),
                ..Self::permission_denied(KeyScope::Delete, Some("memories"))
            },
            error @ MemoryError::ExtractionMoved => Self::internal(&error),
        }
    }
}
