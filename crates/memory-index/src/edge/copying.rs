//! A copy of the engine that is being made, and the erasures that wait for it.

use std::path::PathBuf;
use std::sync::Arc;

use memory_runtime::error_chain;
use qdrant_edge::UpdateOperation;

use super::command::Reply;
use super::log::Log;
use crate::backend::Backend;
use crate::error::IndexError;

/// A copy that is being made, and the erasures that wait for it; without erasures it merges segments.
pub(super) struct Copying {
    pub(super) draft: PathBuf,
    pub(super) log: Arc<Log>,
    pub(super) replies: Vec<Reply>,
}

impl Copying {
    pub(super) fn new(draft: PathBuf, log: Arc<Log>, replies: Vec<Reply>) -> Self {
        Self {
            draft,
            log,
            replies,
        }
    }

    /// Adds an operation of the writer.
    pub(super) fn log(&self, operation: &UpdateOperation) {
        self.log.add(operation);
    }

    /// Whether points of the engine may move to other segments. A merge has a copy of its files; an
    /// erasure reads its points page by page.
    pub(super) fn may_points_move(&self) -> bool {
        self.replies.is_empty()
    }
}

/// Sends one result to all callers that wait for it.
pub(super) fn answer(replies: Vec<Reply>, result: Result<(), IndexError>) {
    let failure = result.err().map(|error| error_chain(&error));
    for reply in replies {
        // The caller may wait no longer.
        let _ = reply.send(match &failure {
            None => Ok(()),
            Some(error) => Err(IndexError::Unavailable {
                backend: Backend::Edge,
                source: error.as_str().into(),
            }),
        });
    }
}
