//! Which engine is in use, and how a copy takes its place.
//!
//! An index has a directory of its own. Each engine in it has a directory too, and a file names the one
//! in use:
//!
//! | name | what it is |
//! |---|---|
//! | `engine-3` | the files of an engine: the one in use, a copy that is being made, or one that was replaced |
//! | `current` | the name of the engine in use |
//! | `recollect-state` | whether the index is filled |
//!
//! A copy takes the place of the engine once all that it has is on the disk: the file is replaced in
//! one step, so it names an engine with every acknowledged change whenever the process or the machine
//! stops. Engines that it does not name are removed at the next start. The copy is open before, so
//! searches go on without a pause: those that have begun end in the former engine.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use qdrant_edge::EdgeShard;

use super::copy::replay;
use super::engine::{flush, not_prepared, release};
use super::log::Log;
use super::writer::{STATE_FILE, Writer};
use crate::error::RecallError;
use crate::index::Prepared;

/// Engines that this process has begun to make.
static ENGINES: AtomicU64 = AtomicU64::new(0);
/// What the name of an engine's directory begins with.
const ENGINE: &str = "engine-";
/// The file with the name of the engine in use.
const CURRENT: &str = "current";
/// A search takes milliseconds; one that takes longer than all checks ends in files that are removed.
const SEARCH_CHECKS: usize = 500;
const SEARCH_PAUSE: Duration = Duration::from_millis(2);

impl Writer {
    /// A new, empty directory for an engine.
    pub(super) fn new_engine(&self) -> Result<PathBuf, RecallError> {
        // No name is used twice in a process: a copy that was abandoned may still be written to.
        let engine = loop {
            let number = ENGINES.fetch_add(1, Ordering::Relaxed);
            let engine = self.directory.join(format!("{ENGINE}{number}"));
            if !engine.exists() {
                break engine;
            }
        };
        fs::create_dir_all(&engine).map_err(|source| self.broken(source))?;
        Ok(engine)
    }

    /// Returns the directory of the engine in use, or `None` before the first engine is made. Fails if
    /// the file with its name cannot be read or names no engine.
    pub(super) fn current(&self) -> io::Result<Option<PathBuf>> {
        match fs::read_to_string(self.directory.join(CURRENT)) {
            Ok(name) if is_engine(name.trim()) => Ok(Some(self.directory.join(name.trim()))),
            Ok(_) => Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("the file `{CURRENT}` names no engine"),
            )),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Makes an engine, all of which is on the disk, the one in use.
    pub(super) fn set_current(&self, engine: &Path) -> Result<(), RecallError> {
        let name = engine.file_name().unwrap_or_default();
        let file = self.directory.join(CURRENT);
        sync_parent(engine)
            .and_then(|()| write_durably(&file, name.as_encoded_bytes()))
            .map_err(|source| self.broken(source))
    }

    /// Puts a copy in the place of the engine; `publish` makes searches use it. After an error the
    /// engine is as it was, or closed: [`Writer::reopen`] opens it again.
    pub(super) fn replace(
        &mut self,
        copy: Arc<EdgeShard>,
        log: &Log,
        publish: impl Fn(Option<Arc<EdgeShard>>),
    ) -> Result<(), RecallError> {
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
        // Closing an engine takes its files out of the cache, also those that the two share.
        self.read_ahead(&copy);
        release(copy);
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

    /// Prepares the directory for a start.
    pub(super) fn settle(&self) -> Result<(), RecallError> {
        if !self.directory.exists() {
            return Ok(());
        }
        // An interrupted replacement may have left a name that is not on the disk yet.
        sync_parent(&self.directory.join(CURRENT)).map_err(|source| self.broken(source))?;
        if let Err(error) = self.remove_others_than_current() {
            tracing::warn!(%error, "removing unused copies of the index failed");
        }
        Ok(())
    }

    /// Removes the engines of this index that are not in use: they may have what was erased, and
    /// they take the room that the engine needs.
    pub(super) fn remove_others_than_current(&self) -> io::Result<()> {
        if self.copying.is_some() {
            return Ok(());
        }
        let current = self.current()?;
        for entry in fs::read_dir(&self.directory)? {
            let entry = entry?;
            let is_engine = entry.file_name().to_str().is_some_and(is_engine);
            if is_engine && current.as_ref() != Some(&entry.path()) {
                remove(&entry.path())?;
            }
        }
        Ok(())
    }
}

/// Whether a path is the directory of an index, or what is left of one.
pub(super) fn is_index(path: &Path) -> io::Result<bool> {
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => return Ok(false),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let name = entry?.file_name();
        let name = name.to_str().unwrap_or_default();
        if name == STATE_FILE || is_engine(name) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Removes an index. An interruption leaves one that is not filled.
pub(super) fn remove_index(directory: &Path) -> io::Result<()> {
    unless_missing(fs::remove_file(directory.join(STATE_FILE)))?;
    remove(directory)
}

fn is_engine(name: &str) -> bool {
    name.strip_prefix(ENGINE)
        .is_some_and(|number| number.parse::<u64>().is_ok())
}

/// Replaces a file in one step. It is on the disk then.
pub(super) fn write_durably(path: &Path, content: &[u8]) -> io::Result<()> {
    let draft = path.with_extension("draft");
    let mut file = File::create(&draft)?;
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(&draft, path)?;
    sync_parent(path)
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

pub(super) fn remove(directory: &Path) -> io::Result<()> {
    unless_missing(fs::remove_dir_all(directory))
}

fn unless_missing(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
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

#[cfg(test)]
mod tests;
