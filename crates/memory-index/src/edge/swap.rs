//! Puts a copy in the place of the engine.

use std::path::PathBuf;
use std::sync::Arc;

use qdrant_edge::EdgeShard;

use super::copy::replay;
use super::engine::{flush, not_prepared, release, wait_for_others};
use super::files::remove;
use super::log::Log;
use super::writer::Writer;
use crate::error::IndexError;

impl Writer {
    /// Puts a copy in the place of the engine; `publish` makes searches use it. After an error the
    /// engine is as it was, or closed: [`Writer::reopen`] opens it again.
    pub(super) fn replace(
        &mut self,
        copy: Arc<EdgeShard>,
        log: &Log,
        publish: impl Fn(Option<Arc<EdgeShard>>),
    ) -> Result<(), IndexError> {
        let former = self.shard().ok_or_else(not_prepared)?;
        let replaced = replay(log, &former, &copy)
            .and_then(|()| flush(&copy))
            .and_then(|()| self.set_current(copy.path()));
        if let Err(error) = replaced {
            let is_kept = |current: Option<PathBuf>| current.as_deref() == Some(former.path());
            if !self.current().is_ok_and(is_kept) {
                // Which of the two the disk names is unknown, so neither is written to.
                self.shard = None;
                publish(None);
                wait_for_others(&former);
            }
            release(copy);
            release(former);
            return Err(error);
        }
        self.opened(Arc::clone(&copy));
        publish(Some(Arc::clone(&copy)));
        let directory = former.path().to_owned();
        // It flushes when it is closed, so its files are removed after that.
        wait_for_others(&former);
        release(former);
        if let Err(error) = remove(&directory) {
            tracing::warn!(%error, directory = %directory.display(), "removing a replaced index failed");
        }
        // Closing an engine takes its files out of the cache, also the files that the two share.
        self.read_ahead(&copy);
        release(copy);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
