//! What can go wrong. A message never holds what a person said.

use std::path::PathBuf;
use std::time::Duration;

use memory_store::StoreError;

use crate::index::Backend;

type Source = Box<dyn std::error::Error + Send + Sync>;

/// An error of recall or of indexing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecallError {
    /// The store failed, or refused.
    #[error("the store failed")]
    Store(#[from] StoreError),
    /// The index does not answer.
    #[error("the index ({backend}) does not answer")]
    IndexUnavailable {
        /// Which index.
        backend: Backend,
        /// What it met.
        #[source]
        source: Source,
    },
    /// The index took too long.
    #[error("the index ({backend}) did not answer within {} ms", after.as_millis())]
    IndexTimeout {
        /// Which index.
        backend: Backend,
        /// The limit.
        after: Duration,
    },
    /// The index has lost its collection: it has to be prepared anew.
    #[error("the index ({backend}) has lost the collection {collection}")]
    IndexLost {
        /// Which index.
        backend: Backend,
        /// The collection.
        collection: String,
    },
    /// The index refused an operation: a defect, or an index of another make.
    #[error("the index ({backend}) refused to {operation}")]
    IndexRefused {
        /// Which index.
        backend: Backend,
        /// What it was asked to do.
        operation: &'static str,
        /// Why.
        #[source]
        source: Source,
    },
    /// The index's directory cannot be used.
    #[error("the index directory {} cannot be used", path.display())]
    IndexDirectory {
        /// The directory.
        path: PathBuf,
        /// Why.
        #[source]
        source: Source,
    },
    /// A vector does not have the size that the index was made for.
    #[error("the index holds vectors of {expected} numbers, not of {found}")]
    Dimensions {
        /// The index's size.
        expected: usize,
        /// The vector's size.
        found: usize,
    },
    /// A file of the model, or ONNX Runtime, is not there.
    #[error("{what} is missing: {}", path.display())]
    ModelMissing {
        /// What is missing.
        what: &'static str,
        /// Where it was looked for.
        path: PathBuf,
    },
    /// The model cannot be loaded.
    #[error("the embedding model {model} cannot be loaded")]
    ModelBroken {
        /// The model.
        model: String,
        /// Why.
        #[source]
        source: Source,
    },
    /// A text could not be embedded.
    #[error("the embedding model {model} failed")]
    EmbeddingFailed {
        /// The model.
        model: String,
        /// Why.
        #[source]
        source: Source,
    },
    /// Too many queries wait for the model.
    #[error("too many queries wait for the embedding model")]
    EmbedderBusy,
    /// The model took too long.
    #[error("the query was not embedded within {} ms", after.as_millis())]
    EmbedderTimeout {
        /// The limit.
        after: Duration,
    },
    /// The model's threads have stopped.
    #[error("the embedder has stopped")]
    EmbedderStopped,
    /// A configuration value cannot be used.
    #[error("{key}: {problem}")]
    Config {
        /// The key, such as `index.url`.
        key: &'static str,
        /// What is wrong with its value.
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
