//! The private Postgres cluster.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use memory_runtime::{error_chain, task};
use rustix::process::{Pid, Signal, kill_process};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, NoTls};
use tokio_util::sync::CancellationToken;

use super::account::Account;
use super::home::Home;
use super::init::{NAME, init, settle};
use super::log::{LogFile, LogTail};
use super::socket_dir::SocketDir;
use super::{Binaries, DataDir, EmbeddedError, orphan, postmaster};

/// How long Postgres may take to answer, counted from its last answer that it is starting up.
/// So crash recovery may take any time: one that is interrupted begins again.
const READY: Duration = Duration::from_secs(30);
/// How long an attempt to connect may take.
const CONNECT: Duration = Duration::from_secs(5);
/// When it is reported first that Postgres is not ready, and the interval of later reports.
const FIRST_REPORT: Duration = Duration::from_secs(2);
const REPORT_INTERVAL: Duration = Duration::from_secs(10);
/// The pause before Postgres is started again. It doubles with each failure.
const RETRY_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// How long it may take to stop, and then after a harder signal.
const STOP: Duration = Duration::from_secs(20);
const STOP_HARD: Duration = Duration::from_secs(5);

/// How long the parts of a start took.
#[derive(Debug, Clone, Copy, Default)]
pub struct ClusterTimes {
    /// Making the cluster; `None` where there was one.
    pub initdb: Option<Duration>,
    /// From starting Postgres to its first answer.
    pub start: Duration,
    /// Creating the database; next to nothing where there was one.
    pub database: Duration,
}

/// A Postgres server that is kept running. Dropped without [`Cluster::stop`], it is signalled
/// to stop, without waiting for its end.
#[derive(Debug)]
pub struct Cluster {
    url: String,
    version: String,
    launcher: Arc<Launcher>,
    stop: CancellationToken,
    keeper: JoinHandle<()>,
    times: ClusterTimes,
    stopped_orphan: Option<i32>,
    /// Ends when a new cluster is safely on the disk.
    settling: Option<JoinHandle<Result<(), EmbeddedError>>>,
}

impl Cluster {
    /// Starts the cluster of a data directory, and creates it first if it does
    /// not exist. `report` is called with each step.
    ///
    /// # Errors
    /// [`EmbeddedError`]; then no process is left.
    pub async fn start(
        data: &DataDir,
        postgres_bin: Option<PathBuf>,
        report: impl Fn(&str),
    ) -> Result<Self, EmbeddedError> {
        let mut times = ClusterTimes::default();
        let account = Account::choose()?;
        let home = Home::in_data_dir(data, &account)?;

        let orphaned = home.path.clone();
        let stopped_orphan = blocking(move || orphan::stop(&orphaned)).await?;
        if let Some(pid) = stopped_orphan {
            report(&format!(
                "Stopped the Postgres that an earlier process left behind ({pid})"
            ));
        }

        let made = home.major(data)?;
        let binaries = blocking(move || Binaries::find(postgres_bin.as_deref(), made)).await?;
        let mut settling = None;
        if made.is_none() {
            report("Making a new Postgres cluster (about a second, once)");
            let begin = Instant::now();
            let (programs, owner) = (binaries.clone(), account.clone());
            let (marker, cluster) = (data.initializing(), home.path.clone());
            blocking(move || init(&programs, &owner, &marker, &cluster)).await?;
            times.initdb = Some(begin.elapsed());
            settling = Some(settle(home.path.clone(), data.initializing()));
        }

        report("Starting Postgres");
        let begin = Instant::now();
        let launcher = Arc::new(Launcher {
            socket_dir: SocketDir::create(data.path(), &account)?,
            home: home.path,
            log: data.postgres_log(),
            tail: LogTail::default(),
            current: Mutex::default(),
            binaries,
            account,
        });
        let client = launcher.launch(&report).await?;
        times.start = begin.elapsed();

        let stop = CancellationToken::new();
        let keeper = Arc::clone(&launcher).keep_running(stop.clone());
        let mut cluster = Self {
            url: url(launcher.socket_dir.path(), NAME),
            version: launcher.binaries.version.clone(),
            launcher,
            stop,
            keeper: task::spawn("postgres", keeper),
            times,
            stopped_orphan,
            settling,
        };
        let begin = Instant::now();
        create_database(&client)
            .await
            .map_err(EmbeddedError::Database)?;
        cluster.times.database = begin.elapsed();
        Ok(cluster)
    }

