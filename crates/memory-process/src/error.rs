//! Why a process does not start or ends.

use std::net::SocketAddr;
use std::path::PathBuf;

use memory_config::ConfigError;
use memory_index::IndexError;
use memory_store::StoreError;

use crate::telemetry::TelemetryError;

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
        /// The error of the system.
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
        /// The error of the index.
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
    Ended {
        /// The part.
        part: &'static str,
        /// The reason, in words.
        reason: String,
    },
}
