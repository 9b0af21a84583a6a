//! Errors of the crate. No message contains message text or a query.

use std::path::PathBuf;
use std::time::Duration;

use memory_contract::duration_text::format_duration;
use memory_store::StoreError;

use crate::index::Backend;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// An error of recall or of indexing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecallError {
    /// The store failed or refused.
    #[error("the store failed")]
    Store(#[from] StoreError),
    /// The index does not answer.
    #[error("the index ({backend}) does not answer")]
    IndexUnavailable {
        /// The index.
        backend: Backend,
        /// The cause.
        #[source]
        source: BoxError,
    },
    /// The index did not answer in time.
    #[error("the index ({backend}) did not answer within {}", format_duration(*after))]
    IndexTimeout {
        /// The index.
        backend: Backend,
        /// The time limit.
        after: Duration,
    },
    /// The index has lost its collection and has to be prepared again.
    #[error("the index ({backend}) has lost the collection {collection}")]
    IndexLost {
        /// The index.
        backend: Backend,
        /// The name of the missing collection.
        collection: String,
    },
    /// The index refused an operation, because of a defect or an incompatible index.
    #[error("the index ({backend}) refused to {operation}")]
    IndexRefused {
        /// The index.
        backend: Backend,
        /// The operation, as an infinitive.
        operation: &'static str,
        /// The cause.
        #[source]
        source: BoxError,
    },
    /// A message or memory changed again each time that it was indexed.
    #[error("a message or memory changes faster than it is indexed")]
    StillChanging,
    /// The index's directory cannot be used.
    #[error("the index directory {} cannot be used", path.display())]
    IndexDirectory {
        /// The directory.
        path: PathBuf,
        /// The cause.
        #[source]
        source: BoxError,
    },
    /// A vector has other dimensions than the index.
    #[error("the index holds vectors of {expected} numbers, not of {found}")]
    Dimensions {
        /// Dimensions of the index; 0 for one without dense vectors.
        expected: usize,
        /// Dimensions of the vector; 0 for a missing one.
        found: usize,
    },
    /// A file of the model or of ONNX Runtime is missing.
    #[error("{what} is missing: {}", path.display())]
    ModelMissing {
        /// The kind of file.
        what: &'static str,
        /// The expected path.
        path: PathBuf,
    },
    /// The model cannot be loaded.
    #[error("the embedding model {model} cannot be loaded")]
    ModelBroken {
        /// The model's name.
        model: String,
        /// The cause.
        #[source]
        source: BoxError,
    },
    /// An inference failed.
    #[error("the embedding model {model} failed")]
    EmbeddingFailed {
        /// The model's name.
        model: String,
        /// The cause.
        #[source]
        source: BoxError,
    },
    /// The queue of the embedding model is full.
    #[error("too many queries wait for the embedding model")]
    EmbedderBusy,
    /// A query was not embedded in time.
    #[error("the query was not embedded within {}", format_duration(*after))]
    EmbedderTimeout {
        /// The time limit.
        after: Duration,
    },
    /// The embedding model's threads have ended, or it was never loaded.
    #[error("the embedder has stopped")]
    EmbedderStopped,
    /// A configuration value is missing or invalid.
    #[error("{key}: {problem}")]
    Config {
        /// The key, such as `index.url`.
        key: &'static str,
        /// The problem with its value.
        problem: String,
    },
}

impl RecallError {
    /// Whether the same call may succeed later.
    pub fn retryable(&self) -> bool {
        match self {
            Self::Store(error) => error.retryable(),
            Self::IndexUnavailable { .. }
            | Self::IndexTimeout { .. }
            | Self::IndexLost { .. }
            | Self::StillChanging
            | Self::EmbedderBusy
            | Self::EmbedderTimeout { .. }
            | Self::EmbedderStopped => true,
            Self::IndexRefused { .. }
            | Self::IndexDirectory { .. }
            | Self::Dimensions { .. }
            | Self::ModelMissing { .. }
            | Self::ModelBroken { .. }
            | Self::EmbeddingFailed { .. }
            | Self::Config { .. } => false,
        }
    }
}
