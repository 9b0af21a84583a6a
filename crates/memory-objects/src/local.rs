//! Conditional writes to files. File systems have none, so the writers of one machine
//! lock one of a few files; the kernel frees the lock when its holder ends.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// The directory of the locks, in the root of all objects.
const DIRECTORY: &str = ".locks";
/// Few files, and yet two objects rarely share one.
const STRIPES: u64 = 64;
const PAUSE: Duration = Duration::from_millis(2);

/// The locks of one directory of objects.
#[derive(Clone, Debug)]
pub(super) struct Locks(PathBuf);

impl Locks {
    /// Makes the directory where it is missing; root alone can enter it.
    pub(super) fn new(root: &Path) -> io::Result<Self> {
        let locks = Self(root.join(DIRECTORY));
        locks.make()?;
        Ok(locks)
    }

    /// Waits for the lock of an object, at most for `limit`. Blocking.
    #[expect(clippy::disallowed_methods, reason = "on a blocking thread")]
    pub(super) fn lock(&self, key: &str, limit: Duration) -> io::Result<File> {
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        let path = self.0.join(format!("{:02x}", hasher.finish() % STRIPES));
        let open = || {
            OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o600)
                .open(&path)
        };
        let file = match open() {
            // The directory was emptied from outside.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.make()?;
                open()
            }
            other => other,
        }?;
        let start = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::Error(error)) => return Err(error),
                Err(TryLockError::WouldBlock) if start.elapsed() < limit => thread::sleep(PAUSE),
                Err(TryLockError::WouldBlock) => return Err(io::ErrorKind::TimedOut.into()),
            }
        }
    }

    fn make(&self) -> io::Result<()> {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.0)
    }
}
