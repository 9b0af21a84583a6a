#![doc = include_str!("../README.md")]

mod checkpoints;
mod documents;
mod nodes;
mod plans;
mod views;

pub use checkpoints::{
    CheckpointPage, CheckpointPlace, CheckpointQuery, CheckpointScope, CheckpointSelection,
};
pub use documents::{FoundDocument, FoundDocuments, ReadDocuments};
pub use nodes::{AddedTurn, Node, NodeMemory, NodeStats, NodeStatus, NodeTurn};
pub use plans::{AttemptQuery, LoggedAttempt, PlanStepChange, Progress};
pub use views::{CheckpointStore, DocumentStore, DocumentWorker, NodeStore, NodeWorker, PlanStore};
