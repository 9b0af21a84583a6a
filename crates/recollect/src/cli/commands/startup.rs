//! Starting the embedded default: `recollect dev` and `recollect demo`.

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use memory_config::Loaded;
use memory_config::Roles;
use memory_process::{Running, ServerError};
use memory_server::Readiness;
use secrecy::{ExposeSecret, SecretString};

use super::migrate::not_migrated;
use crate::cli::failure::Failure;
use crate::cli::output::Progress;
use memory_embedded::{Cluster, ClusterTimes, DataDir};

/// A server with everything it needs.
#[derive(Debug)]
pub struct Embedded {
    /// The server.
    pub running: Running,
    /// Its Postgres; `None` where the configuration names another one.
    pub cluster: Option<Cluster>,
    /// Whether the configuration names another database for conversations.
    pub chat_database: bool,
    /// How it is doing.
    pub readiness: Readiness,
    /// How long the parts of the start took.
    pub times: Times,
    data: DataDir,
    /// `http` or `https`, if the server has the console.
    console: Option<&'static str>,
}

/// How long the parts of a start took.
#[derive(Debug, Clone, Copy, Default)]
pub struct Times {
    /// Postgres.
    pub cluster: ClusterTimes,
    /// The migrations.
    pub migrate: Duration,
    /// Opening the store, the model and the index, and binding the ports.
    pub server: Duration,
    /// All of it, from the first line of the program on.
    pub total: Duration,
}

impl Embedded {
    /// Starts everything, and waits until it can be used.
    ///
    /// # Errors
    /// What did not start; then nothing is left running.
    pub async fn start(
        mut loaded: Loaded,
        data_dir: &Path,
        postgres_bin: Option<PathBuf>,
        begin: Instant,
        progress: &Progress,
    ) -> Result<Self, Failure> {
        check(&loaded, data_dir)?;
        let mut times = Times::default();
        let data = patiently(|| DataDir::lock(data_dir).map_err(Failure::from)).await?;
        let listen = loaded.config.server.listen;
        patiently(|| require_free(listen)).await?;
        let config = &mut loaded.config;

        let mut cluster = None;
        if config.database.url.expose_secret().is_empty() {
            let started = Cluster::start(&data, postgres_bin, |what| progress.step(what)).await?;
            config.database.url = SecretString::from(started.url().to_owned());
            config.database.private = !config.database.has_chat_database();
            times.cluster = started.times();
            cluster = Some(started);
        }
        if config.index.url.is_none() && config.index.path.is_none() {
            config.index.path = Some(data.index());
        }
        if config.objects.url.is_empty() {
            config.objects.use_directory(&data.objects());
        }

        if config.secrets.key.expose_secret().is_empty() {
            config.secrets.key = data.secrets_key()?;
        }

        progress.step("Bringing the schema up to date");
        let step = Instant::now();
        let reports = memory_store::migrate(&config.database)
            .await
            .map_err(|error| not_migrated(error, &loaded.provenance))?;
        for newer in reports.iter().filter_map(|report| report.newer.as_deref()) {
            tracing::warn!(
                newer,
                "the functions of a newer release were left in the database"
            );
        }
        times.migrate = step.elapsed();

        let chat_database = config.database.has_chat_database();
        let console = config
            .server
            .console
            .then_some(match &config.server.tls.certificate {
                Some(_) => "https",
                None => "http",
            });
        progress.step("Loading the model and the index");
        let step = Instant::now();
        let started = memory_process::start(loaded.config, Roles::ALL).await;
        let running = match started {
            Ok(running) => running,
            Err(error) => {
                if let Some(cluster) = cluster {
                    cluster.stop().await;
                }
                return Err(match error {
                    ServerError::Config(error) => loaded.provenance.locate(error).into(),
                    error => error.into(),
                });
            }
        };
        let readiness = running.wait_ready().await;
        // Nothing is acknowledged before a new cluster is on the disk.
        if let Some(cluster) = &mut cluster {
            cluster.settle().await?;
        }
        times.server = step.elapsed();
        times.total = begin.elapsed();
        Ok(Self {
            running,
            cluster,
            chat_database,
            readiness,
            times,
            data,
            console,
        })
    }

    /// The address of gRPC.
    pub fn addr(&self) -> SocketAddr {
        self.running
            .addr()
            .unwrap_or(SocketAddr::from(([127, 0, 0, 1], 0)))
    }

    /// The address of the console; `None` if it is switched off.
    pub fn console(&self) -> Option<String> {
        let scheme = self.console?;
        Some(format!("{scheme}://{}/console/", self.addr()))
    }

    /// Where everything is kept.
    pub fn data_dir(&self) -> &Path {
        self.data.path()
    }

    /// Waits until a part of it ends by itself, and says why. Postgres is started again.
    pub async fn failed(&self) -> Failure {
        self.running.failed().await.into()
    }

    /// Stops the server, then Postgres. `report` is called with each step.
    pub async fn stop(self, report: impl Fn(&str)) {
        report("Stopping: waiting for calls in progress, then writing the index");
        self.running.stop().await;
        if let Some(cluster) = self.cluster
            && !cluster.stop().await
        {
            report("Postgres was forced to stop after a timeout; it recovers at its next start");
        }
    }
}

/// Refuses what the server would refuse, before anything is made or started.
fn check(loaded: &Loaded, data_dir: &Path) -> Result<(), Failure> {
    let mut config = loaded.config.clone();
    // These two are given later.
    if config.database.url.expose_secret().is_empty() {
        config.database.url = SecretString::from("postgres:///");
    }
    if config.index.url.is_none() && config.index.path.is_none() {
        config.index.path = Some(data_dir.to_owned());
    }
    config
        .check()
        .and_then(|()| config.check_roles(Roles::ALL))
        .map_err(|error| loaded.provenance.locate(error).into())
}

/// Tries for a second: a process that was killed a moment ago may still be on
/// its way out.
async fn patiently<T>(mut work: impl FnMut() -> Result<T, Failure>) -> Result<T, Failure> {
    for _ in 0..20 {
        if let Ok(done) = work() {
            return Ok(done);
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    work()
}

/// Fails early, and clearly, where the port is taken.
fn require_free(listen: SocketAddr) -> Result<(), Failure> {
    match TcpListener::bind(listen) {
        Ok(_) => Ok(()),
        Err(error) => Err(Failure::machine(
            format!("cannot listen on {listen}: {error}"),
            format!(
                "Stop what listens there, or choose another port: --listen {}:0 takes a free one.",
                listen.ip()
            ),
        )),
    }
}
