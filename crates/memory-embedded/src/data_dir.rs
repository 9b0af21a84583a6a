//! The data directory and its lock.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use secrecy::{ExposeSecret as _, SecretString};

use super::EmbeddedError;

/// A directory that this process has to itself, until it is dropped.
///
/// The lock is the kernel's, on the file `lock`: it goes with the process,
/// however that ends, so a lock file left behind never keeps anybody out.
#[derive(Debug)]
pub struct DataDir {
    path: PathBuf,
    _lock: File,
}

impl DataDir {
    /// Creates the directory if it does not exist (mode 0700), and locks it.
    ///
    /// # Errors
    /// [`EmbeddedError::InUse`] when another process has it.
    pub fn lock(path: &Path) -> Result<Self, EmbeddedError> {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(path)
            .map_err(EmbeddedError::path("create", path))?;
        let path = path
            .canonicalize()
            .map_err(EmbeddedError::path("find", path))?;

        let lock_path = path.join("lock");
        let mut lock = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&lock_path)
            .map_err(EmbeddedError::path("open", &lock_path))?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => {
                let mut holder = String::new();
                let pid = lock
                    .read_to_string(&mut holder)
                    .ok()
                    .and(holder.trim().parse().ok());
                return Err(EmbeddedError::InUse { path, pid });
            }
            Err(errno) => return Err(EmbeddedError::path("lock", lock_path)(errno.into())),
        }
        // For the error message of a second process only.
        lock.set_len(0)
            .and_then(|()| lock.seek(SeekFrom::Start(0)))
            .and_then(|_| writeln!(lock, "{}", std::process::id()))
            .map_err(EmbeddedError::path("write", lock_path))?;
        Ok(Self { path, _lock: lock })
    }

    /// Where it is, as an absolute path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Postgres's own directory.
    pub fn postgres(&self) -> PathBuf {
        self.path.join("postgres")
    }

    /// Exists until a new cluster is safely on the disk: while this file exists, the
    /// cluster was never used and may be recreated.
    pub fn initializing(&self) -> PathBuf {
        self.path.join("postgres.initializing")
    }

    /// The path of the log that Postgres writes.
    pub fn postgres_log(&self) -> PathBuf {
        self.path.join("postgres.log")
    }

    /// The vector index.
    pub fn index(&self) -> PathBuf {
        self.path.join("index")
    }

    /// The key that secrets are encrypted with; it is created if it does not exist.
    ///
    /// # Errors
    /// When the file cannot be read or made.
    pub fn secrets_key(&self) -> Result<SecretString, EmbeddedError> {
        let path = self.path.join("secrets.key");
        match fs::read_to_string(&path) {
            Ok(text) => return Ok(SecretString::from(text.trim())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(EmbeddedError::path("read", path)(error)),
        }
        let make = || -> io::Result<SecretString> {
            let key = memory_store::new_key().map_err(io::Error::other)?;
            // It appears all at once, readable by its owner alone, and is on the
            // disk before anything is encrypted with it.
            let mut file = tempfile::NamedTempFile::new_in(&self.path)?;
            writeln!(file, "{}", key.expose_secret())?;
            file.as_file().sync_all()?;
            file.persist(&path)?;
            File::open(&self.path)?.sync_all()?;
            Ok(key)
        };
        make().map_err(EmbeddedError::path("make", &path))
    }

    /// The memories of nodes.
    pub fn objects(&self) -> PathBuf {
        self.path.join("objects")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_of_secrets_is_made_once_and_is_private() {
        use std::os::unix::fs::PermissionsExt as _;

        let dir = tempfile::tempdir().unwrap();
        let data = DataDir::lock(&dir.path().join("data")).unwrap();
        let key = data.secrets_key().unwrap();
        let again = data.secrets_key().unwrap();
        assert_eq!(key.expose_secret(), again.expose_secret());
        let file = fs::metadata(data.path().join("secrets.key")).unwrap();
        assert_eq!(file.permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_second_holder_is_refused_with_the_first_ones_process_id() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("deep/data");
        let first = DataDir::lock(&path).unwrap();
        match DataDir::lock(&path) {
            Err(EmbeddedError::InUse { pid, .. }) => {
                assert_eq!(pid, Some(std::process::id().cast_signed()));
            }
            other => panic!("{other:?}"),
        }
        drop(first);
        DataDir::lock(&path).unwrap();
    }
}
