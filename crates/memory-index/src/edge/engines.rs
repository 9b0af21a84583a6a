//! The directories of engines, and which of them is in use.
//!
//! An index has a directory of its own. Each engine in it has a directory too, and a file names the one
//! in use:
//!
//! | name | content |
//! |---|---|
//! | `engine-3` | the files of an engine: the one in use, a copy that is being made, or one that was replaced |
//! | `current` | the name of the engine in use |
//! | `recollect-state` | whether the index is filled |
//!
//! A copy takes the place of the engine when its files are on the disk: the file is replaced in
//! one step, so it names an engine with every acknowledged change whenever the process or the machine
//! stops. Engines that it does not name are removed at the next start. The copy is open before, so
//! searches go on without a pause: searches that have begun end in the former engine.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::files::{remove, sync_parent, unless_missing, write_durably};
use super::writer::{STATE_FILE, Writer};
use crate::error::IndexError;

/// Engines that this process has begun to make.
static ENGINES: AtomicU64 = AtomicU64::new(0);
/// The first part of the name of an engine's directory.
const ENGINE: &str = "engine-";
/// The file with the name of the engine in use.
const CURRENT: &str = "current";
impl Writer {
    /// A new, empty directory for an engine.
    pub(super) fn new_engine(&self) -> Result<PathBuf, IndexError> {
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
    pub(super) fn set_current(&self, engine: &Path) -> Result<(), IndexError> {
        let name = engine.file_name().unwrap_or_default();
        let file = self.directory.join(CURRENT);
        sync_parent(engine)
            .and_then(|()| write_durably(&file, name.as_encoded_bytes()))
            .map_err(|source| self.broken(source))
    }

    /// Prepares the directory for a start.
    pub(super) fn settle(&self) -> Result<(), IndexError> {
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

    /// Removes the engines of this index that are not in use: they may contain erased points, and
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

/// Whether a path is the directory of an index, or of one that was removed in part.
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
