//! The views that a store hands out: each has the methods of one noun.

use memory_agents::{
    CheckpointStore, DocumentStore, DocumentWorker, MemoryFileStore, NodeStore, NodeWorker,
    PlanStore,
};
use memory_conversations::{
    ContentStore, ContentWorker, ErasureStore, ErasureWorker, FileStore, MessageStore,
    MessageWorker, PolicyStore, ThreadStore, ThreadWorker,
};
use memory_derived::{
    DistillateStore, DistillateWorker, MemoryStore, MemoryWorker, WorkingMemoryStore,
    WorkingMemoryWorker,
};
use memory_outbox::IndexStore;
use memory_tenants::{AuditStore, KeyStore, UsageStore};

use crate::{Caller, Store, WorkerStore};

macro_rules! views {
    ($($(#[$doc:meta])* $open:ident: $view:ident $(($kept:ident))?;)*) => {
        impl Store {
            $(
                $(#[$doc])*
                pub fn $open<'a>(&'a self, caller: &'a Caller) -> $view<'a> {
                    $view::new(&self.databases, $(&self.$kept,)? caller)
                }
            )*
        }
    };
}

macro_rules! worker_views {
    ($($(#[$doc:meta])* $open:ident: $view:ident $(($kept:ident))?;)*) => {
        impl WorkerStore {
            $(
                $(#[$doc])*
                pub fn $open<'a>(&'a self, store: &'a Store) -> $view<'a> {
                    $view::new(&self.workers, &store.databases, $(&store.$kept,)?)
                }
            )*
        }
    };
}

views! {
    /// Threads, their branches and heads, and watching them.
    threads: ThreadStore(conversations);
    /// Messages, histories, and what recall reads of them.
    messages: MessageStore(conversations);
    /// Policies of apps, and of threads together with the policies of their apps.
    policies: PolicyStore;
    /// Summaries, observations and the ledger of a thread.
    distillates: DistillateStore;
    /// Working memories of sessions.
    working_memories: WorkingMemoryStore(conversations);
    /// Long-term memories.
    memories: MemoryStore(uses);
    /// Memories of a workflow's nodes.
    nodes: NodeStore;
    /// Plans, and logs of attempts and events.
    plans: PlanStore;
    /// Checkpoints of agents' runs.
    checkpoints: CheckpointStore;
    /// JSON documents of users and apps.
    documents: DocumentStore;
    /// Text files of agents.
    memory_files: MemoryFileStore(turns);
    /// Content that messages contain themselves.
    contents: ContentStore;
    /// Metadata of files.
    files: FileStore;
    /// API keys.
    keys: KeyStore;
    /// Deletions of users, apps and tenants.
    erasures: ErasureStore;
    /// Changes that the index has yet to apply.
    index: IndexStore;
    /// The record of who changed what.
    audit: AuditStore;
    /// Tokens that language models have used, and storage.
    usage: UsageStore;
}

worker_views! {
    /// Ephemeral threads of all tenants.
    threads: ThreadWorker;
    /// Remembered requests that appended messages.
    messages: MessageWorker;
    /// Content that messages contain themselves.
    contents: ContentWorker;
    /// The queue of erasures, and what is kept of changes.
    erasures: ErasureWorker;
    /// Expired working memories.
    working_memories: WorkingMemoryWorker(conversations);
    /// Memories to forget and to extract once more.
    memories: MemoryWorker(uses);
    /// Memories of nodes that wait to be flushed or erased.
    nodes: NodeWorker;
    /// Expired documents.
    documents: DocumentWorker;
}

impl WorkerStore {
    /// The queue of threads to distill.
    pub fn distillates<'a>(&'a self, store: &'a Store) -> DistillateWorker<'a> {
        DistillateWorker::new(&self.workers, &store.databases, &self.distill_turn)
    }
}
