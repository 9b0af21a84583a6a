//! All handlers, with what they depend on.

use std::time::Duration;

use memory_index::{Background, IndexerHandle};
use memory_recall::Recall;
use memory_store::Store;
use tokio_util::sync::CancellationToken;

use crate::watch::Watching;
use crate::{
    Checkpoints, Contexts, Documents, Events, Files, Ledgers, Memories, MemoryFiles, Messages,
    Nodes, Observations, Plans, Policies, Recalls, StorageQuotas, Threads, WorkingMemories,
};

/// What the handlers depend on.
#[derive(Clone)]
pub struct Dependencies {
    /// Conversations, memories, files.
    pub store: Store,
    /// Recall and search, over the index and the store.
    pub recall: Recall,
    /// Wakes the index worker of this process; `None` where none runs here.
    pub indexer: Option<IndexerHandle>,
    /// The room for imports, shared with the index worker of this process.
    pub background: Background,
    /// Quotas of what a tenant stores.
    pub quotas: StorageQuotas,
    /// The languages whose statements the workers recognize as facts; empty for those of their
    /// language model.
    pub extraction_languages: &'static str,
    /// The longest that a stream may last.
    pub stream_timeout: Duration,
    /// How long entries of the audit log are kept, which watches read.
    pub transaction_retention: Duration,
    /// Cancelled when the server stops.
    pub stop: CancellationToken,
}

/// The handlers. Each implements the service of its name.
#[derive(Clone)]
#[expect(missing_docs, reason = "the types say what they are")]
pub struct Handlers {
    pub threads: Threads,
    pub messages: Messages,
    pub recalls: Recalls,
    pub contexts: Contexts,
    pub policies: Policies,
    pub memories: Memories,
    pub working_memories: WorkingMemories,
    pub nodes: Nodes,
    pub events: Events,
    pub plans: Plans,
    pub documents: Documents,
    pub memory_files: MemoryFiles,
    pub checkpoints: Checkpoints,
    pub files: Files,
    pub observations: Observations,
    pub ledgers: Ledgers,
}

impl Handlers {
    /// The handlers with their dependencies.
    pub fn new(dependencies: Dependencies) -> Self {
        let Dependencies {
            store,
            recall,
            indexer,
            background,
            quotas,
            extraction_languages,
            stream_timeout,
            transaction_retention,
            stop,
        } = dependencies;
        Self {
            threads: Threads {
                store: store.clone(),
                indexer: indexer.clone(),
                watching: Watching {
                    stop,
                    retention: transaction_retention,
                },
            },
            messages: Messages {
                store: store.clone(),
                indexer: indexer.clone(),
                quotas: quotas.clone(),
                stream_timeout,
                background,
            },
            recalls: Recalls {
                store: store.clone(),
                recall: recall.clone(),
            },
            contexts: Contexts {
                store: store.clone(),
                recall: recall.clone(),
            },
            policies: Policies {
                store: store.clone(),
            },
            memories: Memories {
                store: store.clone(),
                recall: recall.clone(),
                indexer: indexer.clone(),
                quotas: quotas.clone(),
                extraction_languages,
            },
            working_memories: WorkingMemories {
                store: store.clone(),
                indexer,
                quotas: quotas.clone(),
            },
            nodes: Nodes {
                store: store.clone(),
                quotas: quotas.clone(),
            },
            events: Events {
                store: store.clone(),
                quotas: quotas.clone(),
            },
            plans: Plans {
                store: store.clone(),
                quotas: quotas.clone(),
            },
            documents: Documents {
                store: store.clone(),
                recall: recall.clone(),
                quotas: quotas.clone(),
            },
            memory_files: MemoryFiles {
                store: store.clone(),
                recall,
                quotas: quotas.clone(),
            },
            checkpoints: Checkpoints {
                store: store.clone(),
                quotas,
            },
            files: Files {
                store: store.clone(),
            },
            observations: Observations {
                store: store.clone(),
            },
            ledgers: Ledgers { store },
        }
    }
}
