//! The worker that applies the changes in the outbox to the index.

mod apply;
mod batch;
mod batch_size;
mod error;
mod handle;
mod lease;
mod prepare;
mod run;
mod state;
mod status;

pub(crate) use batch::describe_metrics;
pub use handle::IndexerHandle;
pub use state::Indexer;
pub use status::{IndexerStatus, LastError};
