//! The views of what agents store.

use crate::memory_files::Turns;

memory_database::views! {
    /// Memories of a workflow's nodes.
    NodeStore;
    /// Plans, and logs of attempts and events.
    PlanStore;
    /// Checkpoints of agents' runs.
    CheckpointStore;
    /// JSON documents of users and apps.
    DocumentStore;
    /// Text files of agents.
    MemoryFileStore { turns: Turns };
}

memory_database::worker_views! {
    /// Memories of nodes that wait to be flushed or erased.
    NodeWorker;
    /// Expired documents.
    DocumentWorker;
}
