#![doc = include_str!("../README.md")]

mod clock;
mod store;
mod views;
mod worker_store;

pub use memory_agents::{
    AddedTurn, AttemptQuery, ChangedFile, CheckpointPage, CheckpointPlace, CheckpointQuery,
    CheckpointScope, CheckpointSelection, CheckpointStore, ComparedVersions, DocumentStore,
    FoundDocument, FoundDocuments, FoundPath, ListedFile, LoggedAttempt, MemoryFileStore, Node,
    NodeMemory, NodeStats, NodeStatus, NodeStore, NodeTurn, PlanStepChange, PlanStore, Progress,
    ReadDocuments, check_reserved, memory_file_of,
};
pub use memory_contract::revision::{InvalidRevision, Revision};
pub use memory_conversations::{
    AppPolicy, Append, Appended, CacheConfig, CacheKind, Change, ContentStore, CountedMessage,
    EphemeralStats, Erased, ErasureStats, ErasureStore, FileStore, FoundFiles, Freshness,
    HeldContent, History, HistoryQuery, Hold, Hydrated, IndexRecord, Lookup, MessageQuery,
    MessageStore, Neighbor, NewThread, Order, OutsideErasure, OwnerMessageQuery, PGBENCH_APPEND,
    PGBENCH_SETUP, PathPage, PathQuery, Policies, PolicyStore, Presence, Registered, Resolved,
    SaidPlace, SeqRange, TextMatch, ThreadChange, ThreadListQuery, ThreadPlace, ThreadQuery,
    ThreadStore, Unindexed, UnindexedChange, Watch, WatchPlace, instructions,
};
pub use memory_database::{
    AppendError, CheckpointError, EphemeralConfig, KeyError, MemoryError, MemoryFileError,
    MigrationReport, NodeError, Page, PlanError, Scope, SecretError, Space, StoreError,
    SubscriptionError, ThreadError, Transaction, migrate,
    queue::{LeaseId, retry_pause},
    schema_version,
};
pub use memory_derived::{
    AddedMemories, AddedMemory, ChangedMemory, Commit, Committed, DeletedMemory, DistillClaim,
    DistillJob, DistillState, DistillStats, Distillate, DistillateStore, DistillateWorker,
    Extracted, Extraction, Fact, Forget, Forgotten, Generations, HeldMemories, HeldMemory,
    ImportedMemories, ImportedMemory, MemoryMatch, MemoryOwners, MemoryPlace, MemoryRecord,
    MemoryStore, MemoryWithHistory, MessageRange, NamedModel, NewObservation, NewReflection,
    NewSummary, PutDone, RangeQuery, Raw, Standing, SupersededMemory, Unextracted, WorkingMemory,
    WorkingMemoryStore, WorkingPut, WorkingTarget,
};
pub use memory_ledger::{
    Branching, DistillKind, Entry, Ledger, LedgerCount, LedgerFault, LedgerRange, LedgerRow,
    LedgerState, LedgerThread, Place,
};
pub use memory_outbox::{
    Claim, CollectionChange, CollectionProgress, CollectionRecord, CollectionState, DeadLetter,
    DeadSubject, Failure, IndexStore, Job, JobKind, Outbox, OutboxStats,
};
pub use memory_postgres::{Caller, PoolStatus, StoreConfig};
pub use memory_tenants::{
    AuditStore, Authenticator, DueSubscription, EventBatch, EventQueue, EventsSeen, KeyStore,
    Keyring, LookupError, ModelKind, ModelTokens, ModelUsage, NewApiKey, NewSubscription,
    NextEvents, Refusals, SUBSCRIPTION_LEASE, Secret, Secrets, SecretsConfig, StorageUsage,
    Subscription, SubscriptionChange, SubscriptionEvent, SubscriptionQueue, SubscriptionStats,
    Subscriptions, TransactionQuery, UsageStore, Webhook, looks_like_key, new_key,
};
pub use store::Store;
pub use worker_store::WorkerStore;

/// Describes the metrics of the store to the installed recorder.
pub fn describe_metrics() {
    memory_conversations::describe_metrics();
    memory_derived::describe_metrics();
    memory_objects::describe_metrics();
}
