//! Errors of embedding. No message contains a text or a query.

use std::path::PathBuf;
use std::time::Duration;

use memory_contract::duration_text::format_duration;

use crate::endpoint::error::EndpointError;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// An error of the embedding model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EmbedError {
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
    InferenceFailed {
        /// The model's name.
        model: String,
        /// The cause.
        #[source]
        source: BoxError,
    },
    /// The endpoint of the model failed or refused.
    #[error("the embedding model {model} cannot be used")]
    Endpoint {
        /// The model's name.
        model: String,
        /// The cause.
        #[source]
        source: EndpointError,
    },
    /// The queue of the embedding model is full.
    #[error("too many queries wait for the embedding model")]
    Busy,
    /// A query was not embedded in time.
    #[error("the query was not embedded within {}", format_duration(*after))]
    Timeout {
        /// The time limit.
        after: Duration,
    },
    /// The threads of the embedding model have ended.
    #[error("the embedder has stopped")]
    Stopped,
    /// A configuration value is missing or invalid.
    #[error("{key}: {problem}")]
    Config {
        /// The key, such as `embedding.model`.
        key: &'static str,
        /// The problem with its value.
        problem: String,
    },
}

impl EmbedError {
    /// Whether the same call may succeed later.
    pub fn retryable(&self) -> bool {
        match self {
            Self::Endpoint { source, .. } => !matches!(source, EndpointError::OneText { .. }),
            Self::Busy | Self::Timeout { .. } | Self::Stopped => true,
            Self::ModelMissing { .. }
            | Self::ModelBroken { .. }
            | Self::InferenceFailed { .. }
            | Self::Config { .. } => false,
        }
    }
}
