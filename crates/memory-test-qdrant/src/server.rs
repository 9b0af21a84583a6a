//! Starts and stops the test server.

use std::io;
use std::net::SocketAddr;

use qdrant_client::qdrant::collections_server::CollectionsServer;
use qdrant_client::qdrant::points_server::PointsServer;
use qdrant_client::qdrant::qdrant_server::QdrantServer;
use qdrant_edge::CountRequest;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;

use crate::state::{Fault, State};

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
