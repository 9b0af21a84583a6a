//! The directory of this process's indexes.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::IndexError;

/// Permissions of the index directory.
const PRIVATE: u32 = 0o700;

pub(super) struct Directory {
    pub(super) path: PathBuf,
    /// The directories of the open indexes, loaded or not.
    indexes: Mutex<Vec<PathBuf>>,
}

impl Directory {
    /// The directory at `path`, without indexes.
    pub(super) fn new(path: PathBuf) -> Self {
        Self {
            path,
            indexes: Mutex::default(),
        }
    }

    pub(super) fn indexes(&self) -> MutexGuard<'_, Vec<PathBuf>> {
        self.indexes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Creates a directory that only its owner can access, or restricts an existing one:
/// the points contain hashed words and metadata of messages.
fn private(directory: &Path) -> std::io::Result<()> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(PRIVATE)
        .create(directory)?;
    if fs::metadata(directory)?.permissions().mode() & 0o077 == 0 {
        return Ok(());
    }
    match fs::set_permissions(directory, Permissions::from_mode(PRIVATE)) {
        // A mounted volume of another owner, who has to restrict it.
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            tracing::warn!(directory = %directory.display(), "other users can access the index directory");
            Ok(())
        }
        done => done,
    }
}

pub(super) fn lock(directory: &Path) -> Result<File, IndexError> {
    let broken = |source: std::io::Error| IndexError::Directory {
        path: directory.to_owned(),
        source: source.into(),
    };
    private(directory).map_err(broken)?;
    let file = File::create(directory.join("lock")).map_err(broken)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(fs::TryLockError::WouldBlock) => Err(IndexError::Directory {
            path: directory.to_owned(),
            source: "another process uses it".into(),
        }),
        Err(fs::TryLockError::Error(source)) => Err(broken(source)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_directory_is_private_and_the_one_above_stays_as_it_was() {
        let above = tempfile::tempdir().unwrap();
        fs::set_permissions(above.path(), Permissions::from_mode(0o755)).unwrap();
        let index = above.path().join("index");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        drop(lock(&index).unwrap());
        assert_eq!(mode(&index), 0o700);
        fs::set_permissions(&index, Permissions::from_mode(0o755)).unwrap();
        drop(lock(&index).unwrap());
        assert_eq!(mode(&index), 0o700);
        assert_eq!(mode(above.path()), 0o755);
    }
}
