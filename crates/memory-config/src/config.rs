//! The sections of the configuration.

use memory_distill::DistillConfig;
use memory_embed::EmbedderConfig;
use memory_index::IndexConfig;
use memory_objects::ObjectsConfig;
use memory_recall::SearchConfig;
use memory_server::{AuthConfig, ServerConfig};
use memory_store::{CacheConfig, EphemeralConfig, SecretsConfig, StoreConfig};
use memory_worker::WorkerConfig;
use serde::{Deserialize, Serialize};

use crate::policy::PolicyConfig;
use crate::sections::{MemoriesConfig, TelemetryConfig};

/// The configuration of a process, composed of the crates' own sections. `default.toml`
/// documents each key with its default; a test compares both.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The gRPC listener and its limits.
    pub server: ServerConfig,
    /// Authentication of calls.
    pub auth: AuthConfig,
    /// The keys of encrypted secrets.
    pub secrets: SecretsConfig,
    /// Postgres.
    pub database: StoreConfig,
    /// Recent windows kept in memory.
    pub cache: CacheConfig,
    /// Threads that live in memory alone.
    pub ephemeral: EphemeralConfig,
    /// Object storage.
    pub objects: ObjectsConfig,
    /// Long-term memory.
    pub memories: MemoriesConfig,
    /// Defaults of the policies of all apps.
    pub policy: PolicyConfig,
    /// Models that summarize, observe and extract.
    pub distill: DistillConfig,
    /// The vector index.
    pub index: IndexConfig,
    /// The embedding model.
    pub embedding: EmbedderConfig,
    /// The embedding model to change to; `None` where none is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub embedding_next: Option<EmbedderConfig>,
    /// How a query is answered.
    pub recall: SearchConfig,
    /// The background jobs.
    pub worker: WorkerConfig,
    /// Logs, traces and metrics.
    pub telemetry: TelemetryConfig,
}
