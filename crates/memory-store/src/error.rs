//! What can go wrong.

use memory_contract::{MemoryId, MessageId};

/// An error of the store.
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
    /// The tenant has no such memory, or not any more.
    #[error("there is no such memory")]
    MemoryNotFound,
    /// The memory was changed meanwhile.
    #[error("the memory was changed meanwhile")]
    MemoryChanged,
    /// Another memory of the user says the same, or this one itself.
    #[error("the memory {id} says the same")]
    MemoryKnown {
        /// The memory.
        id: MemoryId,
    },
    /// A source is no readable message of the memory's app and user.
    #[error("source {place} of a memory is no message of its app and user")]
    MemorySourceNotFound {
        /// The place of the memory in the request, from 0, where it has several.
        index: Option<usize>,
        /// The place of the source, from 0.
        place: usize,
    },
    /// Memories have been extracted up to another place of the thread.
    #[error("the thread was extracted from by somebody else")]
    ExtractionMoved,
    /// Long-term memory is switched off.
    #[error("long-term memory is switched off")]
    LongTermMemoryOff,
    /// The app and user have a thread with this session key.
    #[error("a thread with this session key exists")]
    ThreadExists,
    /// The tenant has used this message id.
    #[error("the message id {id} is used already")]
    MessageExists {
        /// The id.
        id: MessageId,
    },
    /// The request id was used for another content.
    #[error("the request id was used for another content")]
    RequestReused,
    /// The thread's head is not the expected one.
    #[error("the thread's head has moved")]
    HeadMoved {
        /// The head as it is; `None` in an empty thread.
        head: Option<MessageId>,
    },
    /// The thread has no such parent message.
    #[error("the parent of message {index} is not a message of the thread")]
    ParentNotFound {
        /// The place of the message in the append, from 0.
        index: usize,
    },
    /// The tenant's ephemeral threads have reached their limit.
    #[error("the tenant's ephemeral threads have reached their limit")]
    EphemeralFull,
    /// The thread is ephemeral, and the call needs one that stays.
    #[error("the thread is ephemeral")]
    EphemeralThread,
    /// A message of a working memory cannot stand where it stands.
    #[error("message {index} of the working memory {problem}")]
    WorkingMessage {
        /// The place of the message in the request, from 0.
        index: usize,
        /// What is wrong.
        problem: &'static str,
    },
    /// Somebody has changed it since the caller read it.
    #[error("it has been changed since it was read")]
    EtagChanged {
        /// The etag that it has now; `None`: it is not there.
        etag: Option<String>,
    },
    /// The thread has no plan.
    #[error("the thread has no plan")]
    PlanNotFound,
    /// The plan has no such step.
    #[error("the plan has no such step")]
    PlanStepNotFound,
    /// The thread's log of attempts has its largest size.
    #[error("the log of attempts is full")]
    IterationLogFull,
    /// A derived text does not fit to what its own generation has: a defect of
    /// whoever made it.
    #[error("the derived text does not fit to what covers the path")]
    Misplaced,
    /// The tenant has no such API key.
    #[error("there is no such API key")]
    ApiKeyNotFound,
    /// The tenant has an API key of this name.
    #[error("an API key of this name exists")]
    ApiKeyExists,
    /// The tenant has no such secret.
    #[error("there is no such secret")]
    SecretNotFound,
    /// There is no key for secrets, or not the one of this secret.
    #[error("secrets cannot be used: {why}")]
    SecretsUnavailable {
        /// What is missing, and what to do.
        why: &'static str,
    },
    /// Encrypting, or drawing a random number, failed.
    #[error("{what} failed")]
    Crypto {
        /// What was tried.
        what: &'static str,
    },
    /// The node's memory has no such parent message.
    #[error("the parent is not a message of the node's memory")]
    NodeParentNotFound,
    /// The node's memory has a message with this id.
    #[error("the node's memory has a message {id} already")]
    NodeMessageExists {
        /// The id.
        id: String,
    },
    /// The node's memory has its largest size.
    #[error("the node's memory is full")]
    NodeMemoryFull {
        /// The largest size, in bytes of JSON.
        max_bytes: usize,
    },
    /// The object of a node's memory cannot be read.
    #[error("the object of a node's memory {why}")]
    NodeMemoryCorrupt {
        /// The object.
        object_key: String,
        /// A copy of it; empty where none could be made.
        kept_as: String,
        /// What is wrong with it. It never has stored content.
        why: String,
    },
    /// No place for objects is configured.
    #[error("no object storage is configured")]
    NoObjectStore,
    /// The object storage does not answer, or refuses.
    #[error("the object storage does not {what}")]
    Objects {
        /// What it was to do: `read`, `write` or `delete`.
        what: &'static str,
        /// Why it did not.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Postgres does not answer, or refuses work for the moment.
    #[error("the database is not available")]
    Unavailable {
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// All connections stayed busy.
    #[error("no database connection became free in time")]
    PoolTimeout,
    /// A query failed for a reason of its own: a defect.
    #[error("the query {name} failed")]
    Query {
        /// The query's name, such as `messages/append`.
        name: &'static str,
        /// Why.
        #[source]
        source: tokio_postgres::Error,
    },
    /// A row is not what this release stores.
    #[error("the stored {what} cannot be read: {why}")]
    Corrupt {
        /// What was being read.
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
    /// The settings of object storage cannot be used.
    #[error("objects.{key}: {why}")]
    ObjectsConfig {
        /// The key within its settings, such as `url`.
        key: &'static str,
        /// What is wrong, and what to do.
        why: String,
    },
    /// The schema could not be brought up to date.
    #[error("the database could not be migrated: {why}")]
    Migration {
        /// In words, with what to do where that is known.
        why: String,
        /// What the database said.
        #[source]
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
}

impl StoreError {
    /// Whether the same call may succeed later without any change.
    pub fn retryable(&self) -> bool {
        match self {
            Self::Unavailable { .. } | Self::PoolTimeout | Self::Objects { .. } => true,
            Self::ThreadNotFound
            | Self::MessageNotFound
            | Self::FileNotFound
            | Self::MemoryNotFound
            | Self::MemoryChanged
            | Self::MemoryKnown { .. }
            | Self::MemorySourceNotFound { .. }
            | Self::ExtractionMoved
            | Self::LongTermMemoryOff
            | Self::ThreadExists
            | Self::MessageExists { .. }
            | Self::RequestReused
            | Self::HeadMoved { .. }
            | Self::ParentNotFound { .. }
            | Self::EphemeralFull
            | Self::EphemeralThread
            | Self::WorkingMessage { .. }
            | Self::EtagChanged { .. }
            | Self::PlanNotFound
            | Self::PlanStepNotFound
            | Self::IterationLogFull
            | Self::Misplaced
            | Self::ApiKeyNotFound
            | Self::ApiKeyExists
            | Self::SecretNotFound
            | Self::SecretsUnavailable { .. }
            | Self::Crypto { .. }
            | Self::NodeParentNotFound
            | Self::NodeMessageExists { .. }
            | Self::NodeMemoryFull { .. }
            | Self::NodeMemoryCorrupt { .. }
            | Self::NoObjectStore
            | Self::ObjectsConfig { .. }
            | Self::Query { .. }
            | Self::Corrupt { .. }
            | Self::Config { .. }
            | Self::Migration { .. } => false,
        }
    }
}
