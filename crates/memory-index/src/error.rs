//! Errors of the index. No message contains message text or a query.

use std::path::PathBuf;
use std::time::Duration;

use memory_contract::duration_text::format_duration;

use crate::backend::Backend;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// An error of an index.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// The index does not answer.
    #[error("the index ({backend}) does not answer")]
    Unavailable {
        /// The index.
        backend: Backend,
        /// The cause.
        #[source]
        source: BoxError,
    },
    /// The index did not answer in time.
    #[error("the index ({backend}) did not answer within {}", format_duration(*after))]
    Timeout {
        /// The index.
        backend: Backend,
        /// The time limit.
        after: Duration,
    },
    /// The index has lost its collection and has to be prepared again.
    #[error("the index ({backend}) has lost the collection {collection}")]
    Lost {
        /// The index.
        backend: Backend,
        /// The name of the missing collection.
        collection: String,
    },
    /// The index refused an operation, because of a defect or an incompatible index.
    #[error("the index ({backend}) refused to {operation}")]
    Refused {
        /// The index.
        backend: Backend,
        /// The operation, as an infinitive.
        operation: &'static str,
        /// The cause.
        #[source]
        source: BoxError,
    },
    /// The index's directory cannot be used.
    #[error("the index directory {} cannot be used", path.display())]
    Directory {
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
    /// The embedding model of the index is missing.
    #[error("the index ({backend}) has no embedding model")]
    NoModel {
        /// The index.
        backend: Backend,
    },
    /// A configuration value is missing or invalid.
    #[error("{key}: {problem}")]
    Config {
        /// The key, such as `index.url`.
        key: &'static str,
        /// The problem with its value.
        problem: String,
    },
}

impl IndexError {
    /// Whether the same call may succeed later.
    pub fn retryable(&self) -> bool {
        match self {
            Self::Unavailable { .. }
            | Self::Timeout { .. }
            | Self::Lost { .. }
            | Self::NoModel { .. } => true,
            Self::Refused { .. }
            | Self::Directory { .. }
            | Self::Dimensions { .. }
            | Self::Config { .. } => false,
        }
    }
}
