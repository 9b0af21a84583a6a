//! What the test server keeps, and how a fault changes its answers.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use qdrant_client::qdrant::qdrant_server::Qdrant;
use qdrant_client::qdrant::{HealthCheckReply, HealthCheckRequest};
use qdrant_edge::EdgeShard;
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

#[derive(Clone)]
pub(crate) struct State {
    inner: Arc<Mutex<Inner>>,
    pub(crate) directory: Arc<PathBuf>,
}

#[derive(Default)]
pub(crate) struct Inner {
    pub(crate) fault: Fault,
    pub(crate) collections: BTreeMap<String, Arc<EdgeShard>>,
    pub(crate) aliases: BTreeMap<String, String>,
    /// Directories created so far.
    pub(crate) made: u64,
}

/// Number of the next server in this process.
static SERVERS: AtomicU64 = AtomicU64::new(0);

impl State {
    pub(crate) fn new() -> Self {
        let number = SERVERS.fetch_add(1, Ordering::Relaxed);
        let name = format!("recollect-test-qdrant-{}-{number}", std::process::id());
        Self {
            inner: Arc::default(),
            directory: Arc::new(std::env::temp_dir().join(name)),
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Applies the fault to a call.
    pub(crate) async fn meet<T>(&self, request: Request<T>) -> Result<T, Status> {
        let fault = self.lock().fault.clone();
        match fault {
            Fault::Unavailable => return Err(Status::unavailable("the test makes it unavailable")),
            Fault::Slow(pause) => tokio::time::sleep(pause).await,
            Fault::None | Fault::FullDisk | Fault::RefuseSpeaker(_) => {}
        }
        Ok(request.into_inner())
    }

    pub(crate) fn shard(&self, name: &str) -> Result<Arc<EdgeShard>, Status> {
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
pub(crate) use refused;
