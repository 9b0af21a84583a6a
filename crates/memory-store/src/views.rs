//! Views of the store: each has the methods of one noun, for one caller.

use crate::{Caller, Store};

macro_rules! views {
    ($($(#[$doc:meta])* $open:ident: $view:ident;)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug)]
            pub struct $view<'a> {
                pub(crate) store: &'a Store,
                pub(crate) caller: &'a Caller,
            }
        )*

        impl Store {
            $(
                $(#[$doc])*
                pub fn $open<'a>(&'a self, caller: &'a Caller) -> $view<'a> {
                    $view { store: self, caller }
                }
            )*
        }
    };
}

views! {
    /// Threads, their branches and heads, and watching them.
    threads: ThreadStore;
    /// Messages, histories, and what recall reads of them.
    messages: MessageStore;
    /// Policies of apps, and of threads together with the policies of their apps.
    policies: PolicyStore;
    /// Summaries, observations and the ledger of a thread.
    distillates: DistillateStore;
    /// Working memories of sessions.
    working_memories: WorkingMemoryStore;
    /// Long-term memories.
    memories: MemoryStore;
    /// Memories of a workflow's nodes.
    nodes: NodeStore;
    /// Plans, and logs of attempts and events.
    plans: PlanStore;
    /// Checkpoints of agents' runs.
    checkpoints: CheckpointStore;
    /// JSON documents of users and apps.
    documents: DocumentStore;
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
