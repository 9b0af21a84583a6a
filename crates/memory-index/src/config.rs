//! Configuration of the index and its worker, with units and defaults.

use std::path::PathBuf;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize, Serializer};

/// Which index is used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BackendChoice {
    /// Qdrant if `url` is set, the embedded engine otherwise.
    #[default]
    Auto,
    /// The embedded engine, whose directory `path` belongs to this process alone.
    Edge,
    /// A Qdrant cluster.
    Qdrant,
}

/// How vectors are kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VectorPrecision {
    /// With 4 bytes for each dimension: in memory by Qdrant, in mapped files by the embedded
    /// engine.
    #[default]
    Full,
    /// With 1 byte for each dimension in memory. The full vectors are on disk, where the best
    /// candidates are compared again.
    Int8,
}

/// The vector index: where it is, and how it is reached.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct IndexConfig {
    /// Which index is used. Default: `auto`.
    pub backend: BackendChoice,
    /// Qdrant's gRPC address, such as `http://qdrant:6334`, or the addresses of several nodes
    /// of a cluster, separated by commas: if one node does not answer, another one is asked.
    /// Default: unset.
    pub url: Option<String>,
    /// Qdrant's API key. Default: unset.
    #[serde(serialize_with = "masked")]
    pub api_key: Option<SecretString>,
    /// The embedded engine's directory. Default: unset; the binary puts it into
    /// the data directory.
    pub path: Option<PathBuf>,
    /// The alias that points to the live collection, and the first part of the
    /// collections' names. Default: `recollect`.
    pub alias: String,
    /// Timeout of connecting to Qdrant. Default: 2s.
    #[serde(with = "memory_contract::duration_text")]
    pub connect_timeout: Duration,
    /// Timeout of a search in Qdrant, after which recall falls back to Postgres.
    /// Default: 1s.
    #[serde(with = "memory_contract::duration_text")]
    pub search_timeout: Duration,
    /// Timeout of a write to Qdrant, and of a wait for room in the queue of the embedded
    /// index's writer. Default: 30s.
    #[serde(with = "memory_contract::duration_text")]
    pub write_timeout: Duration,
    /// How vectors are kept: `full`, or `int8` for more messages than memory has room for. A
    /// Qdrant collection keeps the precision it was created with; the embedded engine converts its index
    /// when it is next optimized. Default: `full`.
    pub vectors: VectorPrecision,
    /// Shards of a new Qdrant collection. Default: 1.
    pub shards: u32,
    /// Replicas of each shard of a new Qdrant collection. Default: 1.
    pub replicas: u32,
    /// Replicas that a write to a new Qdrant collection has to reach, at most `replicas`.
    /// Default: 1.
    pub write_consistency: u32,
}

impl IndexConfig {
    /// The addresses in `url`.
    pub fn addresses(&self) -> impl Iterator<Item = &str> {
        let all = self.url.as_deref().unwrap_or_default().split(',');
        all.map(str::trim).filter(|address| !address.is_empty())
    }

    /// Whether it chooses the embedded engine.
    pub fn uses_edge(&self) -> bool {
        match self.backend {
            BackendChoice::Auto => self.url.is_none(),
            BackendChoice::Edge => true,
            BackendChoice::Qdrant => false,
        }
    }
}

impl Default for IndexConfig {
    fn default() -> Self {
        Self {
            backend: BackendChoice::default(),
            url: None,
            api_key: None,
            path: None,
            alias: "recollect".to_owned(),
            connect_timeout: Duration::from_secs(2),
            search_timeout: Duration::from_secs(1),
            write_timeout: Duration::from_secs(30),
            vectors: VectorPrecision::default(),
            shards: 1,
            replicas: 1,
            write_consistency: 1,
        }
    }
}

/// The job that applies changes in the outbox to the index.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct IndexerConfig {
    /// Changes claimed at a time: a quarter of that while users call, and up to eight times that
    /// for imports and rebuilds while no user calls. Default: 64.
    pub batch_size: usize,
    /// Batches in progress at a time, so that one is embedded while another is written.
    /// With more than one, one of them has no changes of imports and rebuilds. Default: 3.
    pub lanes: usize,
    /// Lease on claimed changes, after which another worker may claim the changes of a dead
    /// worker. Default: 60s.
    #[serde(with = "memory_contract::duration_text")]
    pub lease: Duration,
    /// How long an idle worker collects changes after the first, so that single appends are
    /// indexed together. A query that waits for a change ends it. Default: 50ms.
    #[serde(with = "memory_contract::duration_text")]
    pub linger: Duration,
    /// Interval between two polls of an idle worker. Default: 500ms.
    #[serde(with = "memory_contract::duration_text")]
    pub poll_interval: Duration,
    /// Attempts before a change becomes a dead letter. Default: 8.
    pub max_attempts: u32,
    /// Pause before the second attempt, doubled for each further one, plus up to 25 %
    /// jitter. Default: 500ms.
    #[serde(with = "memory_contract::duration_text")]
    pub retry_base: Duration,
    /// Longest pause between two attempts; while the index or the database does not answer,
    /// at most 5s. Default: 60s.
    #[serde(with = "memory_contract::duration_text")]
    pub retry_max: Duration,
}

impl IndexerConfig {
    /// The longest time that a change waits for its next attempt.
    pub fn longest_wait(&self) -> Duration {
        self.lease.max(self.retry_max + self.retry_max / 4)
    }
}

impl Default for IndexerConfig {
    fn default() -> Self {
        Self {
            batch_size: 64,
            lanes: 3,
            lease: Duration::from_secs(60),
            linger: Duration::from_millis(50),
            poll_interval: Duration::from_millis(500),
            max_attempts: 8,
            retry_base: Duration::from_millis(500),
            retry_max: Duration::from_secs(60),
        }
    }
}

fn masked<S: Serializer>(secret: &Option<SecretString>, serializer: S) -> Result<S::Ok, S::Error> {
    match secret {
        Some(secret) if !secret.expose_secret().is_empty() => serializer.serialize_some("********"),
        Some(_) | None => serializer.serialize_none(),
    }
}
