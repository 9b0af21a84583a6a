//! Errors of the crate. No message contains message text or a query.

use memory_embed::EmbedError;
use memory_index::IndexError;
use memory_store::StoreError;

/// An error of recall.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecallError {
    /// The store failed or refused.
    #[error("the store failed")]
    Store(#[from] StoreError),
    /// The embedding model failed.
    #[error(transparent)]
    Embed(#[from] EmbedError),
    /// The index failed or refused.
    #[error(transparent)]
    Index(#[from] IndexError),
}

impl RecallError {
    /// Whether the same call may succeed later.
    pub fn retryable(&self) -> bool {
        match self {
            Self::Store(error) => error.retryable(),
            Self::Embed(error) => error.retryable(),
            Self::Index(error) => error.retryable(),
        }
    }
}