    /// The URL of the database, for tokio-postgres and libpq alike. Its user is
    /// the cluster's superuser; there is no password in it: the kernel says who
    /// is at the other end of the socket.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Postgres's version, such as `15.18`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Postgres's process id.
    pub fn pid(&self) -> i32 {
        let current = self.launcher.current();
        current.map_or(0, |process| process.pid.as_raw_nonzero().get())
    }

    /// How long the parts of the start took.
    pub fn times(&self) -> ClusterTimes {
        self.times
    }

    /// The process id of the Postgres that an earlier process had left behind.
    pub fn stopped_orphan(&self) -> Option<i32> {
        self.stopped_orphan
    }

    /// Waits until a new cluster is safely on the disk. Nothing may be
    /// acknowledged before.
    ///
    /// # Errors
    /// When the disk refuses.
    pub async fn settle(&mut self) -> Result<(), EmbeddedError> {
        match self.settling.take() {
            Some(settling) => joined(settling.await),
            None => Ok(()),
        }
    }

    /// Stops Postgres: sessions end, everything is written out. Returns whether
    /// it ended in time by itself.
    pub async fn stop(mut self) -> bool {
        self.stop.cancel();
        let _ = (&mut self.keeper).await;
        let Some(process) = self.launcher.current() else {
            return true;
        };
        for (signal, timeout) in [(Signal::INT, STOP), (Signal::QUIT, STOP_HARD)] {
            process.signal(signal);
            let mut exited = process.exited.clone();
            if tokio::time::timeout(timeout, exited.wait_for(Option::is_some))
                .await
                .is_ok()
            {
                return signal == Signal::INT;
            }
        }
        process.signal(Signal::KILL);
        false
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.stop.cancel();
        if let Some(process) = self.launcher.current() {
            process.signal(Signal::INT);
        }
    }
}

/// What starts Postgres.
#[derive(Debug)]
struct Launcher {
    binaries: Binaries,
    account: Account,
    /// The cluster's directory.
    home: PathBuf,
    socket_dir: SocketDir,
    log: PathBuf,
    tail: LogTail,
    /// The process started last.
    current: Mutex<Option<Process>>,
}

/// A Postgres process, which may have ended.
#[derive(Debug, Clone)]
struct Process {
    pid: Pid,
    exited: watch::Receiver<Option<String>>,
}

impl Process {
    /// Signals it, unless it has ended already.
    fn signal(&self, signal: Signal) {
        if self.exited.borrow().is_none() {
            let _ = kill_process(self.pid, signal);
        }
    }
}

impl Launcher {
    fn current(&self) -> Option<Process> {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.clone()
    }

    /// Starts Postgres and waits until it can be used. `report` is called while that takes long.
    async fn launch(&self, report: impl Fn(&str)) -> Result<Client, EmbeddedError> {
        let deadline = Instant::now() + READY;
        loop {
            let home = Home::open(self.home.clone(), &self.account)?;
            let log = LogFile::open(&self.log)?;
            let commands =
                postmaster::commands(&self.binaries, &self.account, &home, &self.socket_dir);
            let (pid, exited) = postmaster::spawn(commands, home, log, self.tail.clone()).await?;
            let process = Process { pid, exited };
            *self.current.lock().unwrap_or_else(PoisonError::into_inner) = Some(process.clone());
            match self.ready(&process, READY, &report).await {
                // Sessions of a killed server may still be on their way out.
                Err(EmbeddedError::Exited { log, .. })
                    if log.contains("shared memory block") && Instant::now() < deadline =>
                {
                    tokio::time::sleep(RETRY_PAUSE).await;
                }
                other => return other,
            }
        }
    }

