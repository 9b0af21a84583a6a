//! Erases points for good. The engine only marks deleted points, and its log keeps them, so the
//! remaining points are copied into a new engine and the former directory is removed.

use std::fs::{self, File};
use std::io;
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use qdrant_edge::{EdgeShard, PointOperations, UpdateOperation};
use tokio::sync::mpsc::WeakSender;

use super::command::{Command, Copied};
use super::copy;
use super::copying::{Copying, answer};
use super::engine::{guarded, not_prepared, release};
use super::engines::{is_index, remove_index};
use super::files::{bytes_of, remove, sync_parent};
use super::log::Log;
use super::reader::filter_of;
use super::setup;
use super::writer::{RESERVED_BYTES, Writer};
use crate::error::IndexError;
use crate::filter::Selection;

impl Writer {
    /// Deletes the points of all waiting erasures, and begins to copy the remaining points on another
    /// thread. `commands` returns the copy to this thread. If the process ends in between,
    /// the index is as before, or is rebuilt from the database.
    pub(super) fn erase(&mut self, commands: &WeakSender<Command>) {
        if self.copying.is_some() || self.erasures.is_empty() {
            return;
        }
        let (selections, replies): (Vec<_>, Vec<_>) =
            mem::take(&mut self.erasures).into_iter().unzip();
        match self.begin_copy(&selections, commands) {
            Ok((draft, log)) => self.copying = Some(Copying::new(draft, log, replies)),
            Err(error) => answer(replies, Err(error)),
        }
    }

    fn begin_copy(
        &mut self,
        selections: &[Selection],
        commands: &WeakSender<Command>,
    ) -> Result<(PathBuf, Arc<Log>), IndexError> {
        let former = self.shard.clone().ok_or_else(not_prepared)?;
        self.require_room(RESERVED_BYTES.saturating_add(bytes_of(former.path())))?;
        for selection in selections {
            let delete = PointOperations::DeletePointsByFilter(filter_of(selection));
            guarded("erase points", || {
                former.update(UpdateOperation::PointOperation(delete))
            })?;
        }
        self.flush()?;
        let draft = self.new_engine()?;
        let created = guarded("create", || {
            setup::create(&draft, &self.schema, self.vectors)
        });
        let copy = created.inspect_err(|_| {
            let _ = remove(&draft);
        })?;
        let make = move |log: &Log| copy::copy_and_optimize(former, copy, log);
        let log = self.begin_making(&draft, commands, make)?;
        Ok((draft, log))
    }

    /// Puts a copy in the place of the engine; `publish` swaps the readers' engine. Returns the
    /// erasures that wait for it.
    pub(super) fn take_copy(
        &mut self,
        copied: Copied,
        publish: impl Fn(Option<Arc<EdgeShard>>),
    ) -> Option<Erased> {
        let is_wanted = |copying: &mut Copying| copying.draft == copied.draft;
        let Some(Copying { log, replies, .. }) = self.copying.take_if(is_wanted) else {
            // It was abandoned.
            if let Ok(engine) = copied.engine {
                release(engine);
            }
            let _ = remove(&copied.draft);
            return None;
        };
        let result = copied
            .engine
            .and_then(|engine| self.replace(engine, &log, &publish));
        if self.shard.is_none() {
            self.reopen();
            publish(self.shard());
        }
        // If no engine is open, it may be the one in use.
        let is_unused = |engine: &Arc<EdgeShard>| engine.path() != copied.draft;
        if result.is_err() && self.shard.as_ref().is_some_and(is_unused) {
            let _ = remove(&copied.draft);
        }
        Some(Erased { result, replies })
    }

    /// Removes a collection: this one, or one that no index of this process uses.
    pub(super) fn discard(&mut self, name: &str) -> Result<(), IndexError> {
        let directory = self.parent.path.join(name);
        if directory == self.directory {
            self.close();
            self.changes = 0;
        } else if self.parent.indexes().contains(&directory) {
            return Ok(());
        }
        remove_index(&directory)
            .and_then(|()| sync_parent(&directory))
            .map_err(|source| self.broken(source))
    }

    /// Removes the engines of this index that are not in use, and the indexes that this process does not
    /// use: indexes of former models, and directories moved aside.
    pub(super) fn remove_others(&self) -> Result<(), IndexError> {
        let used = self.parent.indexes();
        let remove_all = |parent: &Path| -> io::Result<()> {
            self.remove_others_than_current()?;
            File::open(&self.directory)?.sync_all()?;
            for entry in fs::read_dir(parent)? {
                let path = entry?.path();
                if !used.contains(&path) && is_index(&path)? {
                    remove_index(&path)?;
                    tracing::info!(directory = %path.display(), "an unused index was removed");
                }
            }
            File::open(parent)?.sync_all()
        };
        remove_all(&self.parent.path).map_err(|source| self.broken(source))
    }
}

/// The result of erasures, and the callers that wait for it.
pub(super) struct Erased {
    pub(super) result: Result<(), IndexError>,
    pub(super) replies: Vec<super::command::Reply>,
}
