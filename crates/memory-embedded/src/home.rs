//! The directory of the cluster, and access to it for another account.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use rustix::io::{FdFlags, fcntl_setfd};

use super::account::Account;
use super::{DataDir, EmbeddedError, GUARD_COMMAND};

/// The directory of the cluster, and how Postgres reaches it.
pub struct Home {
    /// The directory.
    pub path: PathBuf,
    /// The open directory, for an account that could not enter the directories
    /// above: `/proc/self/fd/N` leads straight to it.
    fd: Option<File>,
}

impl Home {
    /// The cluster's place in a data directory; its directory is made.
    ///
    /// # Errors
    /// When it cannot be made or opened.
    pub fn in_data_dir(data: &DataDir, account: &Account) -> Result<Self, EmbeddedError> {
        match account.switched && !has_fd_links() {
            true => Self::open(reachable(data)?, account),
            false => Self::open(data.postgres(), account),
        }
    }

    /// A cluster's directory; it is created if it does not exist.
    ///
    /// # Errors
    /// When it cannot be made or opened.
    pub fn open(path: PathBuf, account: &Account) -> Result<Self, EmbeddedError> {
        make_dir(&path, account)?;
        let fd = match account.switched && has_fd_links() {
            true => Some(File::open(&path).map_err(EmbeddedError::path("open", &path))?),
            false => None,
        };
        Ok(Self { path, fd })
    }

    /// The path that Postgres gets as its argument.
    pub fn argument(&self) -> PathBuf {
        match &self.fd {
            Some(fd) => PathBuf::from(format!("/proc/self/fd/{}", fd.as_raw_fd())),
            None => self.path.clone(),
        }
    }

    /// The major version that made the cluster; `None` where it has yet to be
    /// made.
    ///
    /// # Errors
    /// When something else is in its place.
    pub fn major(&self, data: &DataDir) -> Result<Option<u32>, EmbeddedError> {
        if data.initializing().exists() {
            return Ok(None);
        }
        let file = self.path.join("PG_VERSION");
        match fs::read_to_string(&file) {
            Ok(text) => Ok(text.trim().parse().ok()),
            Err(_) if fs::read_dir(&self.path).is_ok_and(|entries| entries.count() > 0) => {
                Err(EmbeddedError::Unsafe {
                    path: self.path.clone(),
                    problem: "is not empty and is not a Postgres cluster".to_owned(),
                })
            }
            Err(_) => Ok(None),
        }
    }
}

/// Whether an open file can be found by its number.
fn has_fd_links() -> bool {
    Path::new("/proc/self/fd").exists()
}

/// A place that another account can get to, on a machine without `/proc`: the
/// data directory itself, or else one below `/var/lib/recollect` whose path is
/// left in the data directory.
fn reachable(data: &DataDir) -> Result<PathBuf, EmbeddedError> {
    let open = |dir: &Path| fs::metadata(dir).is_ok_and(|meta| meta.mode() & 0o001 != 0);
    if data.path().ancestors().all(open) {
        return Ok(data.postgres());
    }
    let pointer = data.path().join("postgres.path");
    if let Ok(path) = fs::read_to_string(&pointer) {
        return Ok(PathBuf::from(path.trim()));
    }
    let root = Path::new("/var/lib/recollect");
    fs::create_dir_all(root).map_err(EmbeddedError::path("create", root))?;
    let path = root.join(uuid::Uuid::now_v7().to_string());
    fs::write(&pointer, path.display().to_string())
        .map_err(EmbeddedError::path("write", &pointer))?;
    Ok(path)
}

/// Makes the cluster's empty directory.
fn make_dir(path: &Path, account: &Account) -> Result<(), EmbeddedError> {
    match fs::DirBuilder::new().mode(0o700).create(path) {
        Ok(()) if account.switched => chown(path, Some(account.uid), Some(account.gid))
            .map_err(EmbeddedError::path("hand over", path)),
        Ok(()) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(EmbeddedError::path("create", path)(error)),
    }
}

/// A command of the cluster's account. It has its own process group, so that
/// Ctrl-C in a terminal reaches the server alone, which stops Postgres last.
fn command_as(program: &Path, account: &Account) -> Command {
    let mut command = Command::new(program);
    command
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("TZ", "UTC")
        .current_dir("/");
    for name in ["LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"] {
        #[expect(clippy::disallowed_methods, reason = "where the system keeps things")]
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command.process_group(0);
    if account.switched {
        command.uid(account.uid).gid(account.gid);
    }
    command
}

/// Two ways to start a program: guarded (see `guard`), and plain for when that
/// cannot be done.
pub fn guarded(program: &Path, account: &Account) -> [Command; 2] {
    // `/proc/self/exe` is this program at any path and for any user.
    let mut guarded = command_as(Path::new("/proc/self/exe"), account);
    guarded
        .arg(GUARD_COMMAND)
        .arg(std::process::id().to_string())
        .arg(program);
    [guarded, command_as(program, account)]
}

/// Starts the first of two commands that can be started. The thread that calls
/// it has to live as long as the child: the kernel takes the thread's end for
/// the death of the parent.
///
/// # Errors
/// When neither can be started.
pub fn spawn_first([guarded, plain]: &mut [Command; 2], home: &Home) -> std::io::Result<Child> {
    // In a unit test this program is another one, which knows no guard.
    match cfg!(all(target_os = "linux", not(test))) {
        true => spawn_with(guarded, home).or_else(|_| spawn_with(plain, home)),
        false => spawn_with(plain, home),
    }
}

/// Starts a command that inherits the cluster's directory.
fn spawn_with(command: &mut Command, home: &Home) -> std::io::Result<Child> {
    let Some(fd) = &home.fd else {
        return command.spawn();
    };
    fcntl_setfd(fd, FdFlags::empty())?;
    let child = command.spawn();
    fcntl_setfd(fd, FdFlags::CLOEXEC)?;
    child
}
