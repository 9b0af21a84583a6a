//! The service under measurement: one that runs already, or a throw-away one.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
    time::{Duration, Instant},
};

use memory_contract::proto::{
    MemoryPolicy, ResolveThreadRequest, SessionRef, Thread, UpdateThreadRequest,
    admin_service_client::AdminServiceClient, context_service_client::ContextServiceClient,
    memory_service_client::MemoryServiceClient, message_service_client::MessageServiceClient,
    node_memory_service_client::NodeMemoryServiceClient,
    observation_service_client::ObservationServiceClient,
    recall_service_client::RecallServiceClient, thread_service_client::ThreadServiceClient,
};
use prost_types::FieldMask;
use serde::Deserialize;
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpStream,
    process::{Child, Command},
};
use tonic::{
    Request, Status,
    metadata::{Ascii, MetadataValue},
    service::{Interceptor, interceptor::InterceptedService},
    transport::{Channel, Endpoint},
};

use crate::{Failure, Target, progress};

/// The time limit of a start, which creates a database cluster.
const START: Duration = Duration::from_secs(60);
/// The time limit of a stop, after which the service is killed.
const STOP: Duration = Duration::from_secs(30);

/// The index within a data directory.
const INDEX_DIR: &str = "index";
/// The objects within a data directory.
const OBJECTS_DIR: &str = "objects";

/// A channel that carries the API key.
pub type Authorized = InterceptedService<Channel, Key>;

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
    /// Removed when the run ends.
    data: Option<TempDir>,
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
        })
    }

    /// Starts a throw-away service with the embedded default and this
    /// configuration (TOML).
    pub async fn start(target: &Target, config: &str) -> Result<Self, Failure> {
        let data = tempfile::Builder::new().prefix("memory-bench-").tempdir()?;
        fs::write(data.path().join("recollect.toml"), config)?;
        Self::start_in(target, data).await
    }

    async fn start_in(target: &Target, data: TempDir) -> Result<Self, Failure> {
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
            key: Key(None),
            child: Some(child),
            data: Some(data),
        })
    }

    /// Stops a service that this run started and starts it again on its data;
    /// the new start's time is in `start`. In between, its index is copied for
    /// the floor of recall.
    pub async fn restart(mut self, target: &Target) -> Result<(Self, TempDir), Failure> {
        let data = self
            .data
            .take()
            .ok_or("only a started service can be restarted")?;
        self.stop().await?;
        let copy = tempfile::Builder::new().prefix("memory-bench-").tempdir()?;
        copy_dir(&data.path().join("data").join(INDEX_DIR), copy.path())?;
        Ok((Self::start_in(target, data).await?, copy))
    }

    /// Stops a service that this run started; leaves any other alone.
    pub async fn stop(mut self) -> Result<(), Failure> {
        if let Some(mut child) = self.child.take() {
            drop(child.stdin.take());
            if tokio::time::timeout(STOP, child.wait()).await.is_err() {
                child.kill().await?;
            }
        }
        Ok(())
    }

    /// The directory of its objects; `None` if this run did not start it.
    pub fn objects_dir(&self) -> Option<PathBuf> {
        let data = self.data.as_ref()?;
        Some(data.path().join("data").join(OBJECTS_DIR))
    }

    /// The value of a counter in its metrics; 0 if it is missing.
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

    async fn connect_with(&self, key: &Key) -> Result<Clients, Failure> {
        let channel = Endpoint::from_shared(self.addr.clone())?
            .connect_timeout(Duration::from_secs(5))
            .tcp_nodelay(true)
            .connect()
            .await
            .map_err(|error| format!("{} does not answer: {error}", self.addr))?;
        Ok(Clients {
            threads: ThreadServiceClient::with_interceptor(channel.clone(), key.clone()),
            messages: MessageServiceClient::with_interceptor(channel.clone(), key.clone()),
            recall: RecallServiceClient::with_interceptor(channel.clone(), key.clone()),
            contexts: ContextServiceClient::with_interceptor(channel.clone(), key.clone()),
            observations: ObservationServiceClient::with_interceptor(channel.clone(), key.clone()),
            memories: MemoryServiceClient::with_interceptor(channel.clone(), key.clone()),
            nodes: NodeMemoryServiceClient::with_interceptor(channel.clone(), key.clone()),
            admin: AdminServiceClient::with_interceptor(channel, key.clone()),
        })
    }
}

/// One client of each service, over one connection.
#[derive(Clone)]
pub struct Clients {
    pub threads: ThreadServiceClient<Authorized>,
    pub messages: MessageServiceClient<Authorized>,
    pub recall: RecallServiceClient<Authorized>,
    pub contexts: ContextServiceClient<Authorized>,
    /// Observations of threads.
    pub observations: ObservationServiceClient<Authorized>,
    /// Long-term memories.
    pub memories: MemoryServiceClient<Authorized>,
    pub nodes: NodeMemoryServiceClient<Authorized>,
    /// Administration.
    pub admin: AdminServiceClient<Authorized>,
}

impl Clients {
    /// The id of a session's thread, which is created if it does not exist.
    pub async fn thread(&mut self, app: &str, user: &str, key: &str) -> Result<String, Failure> {
        let request = ResolveThreadRequest {
            session: Some(SessionRef {
                app_id: app.to_owned(),
                user_id: user.to_owned(),
                session_key: key.to_owned(),
                agent_session_key: String::new(),
            }),
            ..Default::default()
        };
        let resolved = self.threads.resolve_thread(request).await?.into_inner();
        Ok(resolved.thread.ok_or("no thread")?.thread_id)
    }

    /// The same, with a policy.
    pub async fn thread_with_policy(
        &mut self,
        app: &str,
        user: &str,
        key: &str,
        policy: MemoryPolicy,
    ) -> Result<String, Failure> {
        let thread_id = self.thread(app, user, key).await?;
        let request = UpdateThreadRequest {
            thread: Some(Thread {
                thread_id: thread_id.clone(),
                policy: Some(policy),
                ..Default::default()
            }),
            update_mask: Some(FieldMask {
                paths: vec!["policy".to_owned()],
            }),
        };
        self.threads.update_thread(request).await?;
        Ok(thread_id)
    }
}

/// A new app id, so that runs do not share data.
pub fn new_app() -> String {
    format!("bench-{}", uuid::Uuid::now_v7())
}

/// Puts the API key on each call.
#[derive(Clone)]
pub struct Key(Option<MetadataValue<Ascii>>);

impl Key {
    fn new(key: Option<&str>) -> Result<Self, Failure> {
        Ok(Self(
            key.map(|key| format!("Bearer {key}").parse()).transpose()?,
        ))
    }
}

impl Interceptor for Key {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(key) = &self.0 {
            request.metadata_mut().insert("authorization", key.clone());
        }
        Ok(request)
    }
}

fn copy_dir(from: &Path, to: &Path) -> Result<(), Failure> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_dir(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
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
