//! The Postgres server process.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::Pid;
use tokio::sync::{oneshot, watch};

use super::account::Account;
use super::home::{Home, guarded, spawn_first};
use super::log::{LogFile, LogTail};
use super::socket_dir::SocketDir;
use super::{Binaries, EmbeddedError};

/// What the cluster is started with. Durability is Postgres's own: an
/// acknowledged commit is on the disk.
const SETTINGS: [&str; 18] = [
    "listen_addresses=",
    "unix_socket_permissions=0700",
    "fsync=on",
    "synchronous_commit=on",
    "full_page_writes=on",
    // 50 connections of the service's pool, the workers', and some to look in.
    "max_connections=200",
    "shared_buffers=128MB",
    // There are no replicas; bulk writes need less log then.
    "wal_level=minimal",
    "max_wal_senders=0",
    "min_wal_size=64MB",
    "max_wal_size=512MB",
    // Old segments of the log have what people said: they are removed, not kept for reuse.
    "wal_recycle=off",
    // Short statements only: compiling them would cost more than they do.
    "jit=off",
    "timezone=UTC",
    "log_timezone=UTC",
    // Statements and details of errors hold what people said: not in a log.
    "log_error_verbosity=terse",
    "log_min_error_statement=panic",
    "logging_collector=off",
];

/// After a crash everything is synchronized once: as a whole where that is
/// possible, instead of file by file.
const RECOVERY: &str = if cfg!(target_os = "linux") {
    "recovery_init_sync_method=syncfs"
} else {
    "recovery_init_sync_method=fsync"
};

/// The commands that start Postgres: guarded, and without a guard for when that
/// cannot be started.
pub fn commands(
    binaries: &Binaries,
    account: &Account,
    home: &Home,
    socket_dir: &SocketDir,
) -> [Command; 2] {
    let arguments = |command: &mut Command| {
        command
            .arg("-D")
            .arg(home.argument())
            .arg("-k")
            .arg(socket_dir.path());
        for setting in SETTINGS.into_iter().chain([RECOVERY]) {
            command.args(["-c", setting]);
        }
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
    };
    guarded(&binaries.postgres(), account).map(|mut command| {
        arguments(&mut command);
        command
    })
}

/// Starts Postgres in a separate thread, which lives as long as Postgres
/// does: the kernel takes the end of the thread that started a guarded process
/// for the death of its parent.
///
/// # Errors
/// When the program cannot be started.
pub async fn spawn(
    mut commands: [Command; 2],
    home: Home,
    log: LogFile,
    tail: LogTail,
) -> Result<(Pid, watch::Receiver<Option<String>>), EmbeddedError> {
    let (started, start) = oneshot::channel();
    let (exit, exited) = watch::channel(None);
    let program = PathBuf::from(commands[1].get_program());
    let failed = move |source| EmbeddedError::Spawn { program, source };
    let thread = std::thread::Builder::new().name("postgres".to_owned());
    let run = move || {
        let child = spawn_first(&mut commands, &home);
        let mut child = match child {
            Ok(child) => child,
            Err(error) => return drop(started.send(Err(error))),
        };
        drop(home);
        let reader = child
            .stderr
            .take()
            .map(|stderr| std::thread::spawn(move || tail.copy(stderr, log)));
        let _ = started.send(Ok(child.id()));
        let status = match child.wait() {
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        };
        // Its last words arrive a moment later. Sessions may hold the pipe open
        // for longer than that, so its end is not waited for.
        if reader.is_some_and(|reader| !reader.is_finished()) {
            #[expect(clippy::disallowed_methods, reason = "on a blocking thread")]
            std::thread::sleep(Duration::from_millis(50));
        }
        let _ = exit.send(Some(status));
    };
    if let Err(source) = thread.spawn(run) {
        return Err(failed(source));
    }
    match start.await {
        Ok(Ok(id)) => match Pid::from_raw(id.cast_signed()) {
            Some(pid) => Ok((pid, exited)),
            None => Err(failed(std::io::ErrorKind::InvalidData.into())),
        },
        Ok(Err(source)) => Err(failed(source)),
        Err(_) => Err(failed(std::io::ErrorKind::BrokenPipe.into())),
    }
}
