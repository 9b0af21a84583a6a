//! Why indexing fails. No message contains message text.

use memory_embed::EmbedError;
use memory_store::StoreError;

use crate::error::IndexError;

/// An error of the indexer, which it logs and keeps for its status.
#[derive(Debug, thiserror::Error)]
pub(super) enum IndexerError {
    /// The store failed or refused.
    #[error("the store failed")]
    Store(#[from] StoreError),
    /// The embedding model failed.
    #[error(transparent)]
    Embed(#[from] EmbedError),
    /// The index failed or refused.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// A message or memory changed again each time that it was indexed.
    #[error("a message or memory changes faster than it is indexed")]
    StillChanging,
}

impl IndexerError {
    /// Whether the error concerns the store, the index or the model as a whole rather than one
    /// change.
    pub(super) fn is_outage(&self) -> bool {
        match self {
            Self::Store(_) | Self::StillChanging => true,
            Self::Embed(error) => error.retryable(),
            Self::Index(error) => error.retryable(),
        }
    }
}
