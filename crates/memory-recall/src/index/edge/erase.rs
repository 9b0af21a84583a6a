//! Erases points for good. The engine only marks deleted points, and its log keeps them, so
//! what stays is copied into a new engine and the former directory is removed.

use std::fs::{self, File};
use std::io;
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use memory_store::error_chain;
use qdrant_edge::{EdgeShard, PointOperations, UpdateOperation};
use tokio::sync::mpsc::WeakSender;

use super::copy::{self, Copied};
use super::engine::{guarded, not_prepared, release};
use super::files::bytes_of;
use super::log::Log;
use super::reader::filter_of;
use super::setup;
use super::swap::{is_index, remove, remove_index, sync_parent, wait_for_others};
use super::writer::{RESERVED_BYTES, Writer};
use super::{Command, Reply};
use crate::error::RecallError;
use crate::index::{Backend, Selection};

/// A copy that is being made, and the erasures that wait for it; none if it merges segments.
pub(super) struct Copying {
    draft: PathBuf,
    log: Arc<Log>,
    replies: Vec<Reply>,
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

    /// Waits while the writer is too far ahead of the copy.
    pub(super) fn keep_pace(&self) {
        self.log.keep_pace();
    }

    /// Whether points of the engine may move to other segments. A merge has a copy of its files; an
    /// erasure reads its points page by page.
    pub(super) fn may_points_move(&self) -> bool {
        self.replies.is_empty()
    }
}

impl Writer {
    /// Erases points: those of all erasures that wait are deleted, and what stays is copied on
    /// another thread. `commands` returns the copy to this one. If the process ends in between,
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
    ) -> Result<(PathBuf, Arc<Log>), RecallError> {
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

    /// Puts a copy in the place of the engine, which `publish` tells those who search. Returns who
    /// waits for it.
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

    /// Removes a collection: this one, or one that no index of this process uses.
    pub(super) fn discard(&mut self, name: &str) -> Result<(), RecallError> {
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
    /// use: those of former models and those moved aside.
    pub(super) fn remove_others(&self) -> Result<(), RecallError> {
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

/// The end of erasures, and who waits for it.
pub(super) struct Erased {
    pub(super) result: Result<(), RecallError>,
    pub(super) replies: Vec<Reply>,
}

/// Answers all who wait for one result.
pub(super) fn answer(replies: Vec<Reply>, result: Result<(), RecallError>) {
    let failure = result.err().map(|error| error_chain(&error));
    for reply in replies {
        // The caller may wait no longer.
        let _ = reply.send(match &failure {
            None => Ok(()),
            Some(error) => Err(RecallError::IndexUnavailable {
                backend: Backend::Edge,
                source: error.as_str().into(),
            }),
        });
    }
}
