//! The progress of an indexer.

use time::OffsetDateTime;

/// Progress of an [`Indexer`](crate::Indexer) since its start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexerStatus {
    /// Changes indexed and acknowledged.
    pub acknowledged: u64,
    /// The most recent error of the indexer as a whole; it stays after a recovery. Errors of
    /// single changes are kept with these, for their tenants.
    pub last_error: Option<LastError>,
}

/// An error of an [`Indexer`](crate::Indexer).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastError {
    /// The error's text with its causes. No message content.
    pub message: String,
    /// When it occurred.
    pub time: OffsetDateTime,
}
