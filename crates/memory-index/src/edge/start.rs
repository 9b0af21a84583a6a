//! Opens, makes and closes the engine.

use std::fs;
use std::io;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use qdrant_edge::{EdgeShard, OperationError};

use super::command::Reply;
use super::copying::answer;
use super::engine::{flush, guarded, not_prepared, panic_message, release, wait_for_others};
use super::engines::remove_index;
use super::files::{sync_all, sync_parent};
use super::setup;
use super::writer::{RESERVED_BYTES, SEGMENTS, Writer};
use crate::error::IndexError;
use crate::index::Prepared;

impl Writer {
    /// Loads the engine, or creates it. A directory that cannot be loaded is renamed to
    /// `*.broken-SECONDS` and replaced by an empty one.
    pub(super) fn prepare(&mut self) -> Result<(Arc<EdgeShard>, Prepared), IndexError> {
        if let Some(shard) = &self.shard {
            return Ok((Arc::clone(shard), self.state()));
        }
        self.settle()?;
        // An engine that cannot be loaded for want of room is not broken.
        self.require_room(RESERVED_BYTES)?;
        let loaded = match self.current() {
            Ok(engine) => self.load(engine),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => Err(error.to_string()),
            Err(error) => return Err(self.broken(error)),
        };
        let shard = match loaded {
            Ok(Some(shard)) => shard,
            Ok(None) => self.create()?,
            Err(error) => {
                let aside = self.quarantine()?;
                tracing::error!(
                    directory = %self.directory.display(),
                    aside = %aside.display(),
                    error,
                    "the index directory cannot be loaded; it was moved aside, and the index is rebuilt"
                );
                self.create()?
            }
        };
        let shard = Arc::new(shard);
        self.opened(Arc::clone(&shard));
        self.read_ahead(&shard);
        Ok((shard, self.state()))
    }

    /// Opens the engine again after a failed [`Writer::replace`]. If it cannot be opened, or has
    /// to be filled, the index stays unavailable until it is prepared.
    pub(super) fn reopen(&mut self) {
        match self.prepare() {
            Ok((shard, prepared)) => {
                release(shard);
                if prepared == Prepared::New {
                    self.close();
                }
            }
            Err(error) => tracing::warn!(%error, "the index could not be opened again"),
        }
    }

    /// Closes the engine, and gives up erasures under way.
    pub(super) fn close(&mut self) {
        let mut waiting: Vec<Reply> = mem::take(&mut self.erasures)
            .into_iter()
            .map(|(_, reply)| reply)
            .collect();
        let copying = self.copying.take();
        if let Some(shard) = self.shard.take() {
            if let Some(copying) = &copying {
                copying.log.abandon();
                wait_for_others(&shard);
            }
            release(shard);
        }
        waiting.extend(copying.into_iter().flat_map(|copying| copying.replies));
        answer(waiting, Err(not_prepared()));
    }

    /// Loads an engine, or returns `None` if its directory has no segments.
    fn load(&self, engine: Option<PathBuf>) -> Result<Option<EdgeShard>, String> {
        let Some(engine) = engine.filter(|engine| engine.join(SEGMENTS).is_dir()) else {
            return Ok(None);
        };
        setup::prune_log(&engine);
        let loaded = catch_unwind(AssertUnwindSafe(|| {
            setup::load(&engine, &self.schema, self.vectors)
        }));
        match loaded {
            Ok(Ok(shard)) => Ok(Some(shard)),
            Ok(Err(error)) => Err(OperationError::to_string(&error)),
            Err(panic) => Err(panic_message(&*panic)),
        }
    }

    fn create(&self) -> Result<EdgeShard, IndexError> {
        if self.state() != Prepared::New {
            tracing::error!(
                directory = %self.directory.display(),
                "the engine of the index is missing; the index is rebuilt"
            );
        }
        // A process may have ended before it created the engine.
        remove_index(&self.directory).map_err(|source| self.broken(source))?;
        let engine = self.new_engine()?;
        let shard = guarded("create", || {
            setup::create(&engine, &self.schema, self.vectors)
        })?;
        let sync = || sync_all(&engine).and_then(|()| sync_parent(&self.directory));
        let named = flush(&shard)
            .and_then(|()| sync().map_err(|source| self.broken(source)))
            .and_then(|()| self.set_current(&engine));
        match named {
            Ok(()) => Ok(shard),
            Err(error) => {
                release(Arc::new(shard));
                Err(error)
            }
        }
    }

    fn quarantine(&self) -> Result<PathBuf, IndexError> {
        let mut seconds = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default()
            .as_secs();
        loop {
            let name = format!("{}.broken-{seconds}", self.schema.collection());
            let aside = self.directory.with_file_name(name);
            if !aside.exists() {
                fs::rename(&self.directory, &aside).map_err(|source| self.broken(source))?;
                return Ok(aside);
            }
            seconds += 1;
        }
    }
}
