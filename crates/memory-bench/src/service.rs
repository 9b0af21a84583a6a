//! The service under measurement: one that runs already, or a throw-away one.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
    time::{Duration, Instant},
};

use memory_embed::{EmbedderConfig, EmbeddingModel};
use memory_index::{IndexConfig, IndexSchema, open_index};
use memory_store::{Outbox, StoreConfig, WorkerStore};
use serde::Deserialize;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpStream,
    process::{Child, Command},
};
use tonic::transport::{Channel, Endpoint};

use crate::{
    Failure, Target,
    clients::{Clients, Key, new_app},
    data::{Copied, Directory},
    indexed::indexed,
    progress,
};

/// The time limit of a start, which creates a database cluster.
const START: Duration = Duration::from_secs(60);
/// The time limit of a stop, after which the service is killed.
const STOP: Duration = Duration::from_secs(30);

/// The index within a data directory.
pub const INDEX_DIR: &str = "index";
/// The objects within a data directory.
const OBJECTS_DIR: &str = "objects";

/// Callers that share a connection, as a backend's requests do.
const CALLERS_PER_CONNECTION: usize = 16;
/// Shortest and longest pause between two looks at the queue.
const DRAINED_POLL: [Duration; 2] = [Duration::from_millis(20), Duration::from_secs(1)];
/// For how long the embedded index rests before it counts as optimized: it merges segments after
/// ten whole seconds of few changes.
const RESTED: Duration = Duration::from_secs(25);
/// The longest wait for that: merging millions of messages takes an hour.
const OPTIMIZED: Duration = Duration::from_secs(3 * 3_600);
/// The longest wait for the index without progress.
const INDEX: Duration = Duration::from_secs(3_600);

/// A service to measure.
pub struct Service {
    /// The address of its gRPC server.
    pub addr: String,
    /// The URL of its database, for floors; `None` if unknown.
    pub database_url: Option<String>,
    /// The address of its metrics; `None` if this run did not start it.
    metrics: Option<String>,
    /// Its process id; `None` if this run did not start it.
    pub pid: Option<u32>,
    /// Time from its start to the first line that says it is ready.
    pub start: Option<Duration>,
    key: Key,
    child: Option<Child>,
    data: Option<Directory>,
    /// Its collections in a Qdrant server, if that is its index.
    qdrant: Option<IndexConfig>,
}

/// Keeps a service from running, until it is dropped.
pub struct Suspended(Option<u32>);

impl Drop for Suspended {
    fn drop(&mut self) {
        if let Some(pid) = self.0
            && let Err(error) = signal("-CONT", pid)
        {
            eprintln!("memory-bench: {error}");
        }
    }
}

/// The line that `recollect dev --json` prints when it is ready.
#[derive(Deserialize)]
struct Ready {
    addr: String,
    pid: u32,
    postgres: String,
    metrics_addr: Option<String>,
}

impl Service {
    /// Attaches to the service of `--addr`, or starts one.
    pub async fn attach_or_start(target: &Target) -> Result<Self, Failure> {
        let Some(addr) = &target.addr else {
            return Self::start(target, "").await;
        };
        let key = Key::new(target.api_key.as_deref())?;
        Ok(Self {
            addr: addr.clone(),
            database_url: target.database_url.clone(),
            metrics: None,
            pid: None,
            start: None,
            key,
            child: None,
            data: None,
            qdrant: None,
        })
    }

    /// Starts a throw-away service with the embedded default, or the Qdrant of `--qdrant`,
    /// and this configuration (TOML), which has no section `index`.
    pub async fn start(target: &Target, config: &str) -> Result<Self, Failure> {
        Self::start_on(target, Directory::temporary()?, config).await
    }

    /// The same on the data of a directory.
    pub async fn start_on(target: &Target, data: Directory, config: &str) -> Result<Self, Failure> {
        let qdrant = target.qdrant.as_ref().map(|url| IndexConfig {
            url: Some(url.clone()),
            // Apart from those of other services.
            alias: new_app(),
            ..IndexConfig::default()
        });
        write_config(data.path(), config, qdrant.as_ref())?;
        Self::start_in(target, data, qdrant).await
    }

