#![doc = include_str!("../README.md")]

mod checkpoints;
mod document_calls;
mod documents;
mod memory_files;
mod nodes;
mod plans;
mod views;

pub use checkpoints::{
    CheckpointPage, CheckpointPlace, CheckpointQuery, CheckpointScope, CheckpointSelection,
};
pub use documents::{FoundDocument, FoundDocuments, ReadDocuments};
pub use memory_files::{
    ChangedFile, ComparedVersions, FoundPath, ListedFile, Turns, check_reserved, memory_file_of,
};
pub use nodes::{AddedTurn, Node, NodeMemory, NodeStats, NodeStatus, NodeTurn};
pub use plans::{AttemptQuery, LoggedAttempt, PlanStepChange, Progress};
pub use views::{
    CheckpointStore, DocumentStore, DocumentWorker, MemoryFileStore, NodeStore, NodeWorker,
    PlanStore,
};
