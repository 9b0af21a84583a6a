//! The processes of a service that this run started.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
    time::{Duration, Instant},
};

use memory_embedded::{Cluster, DataDir, GUARD_COMMAND};
use tokio::{
    process::{Child, Command},
    time::sleep,
};

use super::signal::{Signal, signal};
use crate::{Failure, processor::Processes};

/// The time limit of a start, which creates a database cluster.
pub const START: Duration = Duration::from_secs(60);
/// The time limit of a stop, after which a process is killed.
const STOP: Duration = Duration::from_secs(30);
/// The pause between two looks at a process that starts.
const POLL: Duration = Duration::from_millis(5);

/// The configuration within a service's directory.
pub const CONFIG: &str = "recollect.toml";
/// The data within a service's directory.
pub const DATA: &str = "data";

/// A service whose processes are ready. Dropped without [`Started::stop`], they are killed.
pub struct Started {
    /// The URL of its gRPC server.
    pub addr: String,
    /// The URL of its database.
    pub database_url: String,
    /// The addresses of its processes' metrics, the server's first.
    pub metrics: Vec<String>,
    /// The server's log.
    pub log: PathBuf,
    /// Its processes on this machine.
    pub processes: Processes,
    /// From the start of the first process until all were ready.
    pub took: Duration,
    pub(super) children: Vec<Child>,
    /// Its Postgres, if this process started it.
    pub(super) postgres: Option<(Cluster, DataDir)>,
}

impl Started {
    /// Stops the processes, those that were started last first.
    pub async fn stop(self) -> Result<(), Failure> {
        for mut child in self.children.into_iter().rev() {
            // Waiting closes the input, whose end some take for a second signal.
            let _input = child.stdin.take();
            if let Some(pid) = child.id() {
                signal(Signal::Terminate, pid)?;
            }
            if tokio::time::timeout(STOP, child.wait()).await.is_err() {
                child.kill().await?;
            }
        }
        if let Some((cluster, _lock)) = self.postgres {
            cluster.stop().await;
        }
        Ok(())
    }
}

/// `recollect` as a command. Where the kernel can do that, it is interrupted when this process dies.
pub fn guarded(recollect: &Path) -> Command {
    if !cfg!(target_os = "linux") {
        return Command::new(recollect);
    }
    let mut guard = Command::new("/proc/self/exe");
    guard
        .arg(GUARD_COMMAND)
        .arg(std::process::id().to_string())
        .arg(recollect);
    guard
}

/// A process of the `recollect` binary that writes its log to a file of the directory.
pub struct Program {
    pub command: Command,
    log: PathBuf,
}

impl Program {
    /// A subcommand with the directory's configuration.
    pub fn new(
        mut command: Command,
        dir: &Path,
        subcommand: &str,
        log: &str,
    ) -> Result<Self, Failure> {
        let log = dir.join(log);
        command
            .arg(subcommand)
            .arg("--config")
            .arg(dir.join(CONFIG))
            .env("RECOLLECT_TELEMETRY__METRICS_LISTEN", "127.0.0.1:0")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs::File::create(&log)?)
            .kill_on_drop(true);
        Ok(Self { command, log })
    }

    /// Starts it.
    pub fn spawn(mut self) -> Result<Starting, Failure> {
        let child = self.command.spawn();
        let child = child.map_err(|error| format!("the service cannot be started: {error}"))?;
        Ok(Starting {
            child,
            log: self.log,
        })
    }
}

/// A process that is not ready yet.
pub struct Starting {
    pub child: Child,
    pub log: PathBuf,
}

impl Starting {
    /// Asks again and again until there is an answer, for at most [`START`].
    pub async fn until<T>(
        &mut self,
        mut ask: impl AsyncFnMut(&str) -> Option<T>,
    ) -> Result<T, Failure> {
        let begin = Instant::now();
        loop {
            // First, because a process that ended says nothing more.
            let ended = self.child.try_wait()?;
            if let Some(answer) = ask(&self.said()).await {
                return Ok(answer);
            }
            if ended.is_some() || begin.elapsed() > START {
                return Err(self.failed());
            }
            sleep(POLL).await;
        }
    }

    /// Why it did not start.
    pub fn failed(&self) -> Failure {
        format!("the service did not start; it said:\n{}", self.said()).into()
    }

    /// Its log so far.
    fn said(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }
}
