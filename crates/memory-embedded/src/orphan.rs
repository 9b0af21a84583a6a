//! Stops a Postgres that an earlier process left behind.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};

use super::EmbeddedError;

/// How long it may take to end after a gentle signal, and then after SIGQUIT.
const GENTLE: Duration = Duration::from_secs(20);
const HARD: Duration = Duration::from_secs(10);

/// Stops the Postgres that still runs on the cluster, and returns its process
/// id. The caller holds the data directory's lock, so no other process uses it.
///
/// # Errors
/// [`EmbeddedError::Orphan`] when it does not end.
pub fn stop(cluster: &Path) -> Result<Option<i32>, EmbeddedError> {
    let Some((pid, standalone)) = running(cluster) else {
        return Ok(None);
    };
    // SIGINT ends sessions and writes everything out; the backend that initdb
    // works with knows SIGTERM alone. SIGQUIT ends at once, and the next start
    // recovers from the write-ahead log.
    let gentle = if standalone {
        Signal::TERM
    } else {
        Signal::INT
    };
    for (signal, timeout) in [(gentle, GENTLE), (Signal::QUIT, HARD)] {
        let _ = kill_process(pid, signal);
        if ended(pid, cluster, timeout) {
            return Ok(Some(pid.as_raw_nonzero().get()));
        }
    }
    Err(EmbeddedError::Orphan {
        pid: pid.as_raw_nonzero().get(),
    })
}

fn ended(pid: Pid, cluster: &Path, timeout: Duration) -> bool {
    let deadline = Instant::now() + timeout;
    while Instant::now() < deadline {
        if running(cluster).is_none_or(|(now, _)| now != pid) {
            return true;
        }
        #[expect(clippy::disallowed_methods, reason = "on a blocking thread")]
        std::thread::sleep(Duration::from_millis(10));
    }
    false
}

/// The process named by `postmaster.pid`, if it is there and is Postgres at
/// work on this cluster, and whether it is a standalone backend. Process ids
/// are reused, so the file alone says nothing.
fn running(cluster: &Path) -> Option<(Pid, bool)> {
    let text = fs::read_to_string(cluster.join("postmaster.pid")).ok()?;
    // A standalone backend writes its process id with a minus.
    let number: i32 = text.lines().next()?.trim().parse().ok()?;
    let pid = Pid::from_raw(number.checked_abs()?)?;
    test_kill_process(pid).ok()?;
    is_postgres_of(pid, cluster).then_some((pid, number < 0))
}

fn is_postgres_of(pid: Pid, cluster: &Path) -> bool {
    let proc = Path::new("/proc").join(pid.as_raw_nonzero().to_string());
    if !Path::new("/proc/self").exists() {
        return is_postgres_by_ps(pid);
    }
    let name = fs::read_to_string(proc.join("comm")).unwrap_or_default();
    name.starts_with("postgres")
        && !is_zombie(&proc)
        && fs::read_link(proc.join("cwd")).map_or(true, |cwd| cwd == cluster)
}

fn is_zombie(proc: &Path) -> bool {
    fs::read_to_string(proc.join("stat")).is_ok_and(|stat| {
        stat.rsplit(')')
            .next()
            .is_some_and(|rest| rest.starts_with(" Z"))
    })
}

fn is_postgres_by_ps(pid: Pid) -> bool {
    std::process::Command::new("ps")
        .args(["-o", "comm=", "-p", &pid.as_raw_nonzero().to_string()])
        .output()
        .is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("postgres"))
}
