//! The commands to the writer's thread.

use std::path::PathBuf;
use std::sync::Arc;

use qdrant_edge::EdgeShard;
use tokio::sync::oneshot;

use crate::error::IndexError;
use crate::filter::Selection;
use crate::index::Prepared;
use crate::point::Change;

/// Receives the result of a command.
pub(super) type Reply = oneshot::Sender<Result<(), IndexError>>;

/// A command to the writer's thread.
pub(super) enum Command {
    Prepare(oneshot::Sender<Result<Prepared, IndexError>>),
    Apply(Vec<Change>, Reply),
    Mark(bool, Reply),
    Erase(Selection, Reply),
    /// From the thread that makes a copy.
    Copied(Copied),
    Discard(String, Reply),
    Stop(oneshot::Sender<()>),
    /// No other command came for [`REST`](super::writer::REST).
    Rest,
}

/// A copy that was made, or why it was not.
pub(super) struct Copied {
    pub(super) draft: PathBuf,
    pub(super) engine: Result<Arc<EdgeShard>, IndexError>,
}
