#![doc = include_str!("../README.md")]

mod config;
mod error;

mod migrate;
mod store;
mod views;

mod checkpoints;
mod distill;
mod documents;
mod erasures;
mod files;
mod memories;
mod messages;
mod nodes;
mod outbox;
mod plans;
mod policies;
mod tenants;
mod threads;
mod watch;
mod working;

mod composite;
mod page;
mod rows;
mod scope;
mod words;

pub use checkpoints::{
    CheckpointPage, CheckpointPlace, CheckpointQuery, CheckpointScope, CheckpointSelection,
};
pub use config::{CacheConfig, CacheKind, EphemeralConfig, SecretsConfig};
pub use distill::{
    Commit, Committed, DistillClaim, DistillJob, DistillState, DistillStats, Distillate,
    Generations, MessageRange, NewObservation, NewReflection, NewSummary, RangeQuery, Raw,
    Standing, retry_pause,
};
pub use documents::{FoundDocument, FoundDocuments, ReadDocuments};
pub use erasures::{ErasureStats, OutsideErasure};
pub use error::{
    AppendError, CheckpointError, KeyError, MemoryError, NodeError, PlanError, SecretError,
    StoreError, ThreadError,
};
pub use files::{FoundFiles, Lookup, Registered};
pub use memories::{
    AddedMemories, AddedMemory, ChangedMemory, DeletedMemory, Extracted, Extraction, Fact, Forget,
    Forgotten, ImportedMemories, ImportedMemory, MemoryMatch, MemoryOwners, MemoryPlace,
    MemoryRecord, MemoryWithHistory, SupersededMemory, Unextracted,
};
pub use memory_contract::{InvalidRevision, Revision};
pub use memory_ledger::{
    Branching, DistillKind, Entry, Ledger, LedgerCount, LedgerFault, LedgerRange, LedgerRow,
    LedgerState, LedgerThread, Place,
};
pub use memory_postgres::{Caller, PoolStatus, StoreConfig};
pub use messages::{
    Append, Appended, CountedMessage, Freshness, HeldContent, History, HistoryQuery, Hold,
    Hydrated, MessageQuery, Neighbor, Order, OwnerMessageQuery, SaidPlace, TextMatch, Unindexed,
};
pub use migrate::{MigrationReport, migrate, schema_version};
pub use nodes::{AddedTurn, Deletion, Node, NodeMemory, NodeStats, NodeStatus, NodeTurn};
pub use outbox::{
    Claim, CollectionChange, CollectionProgress, CollectionRecord, CollectionState, DeadLetter,
    DeadSubject, Failure, IndexRecord, Job, JobKind, LeaseId, OutboxStats, WorkerStore,
};
pub use page::Page;
pub use plans::{AttemptQuery, LoggedAttempt, PlanStepChange, Progress};
pub use policies::{AppPolicy, Policies};
pub use scope::{Scope, Space};
pub use store::Store;
pub use tenants::{
    Authenticator, Keyring, LookupError, ModelTokens, ModelUsage, NewApiKey, Refusals, Secret,
    Secrets, StorageUsage, Transaction, TransactionQuery, looks_like_key, new_key,
};
pub use threads::{
    EphemeralStats, Erased, NewThread, Resolved, ServerLock, ThreadChange, ThreadListQuery,
    ThreadPlace, ThreadQuery,
};
pub use views::{
    AuditStore, CheckpointStore, ContentStore, DistillateStore, DocumentStore, ErasureStore,
    FileStore, IndexStore, KeyStore, MemoryStore, MessageStore, NodeStore, PlanStore, PolicyStore,
    ThreadStore, UsageStore, WorkingMemoryStore,
};
pub use watch::{Change, SeqRange, Watch, WatchPlace};
pub use working::{NamedModel, PutDone, WorkingMemory, WorkingPut, WorkingTarget};

/// A pgbench script that appends one message, as the service does and without
/// the service: the floor that `memory-bench` measures appends against.
pub const PGBENCH_APPEND: &str = include_str!("../queries/messages/append.pgbench.sql");

/// Makes the threads that [`PGBENCH_APPEND`] appends to. Idempotent.
pub const PGBENCH_SETUP: &str = include_str!("../queries/messages/append.pgbench.setup.sql");

/// Describes this crate's metrics to the installed recorder.
pub fn describe_metrics() {
    messages::cache::describe_metrics();
    memories::describe_metrics();
    memory_objects::describe_metrics();
}
