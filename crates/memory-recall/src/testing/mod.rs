//! A test server that implements Qdrant's gRPC API over edge shards, so that tests
//! cover the real client and its errors without an installed Qdrant. It implements the
//! calls of [`QdrantIndex`](crate::QdrantIndex) and refuses the rest.
#![expect(
    clippy::disallowed_methods,
    reason = "a test server, which answers with statuses"
)]

mod collections;
mod convert;
mod points;
mod remote;

pub use remote::RemoteCollections;

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use qdrant_client::qdrant::collections_server::CollectionsServer;
use qdrant_client::qdrant::points_server::PointsServer;
use qdrant_client::qdrant::qdrant_server::{Qdrant, QdrantServer};
use qdrant_client::qdrant::{HealthCheckReply, HealthCheckRequest};
use qdrant_edge::{CountRequest, EdgeShard};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status};

/// A fault of the server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Fault {
    /// No fault.
    #[default]
    None,
    /// Every call fails with UNAVAILABLE.
    Unavailable,
    /// Every answer is delayed.
    Slow(Duration),
    /// Writes fail as they do when the disk is full, with INTERNAL.
    FullDisk,
    /// Writes of points of this speaker fail with INVALID_ARGUMENT.
    RefuseSpeaker(String),
}

/// A running test server. It stops when it is dropped.
pub struct TestQdrant {
    address: SocketAddr,
    state: State,
    task: JoinHandle<()>,
}

impl TestQdrant {
    /// Starts a server without collections on a free port of this machine.
    ///
    /// # Errors
    /// Those of the network and of the temporary directory.
    pub async fn start() -> io::Result<Self> {
        Self::start_at("127.0.0.1:0").await
    }

    /// Starts a server at an address, for example that of a stopped one.
    ///
    /// # Errors
    /// As [`TestQdrant::start`].
    pub async fn start_at(address: &str) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let state = State::new();
        let router = Server::builder()
            .add_service(QdrantServer::new(state.clone()))
            .add_service(CollectionsServer::new(state.clone()))
            .add_service(PointsServer::new(state.clone()));
        let task = tokio::spawn(async move {
            if let Err(error) = router
                .serve_with_incoming(TcpIncoming::from(listener))
                .await
            {
                tracing::error!(%error, "the test server has failed");
            }
        });
        Ok(Self {
            address,
            state,
            task,
        })
    }

    /// Its address, such as `http://127.0.0.1:40123`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Sets the fault of all further calls.
    pub fn set_fault(&self, fault: Fault) {
        self.state.lock().fault = fault;
    }

    /// Deletes all collections and aliases, as if the disk were lost.
    pub fn lose_everything(&self) {
        let mut inner = self.state.lock();
        inner.collections.clear();
        inner.aliases.clear();
    }

    /// The names of its collections.
    pub fn collections(&self) -> Vec<String> {
        self.state.lock().collections.keys().cloned().collect()
    }

    /// Whether a collection keeps quantized vectors; `None` without it.
    pub fn is_quantized(&self, collection: &str) -> Option<bool> {
        let shard = self.state.shard(collection).ok()?;
        let vectors = &shard.config().vectors;
        Some(
            vectors
                .values()
                .any(|params| params.quantization_config.is_some()),
        )
    }

    /// The number of points of a collection, its state point included; `None` without it.
    pub fn point_count(&self, collection: &str) -> Option<usize> {
        let shard = self.state.shard(collection).ok()?;
        let all = CountRequest {
            filter: None,
            exact: true,
        };
        shard.count(all).ok()
    }

    /// Its aliases with their collections.
    pub fn aliases(&self) -> Vec<(String, String)> {
        self.state.lock().aliases.clone().into_iter().collect()
    }
}

impl Drop for TestQdrant {
    fn drop(&mut self) {
        self.task.abort();
        self.lose_everything();
        // What cannot be removed stays in the temporary directory.
        let _ = std::fs::remove_dir_all(self.state.directory.as_path());
    }
}

#[derive(Clone)]
struct State {
    inner: Arc<Mutex<Inner>>,
    directory: Arc<PathBuf>,
}

#[derive(Default)]
struct Inner {
    fault: Fault,
    collections: BTreeMap<String, Arc<EdgeShard>>,
    aliases: BTreeMap<String, String>,
    /// Directories created so far.
    made: u64,
}

/// Number of the next server in this process.
static SERVERS: AtomicU64 = AtomicU64::new(0);

impl State {
    fn new() -> Self {
        let number = SERVERS.fetch_add(1, Ordering::Relaxed);
        let name = format!("recollect-test-qdrant-{}-{number}", std::process::id());
        Self {
            inner: Arc::default(),
            directory: Arc::new(std::env::temp_dir().join(name)),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Applies the fault to a call.
    async fn meet<T>(&self, request: Request<T>) -> Result<T, Status> {
        let fault = self.lock().fault.clone();
        match fault {
            Fault::Unavailable => return Err(Status::unavailable("the test makes it unavailable")),
            Fault::Slow(pause) => tokio::time::sleep(pause).await,
            Fault::None | Fault::FullDisk | Fault::RefuseSpeaker(_) => {}
        }
        Ok(request.into_inner())
    }

    fn shard(&self, name: &str) -> Result<Arc<EdgeShard>, Status> {
        let inner = self.lock();
        let name = inner.aliases.get(name).map_or(name, String::as_str);
        let found = inner.collections.get(name).cloned();
        found.ok_or_else(|| Status::not_found(format!("Collection `{name}` doesn't exist!")))
    }
}

#[tonic::async_trait]
impl Qdrant for State {
    async fn health_check(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<HealthCheckReply>, Status> {
        self.meet(request).await?;
        Ok(Response::new(HealthCheckReply {
            title: "a test server over qdrant-edge".to_owned(),
            version: "1.20.0".to_owned(),
            commit: None,
        }))
    }
}

/// Refuses calls that the index never makes. Expands to the form that `async_trait`
/// generates, because `async_trait` does not process macro calls.
macro_rules! refused {
    ($($method:ident($request:ident) -> $response:ident)*) => {$(
        fn $method<'a, 'b>(
            &'a self,
            _request: tonic::Request<qdrant_client::qdrant::$request>,
        ) -> std::pin::Pin<Box<
            dyn Future<Output = Result<tonic::Response<qdrant_client::qdrant::$response>, tonic::Status>>
                + Send
                + 'b,
        >>
        where
            'a: 'b,
            Self: 'b,
        {
            Box::pin(async { Err(tonic::Status::unimplemented(stringify!($method))) })
        }
    )*};
}
use refused;