    async fn start_in(
        target: &Target,
        data: Directory,
        qdrant: Option<IndexConfig>,
    ) -> Result<Self, Failure> {
        let recollect = binary(target)?;
        let step = progress::step("starting a throw-away service");
        let begin = Instant::now();
        let mut child = Command::new(&recollect)
            .args([
                "dev",
                "--json",
                "--stop-with-stdin",
                "--listen",
                "127.0.0.1:0",
            ])
            .arg("--data-dir")
            .arg(data.path().join("data"))
            .arg("--config")
            .arg(data.path().join("recollect.toml"))
            .env("RECOLLECT_TELEMETRY__METRICS_LISTEN", "127.0.0.1:0")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(fs::File::create(data.path().join("stderr"))?)
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| format!("{}: {error}", recollect.display()))?;
        let stdout = child.stdout.take().ok_or("the service has no output")?;
        let mut lines = BufReader::new(stdout).lines();
        let line = tokio::time::timeout(START, lines.next_line()).await;
        let elapsed = begin.elapsed();
        step.finish_and_clear();
        let Ok(Ok(Some(line))) = line else {
            let said = fs::read_to_string(data.path().join("stderr")).unwrap_or_default();
            return Err(format!("the service did not start; it said:\n{said}").into());
        };
        // The pipe stays open, so that the service can write to it.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        let Ready {
            addr,
            pid,
            postgres,
            metrics_addr,
        } = serde_json::from_str(&line)?;
        let addr = if addr.contains("://") {
            addr
        } else {
            format!("http://{addr}")
        };
        Ok(Self {
            addr,
            database_url: Some(postgres),
            metrics: metrics_addr,
            pid: Some(pid),
            start: Some(elapsed),
            key: Key::none(),
            child: Some(child),
            data: Some(data),
            qdrant,
        })
    }

    /// Stops a service that this run started and starts it again on its data, with this
    /// configuration; the new start's time is in `start`.
    pub async fn restart(mut self, target: &Target, config: &str) -> Result<Self, Failure> {
        let (data, qdrant) = (self.data.take(), self.qdrant.take());
        let data = data.ok_or("only a started service can be restarted")?;
        self.stop().await?;
        write_config(data.path(), config, qdrant.as_ref())?;
        Self::start_in(target, data, qdrant).await
    }

    /// The same with the same configuration. In between, its index is copied for the floor
    /// of recall, unless a Qdrant has it.
    pub async fn restart_with_copy(mut self, target: &Target) -> Result<(Self, Copied), Failure> {
        let (data, qdrant) = (self.data.take(), self.qdrant.take());
        let data = data.ok_or("only a started service can be restarted")?;
        self.stop().await?;
        let copied = match &qdrant {
            Some(config) => Copied::in_qdrant(config),
            None => Copied::of(&data.path().join("data").join(INDEX_DIR))?,
        };
        Ok((Self::start_in(target, data, qdrant).await?, copied))
    }

    /// Waits until the index has the changes of all tenants; without a database, those of
    /// the caller's tenant.
    pub async fn drained(&self) -> Result<(), Failure> {
        let Some(url) = &self.database_url else {
            return indexed(&mut self.connect().await?).await;
        };
        let outbox = outbox(url).await?;
        let step = progress::step("indexing");
        let mut least = i64::MAX;
        let mut progressed = Instant::now();
        loop {
            let asked = Instant::now();
            let stats = outbox.stats().await?;
            // Counting a long queue takes time from indexing.
            let pause = (asked.elapsed() * 20).clamp(DRAINED_POLL[0], DRAINED_POLL[1]);
            if stats.dead_letters > 0 {
                return Err(format!("{} changes could not be indexed", stats.dead_letters).into());
            }
            if stats.pending == 0 {
                step.finish_and_clear();
                return Ok(());
            }
            if stats.pending < least {
                least = stats.pending;
                progressed = Instant::now();
            }
            if progressed.elapsed() > INDEX {
                return Err(format!("{} changes still not indexed", stats.pending).into());
            }
            step.set_message(format!("indexing, {} to go", stats.pending));
            tokio::time::sleep(pause).await;
        }
    }

    /// How many changes the index does not have; 0 without a database.
    pub async fn waiting(&self) -> Result<usize, Failure> {
        match &self.database_url {
            Some(url) => Ok(usize::try_from(outbox(url).await?.stats().await?.pending)?),
            None => Ok(0),
        }
    }

    /// Keeps the service from running, but not its Postgres. Has no effect on a service
    /// that this run did not start.
    pub fn suspend(&self) -> Result<Suspended, Failure> {
        if let Some(pid) = self.pid {
            signal("-STOP", pid)?;
        }
        Ok(Suspended(self.pid))
    }

    /// Stops a service that this run started, and removes its collections from a Qdrant
    /// server; leaves any other alone.
    pub async fn stop(mut self) -> Result<(), Failure> {
        if let Some(mut child) = self.child.take() {
            drop(child.stdin.take());
            if tokio::time::timeout(STOP, child.wait()).await.is_err() {
                child.kill().await?;
            }
        }
        if let Some(config) = &self.qdrant {
            let default = EmbedderConfig::default().model;
            let model = EmbeddingModel {
                name: format!("{default}-int8"),
                dimensions: 384,
            };
            // With the default model and without one.
            for model in [Some(&model), None] {
                let schema = IndexSchema::new(&config.alias, model);
                let collection = schema.collection().to_owned();
                let index = open_index(config, schema)?;
                index.discard(&collection).await?;
                index.stop().await;
            }
        }
        Ok(())
    }

    /// The directory of its data; `None` if this run did not start it.
    pub fn data_dir(&self) -> Option<PathBuf> {
        Some(self.data.as_ref()?.path().join("data"))
    }

    /// The directory of its objects; `None` if this run did not start it.
    pub fn objects_dir(&self) -> Option<PathBuf> {
        Some(self.data_dir()?.join(OBJECTS_DIR))
    }

    /// Waits until the embedded index is neither written nor optimized, for long enough that it
    /// would have begun to merge its segments.
    pub async fn rested(&self) -> Result<(), Failure> {
        let step = progress::step("waiting for the index to be optimized");
        let begin = Instant::now();
        let mut rests_since = begin;
        while rests_since.elapsed() < RESTED {
            if begin.elapsed() > OPTIMIZED {
                return Err("the index is still being optimized".into());
            }
            if self.counter("recollect_index_busy").await? > 0 {
                rests_since = Instant::now();
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        step.finish_and_clear();
        Ok(())
    }

    /// The value of a counter or gauge in its metrics; 0 if it is missing.
    pub async fn counter(&self, series: &str) -> Result<u64, Failure> {
        let addr = self.metrics.as_ref().ok_or("the metrics are not known")?;
        let mut stream = TcpStream::connect(addr).await?;
        stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        if !answer.contains(" 200 ") {
            return Err("the metrics do not answer".into());
        }
        let value = answer
            .lines()
            .find_map(|line| line.strip_prefix(series)?.trim().parse().ok());
        Ok(value.unwrap_or_default())
    }

    /// Opens a separate connection with an API key.
    pub async fn connect_as(&self, api_key: &str) -> Result<Clients, Failure> {
        self.connect_with(&Key::new(Some(api_key))?).await
    }

    /// Opens a separate connection.
    pub async fn connect(&self) -> Result<Clients, Failure> {
        self.connect_with(&self.key).await
    }

    /// Clients for so many callers, some of which share a connection.
    pub async fn callers(&self, callers: usize) -> Result<Vec<Clients>, Failure> {
        let mut clients = Vec::with_capacity(callers);
        while clients.len() < callers {
            let shared = (callers - clients.len()).min(CALLERS_PER_CONNECTION);
            clients.extend(vec![self.connect().await?; shared]);
        }
        Ok(clients)
    }

    async fn connect_with(&self, key: &Key) -> Result<Clients, Failure> {
        Ok(Clients::new(self.channel().await?, key))
    }

    /// Opens a connection without an API key.
    pub async fn channel(&self) -> Result<Channel, Failure> {
        let channel = Endpoint::from_shared(self.addr.clone())?
            .connect_timeout(Duration::from_secs(5))
            .tcp_nodelay(true)
            .connect()
            .await;
        Ok(channel.map_err(|error| format!("{} does not answer: {error}", self.addr))?)
    }
}

/// The queue of a database's changes.
async fn outbox(url: &str) -> Result<Outbox, Failure> {
    let config = StoreConfig {
        url: url.into(),
        ..StoreConfig::default()
    };
    Ok(WorkerStore::connect(&config).await?.outbox().clone())
}

/// Writes the configuration with the section of the index.
fn write_config(dir: &Path, config: &str, index: Option<&IndexConfig>) -> Result<(), Failure> {
    let mut config = config.to_owned();
    if let Some(IndexConfig { alias, url, .. }) = index {
        let url = url.as_deref().unwrap_or_default();
        config += &format!("\n[index]\nurl = {url:?}\nalias = {alias:?}\n");
    }
    Ok(fs::write(dir.join("recollect.toml"), config)?)
}

fn signal(kind: &str, pid: u32) -> Result<(), Failure> {
    let status = std::process::Command::new("kill")
        .args([kind, &pid.to_string()])
        .status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("kill {kind} {pid}: {status}").into()),
        Err(error) => Err(format!("kill could not be run: {error}").into()),
    }
}

fn binary(target: &Target) -> Result<PathBuf, Failure> {
    if let Some(path) = &target.recollect {
        return Ok(path.clone());
    }
    let sibling = std::env::current_exe()?
        .parent()
        .unwrap_or(Path::new("."))
        .join("recollect");
    if sibling.exists() {
        return Ok(sibling);
    }
    Err(format!(
        "{} does not exist; build it with `cargo build --release --bin recollect`, or name one with --recollect, or a running service with --addr",
        sibling.display()
    )
    .into())
}
