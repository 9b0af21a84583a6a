#![doc = include_str!("../README.md")]

mod distill;
mod memories;
mod views;
mod working;

pub use distill::{
    Commit, Committed, DistillClaim, DistillJob, DistillState, DistillStats, Distillate,
    Generations, MessageRange, NewObservation, NewReflection, NewSummary, RangeQuery, Raw,
    Standing,
};
pub use memories::{
    AddedMemories, AddedMemory, ChangedMemory, DeletedMemory, Extracted, Extraction, Fact, Forget,
    Forgotten, HeldMemories, HeldMemory, ImportedMemories, ImportedMemory, MemoryMatch,
    MemoryOwners, MemoryPlace, MemoryRecord, MemoryWithHistory, SupersededMemory, Unextracted,
    Uses,
};
pub use views::{
    DistillateStore, DistillateWorker, MemoryStore, MemoryWorker, WorkingMemoryStore,
    WorkingMemoryWorker,
};
pub use working::{NamedModel, PutDone, WorkingMemory, WorkingPut, WorkingTarget};

/// Describes this crate's metrics to the installed recorder.
pub fn describe_metrics() {
    memories::describe_metrics();
}
