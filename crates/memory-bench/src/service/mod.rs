//! The service under measurement: one that runs already, or a throw-away one.

mod apart;
mod embedded;
mod signal;
mod started;

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use memory_embed::EmbeddingModel;
use memory_index::{IndexConfig, IndexSchema, open_index};
use memory_store::{Outbox, StoreConfig, WorkerStore};
use tonic::transport::{Channel, Endpoint};

use crate::{
    Failure, Target,
    clients::{Clients, Key, new_app},
    data::{Copied, Directory},
    embedding::embedding,
    indexed::indexed,
    meter::{Meter, Server},
    metrics::Metrics,
    processor::Processes,
    progress,
};
use signal::{Signal, signal};
use started::{CONFIG, DATA, Started};

/// The index within a data directory.
pub const INDEX_DIR: &str = "index";
/// The objects within a data directory.
const OBJECTS_DIR: &str = "objects";

/// Callers that share a connection, as a backend's requests do.
const CALLERS_PER_CONNECTION: usize = 16;
/// Shortest and longest pause between two looks at the queue.
const DRAINED_POLL: [Duration; 2] = [Duration::from_millis(20), Duration::from_secs(1)];
/// For how long the index rests before it counts as optimized: the embedded one merges segments
/// after ten whole seconds of few changes.
const RESTED: Duration = Duration::from_secs(25);
/// The pause between two looks whether it rests, and the processor time that a Qdrant which rests
/// uses meanwhile at most.
const RESTED_POLL: Duration = Duration::from_millis(500);
const RESTED_QDRANT_MS: f64 = 50.0;
/// The longest wait for that: merging millions of messages takes an hour.
const OPTIMIZED: Duration = Duration::from_secs(3 * 3_600);
/// The longest wait for the index without progress.
const INDEX: Duration = Duration::from_secs(3_600);

/// A service to measure.
pub struct Service {
    /// The URL of its gRPC server.
    pub addr: String,
    /// The URL of its database, for floors; `None` if unknown.
    pub database_url: Option<String>,
    key: Key,
    /// Its processes; `None` if this run did not start it.
    started: Option<Started>,
    data: Option<Directory>,
    /// Its collections in a Qdrant server, if that is its index.
    qdrant: Option<IndexConfig>,
}

/// Keeps a service from running, until it is dropped.
pub struct Suspended(Vec<u32>);

impl Drop for Suspended {
    fn drop(&mut self) {
        for pid in &self.0 {
            if let Err(error) = signal(Signal::Continue, *pid) {
                eprintln!("memory-bench: {error}");
            }
        }
    }
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
            key,
            started: None,
            data: None,
            qdrant: None,
        })
    }

    /// Starts a throw-away service with this configuration (TOML), which has no sections
    /// `index` and `objects`: one process with the embedded defaults, or, with
    /// `--qdrant`, a server and workers apart.
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
        let dir = data.path();
        let started = match qdrant.as_ref().and_then(|index| index.url.as_deref()) {
            None => embedded::start(&recollect, dir).await,
            Some(url) => apart::start(&recollect, dir, target.workers.into(), url).await,
        };
        step.finish_and_clear();
        let started = started?;
        Ok(Self {
            addr: started.addr.clone(),
            database_url: Some(started.database_url.clone()),
            key: Key::none(),
            started: Some(started),
            data: Some(data),
            qdrant,
        })
    }

    /// Stops a service that this run started and starts it again on its data, with this
    /// configuration.
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
            None => Copied::of(&data.path().join(DATA).join(INDEX_DIR))?,
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

    /// Keeps the server and the workers from running, but not Postgres and Qdrant. Has no effect
    /// on a service that this run did not start.
    pub fn suspend(&self) -> Result<Suspended, Failure> {
        let mut suspended = Suspended(Vec::new());
        for pid in self.processes().own() {
            signal(Signal::Stop, pid)?;
            suspended.0.push(pid);
        }
        Ok(suspended)
    }

    /// Stops a service that this run started, and removes its collections from a Qdrant
    /// server; leaves any other alone.
    pub async fn stop(mut self) -> Result<(), Failure> {
        if let Some(started) = self.started.take() {
            started.stop().await?;
        }
        if let Some(config) = &self.qdrant {
            let model = EmbeddingModel {
                name: format!("{}-int8", embedding().model),
                dimensions: 384,
            };
            // With the model and without one.
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

    /// From the start of its first process until all were ready; `None` if this run did not
    /// start it.
    pub fn start_time(&self) -> Option<Duration> {
        Some(self.started.as_ref()?.took)
    }

    /// Its processes on this machine; none if this run did not start it.
    pub fn processes(&self) -> Processes {
        let started = self.started.as_ref();
        started.map_or_else(Processes::default, |started| started.processes.clone())
    }

    /// Reads what it uses for calls.
    pub fn meter(&self) -> Meter {
        let server = self.started.as_ref().and_then(|started| {
            Some(Server {
                metrics: started.metrics.first()?.clone(),
                log: started.log.clone(),
            })
        });
        Meter::new(self.processes(), server)
    }

    /// The directory of its data; `None` if this run did not start it.
    pub fn data_dir(&self) -> Option<PathBuf> {
        Some(self.data.as_ref()?.path().join(DATA))
    }

    /// The directory of its objects; `None` if this run did not start it.
    pub fn objects_dir(&self) -> Option<PathBuf> {
        Some(self.data_dir()?.join(OBJECTS_DIR))
    }

    /// Waits until the index is neither written nor optimized, for long enough that it would have
    /// begun to merge its segments. Whether a Qdrant is busy, its processor time tells.
    pub async fn rested(&self) -> Result<(), Failure> {
        let step = progress::step("waiting for the index to be optimized");
        let processes = self.processes();
        let begin = Instant::now();
        let mut rests_since = begin;
        let mut used = processes.qdrant_ms();
        while rests_since.elapsed() < RESTED {
            if begin.elapsed() > OPTIMIZED {
                return Err("the index is still being optimized".into());
            }
            tokio::time::sleep(RESTED_POLL).await;
            let before = std::mem::replace(&mut used, processes.qdrant_ms());
            let spent = used.zip(before).map_or(0.0, |(used, before)| used - before);
            if spent > RESTED_QDRANT_MS || self.counter("recollect_index_busy").await? > 0 {
                rests_since = Instant::now();
            }
        }
        step.finish_and_clear();
        Ok(())
    }

    /// The value of a counter or gauge in the metrics of its processes together; 0 if it is
    /// missing.
    pub async fn counter(&self, series: &str) -> Result<u64, Failure> {
        let started = self.started.as_ref();
        let mut sum = 0;
        for addr in &started.ok_or("the metrics are not known")?.metrics {
            let metrics = Metrics::read(addr).await?;
            sum += metrics.value(series).unwrap_or_default();
        }
        Ok(sum)
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
    Ok(fs::write(dir.join(CONFIG), config)?)
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
