//! Temporary data directories for servers.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tempfile::TempDir;

use crate::process::send_signal;
use crate::slots::Slot;

/// A directory for a server's data, configuration and log. While it lives it
/// holds one of few slots, so that many tests do not start servers at once.
pub struct DataDir {
    dir: TempDir,
    _slot: Option<Slot>,
    /// Where the private Postgres has its socket: outside, and left behind by a
    /// server that was killed.
    socket_dir: Mutex<Option<PathBuf>>,
}

impl DataDir {
    /// An empty directory that root alone can enter.
    ///
    /// # Panics
    /// If the test is not marked with `#[apply(trial_with_own_server)]`.
    #[expect(clippy::new_without_default, reason = "it makes a directory")]
    pub fn new() -> Self {
        Self {
            dir: temp_dir(),
            _slot: Some(Slot::take()),
            socket_dir: Mutex::default(),
        }
    }

    /// The directory around everything.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// A directory for a server that takes no slot.
    pub fn unlimited() -> Self {
        Self {
            dir: temp_dir(),
            _slot: None,
            socket_dir: Mutex::default(),
        }
    }

    /// What is given to `--data-dir`.
    pub fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    /// The data directory of a server that is started in [`Self::path`] without
    /// `--data-dir`.
    pub fn default_data(&self) -> PathBuf {
        self.dir.path().join(".recollect")
    }

    /// The log of the servers that ran here.
    pub fn log(&self) -> String {
        fs::read_to_string(self.path().join("server.log")).unwrap_or_default()
    }

    /// The process id of the private Postgres.
    pub fn postgres_pid(&self) -> Option<i32> {
        let file = self.find("postmaster.pid")?;
        let text = fs::read_to_string(file).ok()?;
        text.lines().next()?.trim().parse().ok()
    }

    /// Kills the private Postgres without a warning.
    ///
    /// # Panics
    /// If it is not running.
    pub fn kill_postgres(&self) {
        send_signal(
            self.running_postgres().expect("Postgres is not running"),
            Signal::KILL,
        );
    }

    /// Remembers the socket's directory, from the URL of the private Postgres.
    pub(crate) fn remember_socket(&self, url: &str) {
        let host = url
            .split('@')
            .nth(1)
            .and_then(|rest| rest.split('/').next());
        let path = host.unwrap_or_default().replace("%2F", "/");
        if path.starts_with("/") {
            *self.socket_dir.lock().unwrap() = Some(PathBuf::from(path));
        }
    }

    /// The number in the file may have become another process's.
    fn running_postgres(&self) -> Option<i32> {
        let pid = self.postgres_pid()?;
        let home = fs::read_link(format!("/proc/{pid}/cwd")).ok()?;
        home.starts_with(self.path()).then_some(pid)
    }

    /// The first file or directory of this name under the data directory.
    pub fn find(&self, name: &str) -> Option<PathBuf> {
        let dirs = [self.data(), self.default_data()];
        dirs.iter().find_map(|dir| find(dir, name))
    }
}

impl Drop for DataDir {
    fn drop(&mut self) {
        // After kill -9 the private Postgres has no parent.
        if let Some(pid) = self.running_postgres() {
            send_signal(pid, Signal::QUIT);
            let start = Instant::now();
            while self.running_postgres().is_some() && start.elapsed() < Duration::from_secs(3) {
                thread::sleep(Duration::from_millis(20));
            }
        }
        if let Some(path) = self.socket_dir.lock().unwrap().take() {
            let _ = fs::remove_dir_all(path);
        }
    }
}

fn temp_dir() -> TempDir {
    tempfile::Builder::new()
        .prefix("recollect-e2e-")
        .tempdir()
        .unwrap()
}

fn find(dir: &Path, name: &str) -> Option<PathBuf> {
    let mut below = Vec::new();
    for entry in fs::read_dir(dir).ok()?.filter_map(Result::ok) {
        if entry.file_name() == name {
            return Some(entry.path());
        }
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            below.push(entry.path());
        }
    }
    below.iter().find_map(|dir| find(dir, name))
}
