//! Puts a copy in the place of the writer's engine, by two renames. Whenever the process or the
//! machine stops, the directory then has an engine with every acknowledged change:
//!
//! | the directory has | so |
//! |---|---|
//! | the engine | no rename was made, and drafts are removed |
//! | a former engine alone | one rename was made, and is undone: nothing was written since |
//! | the engine and a former one | both were made, and the former one is removed |
//!
//! What the copy has is on the disk before the first rename: its thread syncs all files, and a
//! flush of the engine covers what the writer changes afterwards. Both renames are on the disk
//! before the former engine is removed or a change is acknowledged.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use qdrant_edge::EdgeShard;

use super::copy::replay;
use super::engine::{guarded, not_prepared, release};
use super::log::Log;
use super::writer::{STATE_FILE, Writer};
use crate::error::RecallError;
use crate::index::{Backend, Prepared};

/// Copies that this process has begun.
static DRAFTS: AtomicU64 = AtomicU64::new(0);
/// Suffixes of the directories that a copy is made in, with a number, and that the former
/// engine is moved to.
const DRAFT: &str = "draft";
const FORMER: &str = "former";
/// A search takes milliseconds; one that takes longer than all checks fails.
const SEARCH_CHECKS: usize = 500;
const SEARCH_PAUSE: Duration = Duration::from_millis(2);

impl Writer {
    /// An empty directory for a copy.
    pub(super) fn new_draft(&self) -> Result<PathBuf, RecallError> {
        // One that was abandoned may still be written to.
        let number = DRAFTS.fetch_add(1, Ordering::Relaxed);
        let draft = beside(&self.directory, &format!("{DRAFT}-{number}"));
        let broken = |source| self.broken(source);
        remove(&draft).map_err(broken)?;
        fs::create_dir_all(&draft).map_err(broken)?;
        Ok(draft)
    }

    /// Puts a copy, which is in `draft`, in the place of the engine. `withdraw` ends new searches
    /// in the engine: they find none until the copy has taken its place. After an error the engine
    /// is either open or closed as it was; [`Writer::reopen`] opens it again.
    pub(super) fn replace(
        &mut self,
        copy: Arc<EdgeShard>,
        log: &Log,
        draft: &Path,
        withdraw: impl FnOnce(),
    ) -> Result<(), RecallError> {
        let engine = self.shard().ok_or_else(not_prepared)?;
        let replayed = replay(log, &engine, &copy).and_then(|()| {
            guarded("flush", || {
                copy.flush();
                Ok(())
            })
        });
        release(copy);
        replayed?;
        let former = beside(&self.directory, FORMER);
        let broken = |source| self.broken(source);
        remove(&former).map_err(broken)?;
        let mark = draft.join(STATE_FILE);
        match fs::copy(self.directory.join(STATE_FILE), &mark) {
            Ok(_) => File::open(&mark)
                .and_then(|mark| mark.sync_all())
                .and_then(|()| sync_parent(&mark))
                .map_err(broken)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(broken(error)),
        }
        // The engine flushes when it is closed, so it is closed before its files move.
        withdraw();
        if let Some(shard) = self.shard.take() {
            release(shard);
        }
        wait_for_others(&engine);
        release(engine);
        let broken = |source| self.broken(source);
        rename(&self.directory, &former).map_err(broken)?;
        rename(draft, &self.directory).map_err(broken)?;
        match self.load() {
            Ok(Some(shard)) => release(self.opened(shard)),
            failed => {
                rename(&self.directory, draft).map_err(broken)?;
                let error = failed.err().unwrap_or_else(|| "it is empty".to_owned());
                return Err(RecallError::IndexUnavailable {
                    backend: Backend::Edge,
                    source: format!("the copy cannot be loaded: {error}").into(),
                });
            }
        }
        if let Err(error) = remove(&former) {
            tracing::warn!(%error, directory = %former.display(), "removing a replaced index failed");
        }
        Ok(())
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

    /// Undoes the first rename of a swap that was interrupted, and removes what copies left.
    pub(super) fn settle(&self) -> Result<(), RecallError> {
        let former = beside(&self.directory, FORMER);
        if !self.directory.exists() && former.join("segments").is_dir() {
            tracing::warn!(
                directory = %self.directory.display(),
                "an interrupted replacement of the index is undone"
            );
            rename(&former, &self.directory).map_err(|source| self.broken(source))?;
        }
        if let Err(error) = self.remove_copies(&self.directory) {
            tracing::warn!(%error, "removing copies of the index failed");
        }
        Ok(())
    }

    /// Removes what copies of the engine in `directory` left, and the engine that a copy has
    /// replaced: they may have what was erased, they take the room that the engine needs, and a
    /// former engine would return in the place of one that is removed.
    pub(super) fn remove_copies(&self, directory: &Path) -> Result<(), RecallError> {
        if self.copying.is_some() && directory == self.directory {
            return Ok(());
        }
        let entries = fs::read_dir(&self.parent.path).into_iter().flatten();
        for path in entries.flatten().map(|entry| entry.path()) {
            if is_copy(&path, directory) {
                remove(&path).map_err(|source| self.broken(source))?;
            }
        }
        Ok(())
    }
}

/// The path of `directory` with a suffix.
pub(super) fn beside(directory: &Path, suffix: &str) -> PathBuf {
    let mut name = directory.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(suffix);
    directory.with_file_name(name)
}

/// Whether `path` has a copy of the engine in `directory`, or the engine that it replaces.
pub(super) fn is_copy(path: &Path, directory: &Path) -> bool {
    let name = |path: &Path| {
        path.file_name()
            .and_then(|name| name.to_str().map(str::to_owned))
    };
    let (Some(path), Some(engine)) = (name(path), name(directory)) else {
        return false;
    };
    let suffix = path
        .strip_prefix(&engine)
        .and_then(|rest| rest.strip_prefix('.'));
    suffix.is_some_and(|suffix| suffix == FORMER || suffix.starts_with(DRAFT))
}

/// Makes a directory with all that it contains durable.
pub(super) fn sync_all(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync_all(&entry.path())?;
        } else {
            File::open(entry.path())?.sync_all()?;
        }
    }
    File::open(directory)?.sync_all()
}

/// Makes durable which files and directories are beside `path`.
pub(super) fn sync_parent(path: &Path) -> io::Result<()> {
    File::open(path.parent().unwrap_or(path))?.sync_all()
}

/// Renames a directory durably.
fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)?;
    sync_parent(to)
}

pub(super) fn remove(directory: &Path) -> io::Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Waits for a while until no search and no copying thread holds the engine.
#[expect(
    clippy::disallowed_methods,
    reason = "this thread belongs to no runtime"
)]
pub(super) fn wait_for_others(engine: &Arc<EdgeShard>) {
    for _ in 0..SEARCH_CHECKS {
        if Arc::strong_count(engine) == 1 {
            return;
        }
        thread::sleep(SEARCH_PAUSE);
    }
}
