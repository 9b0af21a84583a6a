#![doc = include_str!("../README.md")]

mod api_key;
mod attempt;
mod authenticator;
mod cache;
mod checkpoints;
mod composite;
mod config;
mod content;
mod distill;
mod documents;
mod ephemeral;
mod erasure;
mod error;
mod event;
mod export;
mod file;
mod index;
mod index_collections;
mod keyring;
mod ledger;
mod listing;
mod memories;
mod messages;
mod migrate;
mod nodes;
mod opening;
mod outbox;
mod plan;
mod policy;
mod recall;
mod rows;
mod secret;
mod store;
mod thread;
mod thread_list;
mod transaction;
mod usage;
mod views;
mod watch;
mod words;
mod working;

pub use api_key::{NewApiKey, looks_like_key};
pub use attempt::{AttemptQuery, LoggedAttempt, Progress};
pub use authenticator::{Authenticator, LookupError};
pub use checkpoints::{
    CheckpointPage, CheckpointPlace, CheckpointQuery, CheckpointScope, CheckpointSelection,
};
pub use config::{CacheConfig, CacheKind, EphemeralConfig, SecretsConfig};
pub use content::{HeldContent, Hold};
pub use distill::{
    Commit, Committed, DistillClaim, DistillJob, DistillState, DistillStats, Distillate,
    Generations, MessageRange, NewObservation, NewReflection, NewSummary, RangeQuery, Raw,
    Standing, retry_pause,
};
pub use documents::{FoundDocument, FoundDocuments, ReadDocuments};
pub use ephemeral::{EphemeralStats, Presence};
pub use erasure::{ErasureStats, OutsideErasure};
pub use error::{
    AppendError, CheckpointError, KeyError, MemoryError, NodeError, PlanError, SecretError,
    StoreError, ThreadError,
};
pub use file::{FoundFiles, Lookup, Registered};
pub use index::IndexRecord;
pub use index_collections::{
    CollectionChange, CollectionProgress, CollectionRecord, CollectionState,
};
pub use keyring::{Keyring, new_key};
pub use listing::{OwnerMessageQuery, SaidPlace};
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
pub use memory_postgres::{Caller, PoolStatus, StoreConfig, error_chain, task};
pub use messages::{Append, Appended, CountedMessage, History, HistoryQuery, MessageQuery, Order};
pub use migrate::{MigrationReport, migrate, schema_version};
pub use nodes::{AddedTurn, Deletion, Node, NodeMemory, NodeStats, NodeStatus, NodeTurn};
pub use outbox::{
    Claim, ClockFollowed, DeadLetter, DeadSubject, Failure, Job, JobKind, LeaseId, OutboxStats,
    WorkerStore,
};
pub use plan::PlanStepChange;
pub use policy::{AppPolicy, Policies};
pub use recall::{Freshness, Hydrated, Neighbor, Scope, Space, TextMatch, Unindexed};
pub use secret::{Secret, Secrets};
pub use store::{Page, Store};
pub use thread::{Erased, NewThread, Resolved, ThreadChange};
pub use thread_list::{ThreadListQuery, ThreadPlace, ThreadQuery};
pub use transaction::{Refusals, Transaction, TransactionQuery};
pub use usage::{ModelTokens, ModelUsage, StorageUsage};
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
    cache::describe_metrics();
    memories::describe_metrics();
    memory_objects::describe_metrics();
}
