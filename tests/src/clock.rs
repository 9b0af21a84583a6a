//! A system clock that a test sets, for processes that it starts: libfaketime.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::Skipped;

/// The clock of the processes that are started with its environment variables.
pub struct Clock {
    dir: TempDir,
    library: PathBuf,
}

impl Clock {
    /// A clock that is right.
    ///
    /// # Errors
    /// If this machine has no libfaketime.
    pub fn new() -> Result<Self, Skipped> {
        let library = library().ok_or_else(|| {
            Skipped("libfaketime is not installed; scripts/setup tools installs it".to_owned())
        })?;
        let dir = tempfile::Builder::new()
            .prefix("recollect-clock-")
            .tempdir()
            .unwrap();
        // Postgres runs as another user.
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let clock = Self { dir, library };
        clock.set(0);
        Ok(clock)
    }

    /// Sets it this many seconds before the right time.
    pub fn set(&self, seconds_behind: u64) {
        // Processes read it at any time: it is replaced, not written.
        let draft = self.dir.path().join("draft");
        fs::write(&draft, format!("-{seconds_behind}\n")).unwrap();
        fs::set_permissions(&draft, fs::Permissions::from_mode(0o644)).unwrap();
        fs::rename(draft, self.file()).unwrap();
    }

    /// The environment variables of a process with this clock.
    pub fn env(&self) -> Vec<(String, String)> {
        let path = |path: &Path| path.display().to_string();
        [
            ("LD_PRELOAD", path(&self.library)),
            ("FAKETIME_TIMESTAMP_FILE", path(&self.file())),
            ("FAKETIME_NO_CACHE", "1".to_owned()),
            // A clock that is set leaves these as they are.
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
            ("NO_FAKE_STAT", "1".to_owned()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .to_vec()
    }

    fn file(&self) -> PathBuf {
        self.dir.path().join("offset")
    }
}

fn library() -> Option<PathBuf> {
    let below = |dir: &str| fs::read_dir(dir).into_iter().flatten().flatten();
    below("/usr/lib")
        .chain(below("/usr/local/lib"))
        .map(|entry| entry.path().join("faketime/libfaketimeMT.so.1"))
        .chain([PathBuf::from("/usr/lib64/faketime/libfaketimeMT.so.1")])
        .find(|path| path.is_file())
}
