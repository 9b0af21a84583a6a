//! Errors of the store.

mod nouns;

use memory_objects::ObjectsError;
use memory_postgres::PostgresError;
use tokio_postgres::error::SqlState;

pub use nouns::{
    AppendError, CheckpointError, KeyError, MemoryError, MemoryFileError, NodeError, PlanError,
    SecretError, SubscriptionError, ThreadError,
};

/// Raised by `functions/memories/check_count.sql`.
const MEMORIES_FULL: &str = "RC002";

/// Raised by `functions/erasures/allow_creation.sql` and `functions/threads/refuse_clearing.sql`.
const DELETION_IN_PROGRESS: &str = "RC003";

/// Why a call of the store failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The tenant has no such thread, or it has expired.
    #[error("there is no such thread")]
    ThreadNotFound,
    /// The thread has no such message, or it was erased.
    #[error("the thread has no such message")]
    MessageNotFound,
    /// The tenant has registered no such file.
    #[error("no such file is registered")]
    FileNotFound,
    /// Errors of threads.
    #[error(transparent)]
    Thread(#[from] ThreadError),
    /// Why messages were not stored, or a head was not set.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// Errors of long-term memories.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// Errors of files of agents.
    #[error(transparent)]
    MemoryFile(#[from] MemoryFileError),
    /// Errors of plans and logs of attempts.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// Errors of nodes' memories.
    #[error(transparent)]
    Node(#[from] NodeError),
    /// Errors of API keys.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// Errors of secrets.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// Errors of subscriptions.
    #[error(transparent)]
    Subscription(#[from] SubscriptionError),
    /// The stored value has changed since the caller read it.
    #[error("the stored value has changed since it was read")]
    EtagChanged {
        /// Its etag now; `None` if it does not exist.
        etag: Option<String>,
    },
    /// The user, the app or the tenant is being deleted, or the thread cleared.
    #[error("it is being deleted or cleared")]
    DeletionInProgress,
    /// The caller's bounds exclude the app or the user.
    #[error("the caller's bounds exclude the app or the user")]
    OutOfBounds,
    /// The tenant has no such deletion, or its receipt was forgotten.
    #[error("there is no such deletion")]
    DeletionNotFound,
    /// The memory space has its largest number of apps.
    #[error("the memory space is full")]
    SpaceFull,
    /// Errors of checkpoints.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// The call would replace stored content, and its caller may not erase.
    #[error("{field} would replace stored content")]
    NeedsErase {
        /// The path of the value in the request.
        field: String,
    },
    /// A document's value has too many bytes as Postgres writes it.
    #[error("the document is too large")]
    DocumentTooLarge {
        /// Its place in the request, from 0.
        index: i64,
    },
    /// A derived text does not fit the state of its own generation: a defect of the
    /// caller.
    #[error("the derived text does not continue the texts that cover the path")]
    Misplaced,
    /// Encrypting, or drawing a random number, failed.
    #[error("{what} failed")]
    Crypto {
        /// The failed operation, such as `encrypting`.
        what: &'static str,
    },
    /// No object storage is configured.
    #[error("no object storage is configured")]
    NoObjectStore,
    /// The object storage does not answer, rejects the call, or cannot be used.
    #[error(transparent)]
    Objects(#[from] ObjectsError),
    /// Postgres does not answer, or rejects work for the moment.
    #[error("the database is not available")]
    Unavailable {
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// All connections stayed busy.
    #[error("no database connection became free in time")]
    PoolTimeout,
    /// A query failed although the database is available: a defect.
    #[error("the query {name} failed")]
    Query {
        /// The query's name, such as `messages/append`.
        name: &'static str,
        /// Why.
        #[source]
        source: tokio_postgres::Error,
    },
    /// A stored row has a form that this version does not know.
    #[error("the stored {what} cannot be read: {why}")]
    Corrupt {
        /// The kind of value that was being read.
        what: &'static str,
        /// What is wrong with it. It never has stored content.
        why: String,
    },
    /// The settings cannot be used.
    #[error("{key}: {why}")]
    Config {
        /// The key within the store's settings, such as `url` or `chat_url`.
        key: &'static str,
        /// What is wrong, and what to do.
        why: String,
    },
    /// The schema could not be brought up to date.
    #[error("the database could not be migrated: {why}")]
    Migration {
        /// In words, with what to do where that is known.
        why: String,
        /// The database's message.
        #[source]
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
}

impl StoreError {
    /// Whether the same call may succeed later without any change.
    pub fn retryable(&self) -> bool {
        match self {
            Self::Unavailable { .. }
            | Self::PoolTimeout
            | Self::Objects(ObjectsError::Failed { .. }) => true,
            Self::ThreadNotFound
            | Self::MessageNotFound
            | Self::FileNotFound
            | Self::Thread(_)
            | Self::Append(_)
            | Self::Memory(_)
            | Self::MemoryFile(_)
            | Self::Plan(_)
            | Self::Node(_)
            | Self::Key(_)
            | Self::Secret(_)
            | Self::Subscription(_)
            | Self::EtagChanged { .. }
            | Self::DeletionInProgress
            | Self::OutOfBounds
            | Self::DeletionNotFound
            | Self::SpaceFull
            | Self::Checkpoint(_)
            | Self::NeedsErase { .. }
            | Self::DocumentTooLarge { .. }
            | Self::Misplaced
            | Self::Crypto { .. }
            | Self::NoObjectStore
            | Self::Objects(_)
            | Self::Query { .. }
            | Self::Corrupt { .. }
            | Self::Config { .. }
            | Self::Migration { .. } => false,
        }
    }
}

impl From<PostgresError> for StoreError {
    fn from(error: PostgresError) -> Self {
        match error {
            PostgresError::Unavailable { source } => Self::Unavailable { source },
            PostgresError::PoolTimeout => Self::PoolTimeout,
            PostgresError::Config { key, why } => Self::Config { key, why },
            PostgresError::Query { name, source } => match source.code().map(SqlState::code) {
                Some(MEMORIES_FULL) => Self::Memory(MemoryError::Full),
                Some(DELETION_IN_PROGRESS) => Self::DeletionInProgress,
                _ if is_forbidden_row(&source) => Self::OutOfBounds,
                _ => Self::Query { name, source },
            },
        }
    }
}

/// Whether row-level security has refused a new row: the tenant is always the caller's, so its bounds
/// exclude the row.
fn is_forbidden_row(error: &tokio_postgres::Error) -> bool {
    error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE)
        && error
            .as_db_error()
            .is_some_and(|error| error.message().contains("row-level security"))
}
