//! Errors of one noun each, which `StoreError` wraps.

use memory_contract::{MemoryId, MessageId};

/// Why a call on a thread failed.
#[derive(Debug, thiserror::Error)]
pub enum ThreadError {
    /// The app and user have a thread with this session key.
    #[error("a thread with this session key exists")]
    Exists,
    /// The tenant's ephemeral threads have reached their limit.
    #[error("the tenant's ephemeral threads have reached their limit")]
    EphemeralFull,
    /// The thread is ephemeral, and the call requires a persistent thread.
    #[error("the thread is ephemeral")]
    Ephemeral,
}

/// Why messages were not stored, or a head was not set.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// The tenant has used this message id.
    #[error("the message id {id} is used already")]
    MessageExists {
        /// The id that is used already.
        id: MessageId,
    },
    /// The thread has, or had, another message with this external id.
    #[error("message {index} has the external id of another message of the thread")]
    ExternalIdExists {
        /// The place of the message in the request, from 0.
        index: usize,
        /// The external id.
        id: String,
    },
    /// The request id was used with other content.
    #[error("the request id was used with other content")]
    RequestReused,
    /// The thread's head is not the expected one.
    #[error("the thread's head has moved")]
    HeadMoved {
        /// The current head; `None` in an empty thread.
        head: Option<MessageId>,
    },
    /// The thread has no such parent message.
    #[error("the parent of message {index} is not a message of the thread")]
    ParentNotFound {
        /// The place of the message in the append, from 0.
        index: usize,
    },
}

/// Errors of long-term memories.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// The tenant has no such memory, or it was erased.
    #[error("there is no such memory")]
    NotFound,
    /// The memory was changed meanwhile.
    #[error("the memory was changed meanwhile")]
    Changed,
    /// A memory of the user has the same text, perhaps this one itself.
    #[error("the memory {id} says the same")]
    Known {
        /// The memory with the same text.
        id: MemoryId,
    },
    /// The user has as many memories as the policy keeps, and the caller may not erase any.
    #[error("the user has as many memories as the policy keeps")]
    Full,
    /// A source is not a readable message of the memory's app and user.
    #[error("source {place} of a memory is not a message of its app and user")]
    SourceNotFound {
        /// The place of the memory in the request, from 0, where it has several.
        index: Option<usize>,
        /// The place of the source, from 0.
        place: usize,
    },
    /// A memory of a working memory is not of its app and user, or was erased.
    #[error("memory {index} of the working memory does not exist")]
    ListedNotFound {
        /// The place of the memory in the request, from 0.
        index: usize,
    },
    /// A memory of a working memory has the text or the external id of another one.
    #[error("memory {index} of the working memory is another one, too")]
    ListedTaken {
        /// The place of the memory in the request, from 0.
        index: usize,
    },
    /// Memories have been extracted up to another place of the thread.
    #[error("memories were extracted from the thread meanwhile")]
    ExtractionMoved,
    /// Long-term memory is switched off.
    #[error("long-term memory is switched off")]
    Off,
}

/// Errors of checkpoints.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// Its values, or its writes, have too many bytes together.
    #[error("the state of the checkpoint is too large")]
    TooLarge,
    /// Its parent is not stored.
    #[error("the parent of the checkpoint is not stored")]
    ParentNotFound,
    /// Its metadata has too many bytes as Postgres writes it.
    #[error("the metadata of the checkpoint is too large")]
    MetadataTooLarge,
    /// Two threads have different values of the same channel and version.
    #[error("the threads have different values of the same version")]
    ValuesDiffer,
}

/// Why a call on files of agents failed.
#[derive(Debug, thiserror::Error)]
pub enum MemoryFileError {
    /// The user has no such file or directory.
    #[error("there is no such file or directory")]
    NotFound,
    /// The file has no such version.
    #[error("the file has no such version")]
    VersionNotFound,
    /// The path names a directory, and the call is for a file.
    #[error("the path names a directory")]
    IsDirectory,
    /// The path leads through a file, as if it were a directory.
    #[error("the path leads through a file")]
    BelowFile,
    /// There is a file or a directory at the new path.
    #[error("there is a file or a directory at the new path")]
    Exists,
    /// The new path is in the directory that is renamed.
    #[error("a directory cannot be renamed into itself")]
    IntoItself,
    /// A file in the renamed directory would have too long a path.
    #[error("a file would have too long a path")]
    PathTooLong,
    /// The text to replace does not occur.
    #[error("the text to replace does not occur")]
    TextNotFound,
    /// The text to replace occurs more than once.
    #[error("the text to replace occurs more than once")]
    TextNotUnique {
        /// The numbers of the lines where it begins, from 1.
        lines: Vec<usize>,
    },
    /// The file has fewer lines.
    #[error("the file has {lines} lines")]
    LineOutOfRange {
        /// How many it has.
        lines: usize,
    },
    /// The text would have too many bytes.
    #[error("the file would be too large")]
    TooLarge,
    /// The user has as many files as a user may have.
    #[error("the user has as many files as a user may have")]
    TooMany,
    /// The user's files would have too many bytes together.
    #[error("the user's files would be too large together")]
    TooManyBytes,
}

/// Errors of plans and logs of attempts and events.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The thread has no plan.
    #[error("the thread has no plan")]
    NotFound,
    /// The plan has no such step.
    #[error("the plan has no such step")]
    StepNotFound,
    /// The thread's log of attempts has its largest size.
    #[error("the log of attempts is full")]
    LogFull,
    /// The thread's log of events has its largest size.
    #[error("the log of events is full")]
    EventLogFull,
}

/// Errors of nodes' memories.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// The node's memory has no such parent message.
    #[error("the parent is not a message of the node's memory")]
    ParentNotFound,
    /// The node's memory has a message with this id.
    #[error("the node's memory has a message {id} already")]
    MessageExists {
        /// The id that is used already.
        id: String,
    },
    /// The node's memory has its largest size.
    #[error("the node's memory is full")]
    Full {
        /// The largest size, in bytes of JSON.
        max_bytes: usize,
    },
    /// The object of a node's memory cannot be read.
    #[error("the object of a node's memory {why}")]
    Corrupt {
        /// The key of the object.
        object_key: String,
        /// The key of a copy of it; empty if none could be made.
        kept_as: String,
        /// What is wrong with it. It never has stored content.
        why: String,
    },
}

/// Errors of API keys.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The tenant has an API key of this name.
    #[error("an API key of this name exists")]
    Exists,
}

/// Why a call on a secret failed.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// The tenant has no such secret.
    #[error("there is no such secret")]
    NotFound,
    /// No key for secrets is configured, or not the one of this secret.
    #[error("secrets cannot be used: {why}")]
    Unavailable {
        /// What is missing, and what to do.
        why: &'static str,
    },
}

/// Why a call on a subscription failed.
#[derive(Debug, thiserror::Error)]
pub enum SubscriptionError {
    /// The tenant has no such subscription.
    #[error("there is no such subscription")]
    NotFound,
    /// The tenant has a subscription of this name.
    #[error("a subscription of this name exists")]
    Exists,
    /// The tenant has as many subscriptions as it may have.
    #[error("the tenant has as many subscriptions as it may have")]
    Full,
}
