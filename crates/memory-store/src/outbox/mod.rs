//! Changes for the index: their queue, the records to index, and the index's collections.

mod clock;
mod collections;
mod index;
mod queue;

pub use collections::{CollectionChange, CollectionProgress, CollectionRecord, CollectionState};
pub use index::IndexRecord;
pub(crate) use queue::error_text;
pub use queue::{
    Claim, DeadLetter, DeadSubject, Failure, Job, JobKind, LeaseId, OutboxStats, WorkerStore,
};