    /// Starts Postgres again whenever it ends, as it does if its disk is full.
    async fn keep_running(self: Arc<Self>, stop: CancellationToken) {
        let keep = async {
            while let Some(mut process) = self.current() {
                let status = process.exited.wait_for(Option::is_some).await;
                let status = status.ok().and_then(|status| status.clone());
                let log = self.tail.text();
                tracing::error!(
                    status,
                    log,
                    "Postgres exited unexpectedly; it is started again"
                );
                let mut pause = RETRY_PAUSE;
                loop {
                    tokio::time::sleep(pause).await;
                    match self.launch(|what| tracing::warn!("{what}")).await {
                        Ok(_client) => break tracing::info!("Postgres runs again"),
                        Err(error) => {
                            tracing::error!(error = %error_chain(&error), "Postgres does not start");
                        }
                    }
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
            }
        };
        tokio::select! {
            () = stop.cancelled() => {}
            () = keep => {}
        }
    }

    /// Waits until Postgres can be used, for as long as it says that it is starting up. It is
    /// stopped when it says nothing for `limit`.
    async fn ready(
        &self,
        process: &Process,
        limit: Duration,
        report: impl Fn(&str),
    ) -> Result<Client, EmbeddedError> {
        let url = url(self.socket_dir.path(), "postgres");
        let begin = Instant::now();
        let (mut answered, mut next_report) = (begin, FIRST_REPORT);
        let mut pause = Duration::from_millis(5);
        loop {
            if let Some(status) = process.exited.borrow().clone() {
                return Err(EmbeddedError::Exited {
                    status,
                    log: self.tail.text(),
                });
            }
            let attempt = tokio::time::timeout(CONNECT, tokio_postgres::connect(&url, NoTls));
            let state = match attempt.await {
                Ok(Ok((client, connection))) => {
                    task::spawn("connection", connection);
                    return Ok(client);
                }
                Ok(Err(error)) if error.code() == Some(&SqlState::CANNOT_CONNECT_NOW) => {
                    answered = Instant::now();
                    "Postgres is starting up, and recovers what it had not written out"
                }
                _ => "Postgres does not answer yet",
            };
            if answered.elapsed() >= limit {
                process.signal(Signal::QUIT);
                return Err(EmbeddedError::NotReady {
                    seconds: limit.as_secs(),
                    log: self.tail.text(),
                });
            }
            let elapsed = begin.elapsed();
            if elapsed >= next_report {
                report(&format!("{state} ({} s)", elapsed.as_secs()));
                next_report = elapsed + REPORT_INTERVAL;
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 3 / 2).min(Duration::from_millis(50));
        }
    }
}

async fn create_database(client: &Client) -> Result<(), tokio_postgres::Error> {
    let known = client
        .query_opt("SELECT 1 FROM pg_database WHERE datname = $1", &[&NAME])
        .await?;
    if known.is_none() {
        client
            .batch_execute(&format!("CREATE DATABASE {NAME}"))
            .await?;
    }
    Ok(())
}

/// The URL of the database that `recollect dev` runs in this data directory; `None` if it does
/// not run.
pub fn running_url(data_dir: &Path) -> Option<String> {
    let pid_file = data_dir.join("postgres").join("postmaster.pid");
    // The fifth line is the directory of the Unix socket.
    let text = std::fs::read_to_string(pid_file).ok()?;
    let socket_dir = text.lines().nth(4).filter(|line| !line.is_empty())?;
    Some(url(Path::new(socket_dir), NAME))
}

fn url(socket_dir: &Path, database: &str) -> String {
    let host = socket_dir
        .display()
        .to_string()
        .replace('%', "%25")
        .replace('/', "%2F");
    format!("postgresql://{NAME}@{host}/{database}")
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, EmbeddedError> + Send + 'static,
) -> Result<T, EmbeddedError> {
    joined(tokio::task::spawn_blocking(work).await)
}

fn joined<T>(
    joined: Result<Result<T, EmbeddedError>, tokio::task::JoinError>,
) -> Result<T, EmbeddedError> {
    match joined {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(EmbeddedError::Interrupted),
        },
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests use what they need")]
mod tests;
