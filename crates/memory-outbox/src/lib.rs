#![doc = include_str!("../README.md")]

mod collections;
mod index;
mod queue;
mod views;

pub use collections::{
    CollectionChange, CollectionProgress, CollectionRecord, CollectionState, index_collections,
};
pub use queue::{Claim, DeadLetter, DeadSubject, Failure, Job, JobKind, Outbox, OutboxStats};
pub use views::IndexStore;
