#![doc = include_str!("../README.md")]

mod config;
mod conversations;
mod erasures;
mod files;
mod messages;
mod policies;
mod presence;
mod threads;
mod views;
mod watch;

pub use config::{CacheConfig, CacheKind};
pub use conversations::Conversations;
pub use erasures::{ErasureStats, OUTSIDE_LEASE, OutsideErasure};
pub use files::{FoundFiles, Lookup, Registered};
pub use messages::{
    Append, Appended, CountedMessage, Freshness, HeldContent, History, HistoryQuery, Hold,
    Hydrated, IndexRecord, MessageQuery, Neighbor, NewRows, Order, OwnerMessageQuery, PathMessages,
    PathPage, PathQuery, Place, SaidPlace, TextMatch, Unindexed, UnindexedChange, external_exists,
    instructions, read_message,
};
pub use policies::{AppPolicy, Policies, THREAD_POLICIES};
pub use presence::Presence;
pub use threads::{
    EphemeralStats, Erased, NewThread, OPEN_THREAD, Opening, Resolved, ThreadChange,
    ThreadListQuery, ThreadPlace, ThreadQuery, used,
};
pub use views::{
    ContentStore, ContentWorker, ErasureStore, ErasureWorker, FileStore, MessageStore,
    MessageWorker, PolicyStore, ThreadStore, ThreadWorker,
};
pub use watch::{Change, SeqRange, Watch, WatchPlace};

/// A pgbench script that appends one message, as the service does and without
/// the service: the floor that `memory-bench` measures appends against.
pub const PGBENCH_APPEND: &str = include_str!("../queries/messages/append.pgbench.sql");

/// Makes the threads that [`PGBENCH_APPEND`] appends to. Idempotent.
pub const PGBENCH_SETUP: &str = include_str!("../queries/messages/append.pgbench.setup.sql");

/// Describes this crate's metrics to the installed recorder.
pub fn describe_metrics() {
    messages::cache::describe_metrics();
}
