//! The process that serves, works in the background, or both: how it starts, runs
//! and stops.

mod parts;
mod running;

use std::net::SocketAddr;
use std::path::PathBuf;

use memory_index::IndexError;
use memory_store::StoreError;
use tokio::net::TcpListener;

pub use running::Running;

use crate::config::{Config, ConfigError};
use crate::telemetry::{self, TelemetryError};

/// Which parts a process runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Roles {
    /// The gRPC services.
    pub api: bool,
    /// The background jobs: indexing, expiry.
    pub worker: bool,
}

impl Roles {
    /// Everything in one process.
    pub const ALL: Self = Self {
        api: true,
        worker: true,
    };
    /// The gRPC services alone.
    pub const API: Self = Self {
        api: true,
        worker: false,
    };
    /// The background jobs alone.
    pub const WORKER: Self = Self {
        api: false,
        worker: true,
    };
}

/// Starts a process: checks the configuration, binds the ports, opens the store, the
/// model and the index, and starts the roles. The schema must be there already
/// (`recollect migrate`). An index that does not answer or a missing model degrades
/// recall and does not keep the process from starting.
///
/// # Errors
/// [`ServerError`]; then nothing is left running.
pub async fn start(config: Config, roles: Roles) -> Result<Running, ServerError> {
    config.check()?;
    config.check_roles(roles)?;
    let metrics = telemetry::recorder()?;
    let grpc = match roles.api {
        true => Some(bind("server.listen", config.server.listen).await?),
        false => None,
    };
    let http = match config.telemetry.metrics_listen {
        Some(addr) => Some(bind("telemetry.metrics_listen", addr).await?),
        None => None,
    };
    // From here on everything that was started stops when `running` is dropped.
    let mut running = Running::new(&config, metrics, http);
    let parts = parts::open(&config, roles, running.health()).await?;
    running.start(config, parts, grpc).await?;
    Ok(running)
}

/// A bound port and its address.
type Listener = (TcpListener, SocketAddr);

async fn bind(key: &'static str, addr: SocketAddr) -> Result<Listener, ServerError> {
    let bound = async {
        let listener = TcpListener::bind(addr).await?;
        let addr = listener.local_addr()?;
        Ok((listener, addr))
    };
    bound
        .await
        .map_err(|source| ServerError::Bind { key, addr, source })
}

/// Why a process did not start, or ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// The configuration cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A port could not be bound.
    #[error("{key}: cannot listen on {addr}")]
    Bind {
        /// The key of the address, such as `server.listen`.
        key: &'static str,
        /// The address.
        addr: SocketAddr,
        #[source]
        source: std::io::Error,
    },
    /// Postgres could not be reached, or lacks the schema.
    #[error("the database cannot be used; `recollect doctor` checks it")]
    Store(#[source] StoreError),
    /// The embedded index's directory cannot be used.
    #[error("index.path: the directory {} cannot be used", path.display())]
    IndexDirectory {
        /// The directory.
        path: PathBuf,
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The index cannot be used.
    #[error("the index cannot be used")]
    Index(#[source] IndexError),
    /// Metrics could not be set up.
    #[error(transparent)]
    Telemetry(#[from] TelemetryError),
    /// A part ended that should run until the process stops.
    #[error("{part} ended: {reason}")]
    Ended { part: &'static str, reason: String },
}
