//! The private Postgres cluster.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use memory_store::{error_chain, task};
use rustix::process::{Pid, Signal, kill_process};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_postgres::{Client, NoTls};
use tokio_util::sync::CancellationToken;

use super::account::Account;
use super::home::Home;
use super::init::{init, settle};
use super::log::{LogFile, LogTail};
use super::socket_dir::SocketDir;
use super::{Binaries, DataDir, EmbeddedError, orphan, postmaster};

/// The superuser of the cluster, and its database.
pub const NAME: &str = "recollect";
/// How long Postgres may take to answer. Crash recovery is part of it.
const READY_SECONDS: u64 = 30;
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
        let home = Home::of(data, &account)?;

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
        let client = launcher.launch().await?;
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

    /// Starts Postgres and waits until it answers.
    async fn launch(&self) -> Result<Client, EmbeddedError> {
        let deadline = Instant::now() + Duration::from_secs(READY_SECONDS);
        loop {
            let home = Home::open(self.home.clone(), &self.account)?;
            let log = LogFile::open(&self.log)?;
            let commands =
                postmaster::commands(&self.binaries, &self.account, &home, &self.socket_dir);
            let (pid, exited) = postmaster::spawn(commands, home, log, self.tail.clone()).await?;
            let process = Process { pid, exited };
            *self.current.lock().unwrap_or_else(PoisonError::into_inner) = Some(process.clone());
            match self.ready(&process, deadline).await {
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
                    match self.launch().await {
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

    /// Waits until Postgres answers. It is stopped when it does not.
    async fn ready(&self, process: &Process, deadline: Instant) -> Result<Client, EmbeddedError> {
        let url = url(self.socket_dir.path(), "postgres");
        let mut pause = Duration::from_millis(5);
        loop {
            if let Some(status) = process.exited.borrow().clone() {
                return Err(EmbeddedError::Exited {
                    status,
                    log: self.tail.text(),
                });
            }
            match tokio_postgres::connect(&url, NoTls).await {
                Ok((client, connection)) => {
                    task::spawn("connection", connection);
                    return Ok(client);
                }
                Err(_) if Instant::now() < deadline => {
                    tokio::time::sleep(pause).await;
                    pause = (pause * 3 / 2).min(Duration::from_millis(50));
                }
                Err(_) => {
                    process.signal(Signal::QUIT);
                    return Err(EmbeddedError::NotReady {
                        seconds: READY_SECONDS,
                        log: self.tail.text(),
                    });
                }
            }
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
mod tests {
    use super::*;

    async fn ask(cluster: &Cluster, sql: &str) -> String {
        let (client, connection) = tokio_postgres::connect(cluster.url(), NoTls).await.unwrap();
        tokio::spawn(connection);
        client.query_one(sql, &[]).await.unwrap().get(0)
    }

    /// A data directory as `mktemp -d` makes it: only its owner may enter it.
    fn private_dir() -> tempfile::TempDir {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
        dir
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_cluster_is_made_below_a_private_directory_and_keeps_its_data() {
        let dir = private_dir();
        let data = DataDir::lock(&dir.path().join("data")).unwrap();
        let mut cluster = Cluster::start(&data, None, |_| {}).await.unwrap();
        cluster.settle().await.unwrap();
        assert!(!data.initializing().exists());
        assert!(cluster.times().initdb.is_some());
        assert_eq!(ask(&cluster, "SHOW fsync").await, "on");
        assert_eq!(ask(&cluster, "SHOW listen_addresses").await, "");
        assert_eq!(
            ask(&cluster, "SELECT current_user || ' ' || current_database()").await,
            "recollect recollect"
        );
        ask(&cluster, "SELECT set_config('a.b', 'c', false)").await;
        let (client, connection) = tokio_postgres::connect(cluster.url(), NoTls).await.unwrap();
        tokio::spawn(connection);
        client
            .batch_execute("CREATE TABLE kept AS SELECT 'still here' AS word")
            .await
            .unwrap();
        assert!(cluster.stop().await);

        let cluster = Cluster::start(&data, None, |_| {}).await.unwrap();
        assert_eq!(cluster.times().initdb, None);
        assert_eq!(ask(&cluster, "SELECT word FROM kept").await, "still here");
        assert!(cluster.stop().await);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_postgres_left_behind_is_stopped_and_its_commits_are_there() {
        let dir = private_dir();
        let data = DataDir::lock(dir.path()).unwrap();
        let mut first = Cluster::start(&data, None, |_| {}).await.unwrap();
        first.settle().await.unwrap();
        let (client, connection) = tokio_postgres::connect(first.url(), NoTls).await.unwrap();
        tokio::spawn(connection);
        client
            .batch_execute("CREATE TABLE kept AS SELECT 'still here' AS word")
            .await
            .unwrap();
        let orphan = first.pid();
        first.keeper.abort();
        std::mem::forget(first);

        let second = Cluster::start(&data, None, |_| {}).await.unwrap();
        assert_eq!(second.stopped_orphan(), Some(orphan));
        assert_eq!(ask(&second, "SELECT word FROM kept").await, "still here");

        assert!(second.stop().await);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_killed_postgres_is_started_again_and_its_commits_are_there() {
        let dir = private_dir();
        let data = DataDir::lock(dir.path()).unwrap();
        let mut cluster = Cluster::start(&data, None, |_| {}).await.unwrap();
        cluster.settle().await.unwrap();
        let (client, connection) = tokio_postgres::connect(cluster.url(), NoTls).await.unwrap();
        tokio::spawn(connection);
        client
            .batch_execute("CREATE TABLE kept AS SELECT 'still here' AS word")
            .await
            .unwrap();
        let killed = cluster.pid();
        kill_process(Pid::from_raw(killed).unwrap(), Signal::KILL).unwrap();

        let start = Instant::now();
        while cluster.pid() == killed
            || tokio_postgres::connect(cluster.url(), NoTls).await.is_err()
        {
            assert!(
                start.elapsed() < Duration::from_secs(30),
                "it is not started again"
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(ask(&cluster, "SELECT word FROM kept").await, "still here");
        assert!(cluster.stop().await);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_cluster_that_never_reached_the_disk_is_recreated() {
        let dir = private_dir();
        let data = DataDir::lock(dir.path()).unwrap();
        std::fs::write(data.initializing(), "").unwrap();
        std::fs::create_dir(data.postgres()).unwrap();
        std::fs::write(data.postgres().join("PG_VERSION"), "15\n").unwrap();
        let mut cluster = Cluster::start(&data, None, |_| {}).await.unwrap();
        cluster.settle().await.unwrap();
        assert!(cluster.stop().await);
        assert!(!data.initializing().exists());
    }

    #[tokio::test]
    async fn a_directory_with_something_else_in_it_is_left_alone() {
        let dir = private_dir();
        let data = DataDir::lock(dir.path()).unwrap();
        std::fs::create_dir(data.postgres()).unwrap();
        std::fs::write(data.postgres().join("letter.txt"), "dear reader").unwrap();
        let error = Cluster::start(&data, None, |_| {}).await.unwrap_err();
        assert!(matches!(error, EmbeddedError::Unsafe { .. }), "{error}");
        assert!(data.postgres().join("letter.txt").exists());
    }
}
