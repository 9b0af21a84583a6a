//! Configuration of this crate, with units and defaults.

use std::path::PathBuf;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize, Serializer};

/// Where the embedding model comes from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EmbedderKind {
    /// Files in `model_dir`.
    #[default]
    Local,
    /// Any model that fastembed knows, fetched from a hub at the first start.
    Hub,
    /// No model: recall matches by keyword only.
    None,
}

/// Which of the local model's files is used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelPrecision {
    /// `model.onnx`: exact, about a quarter as fast for a query.
    Fp32,
    /// `model-int8.onnx`: quantized.
    #[default]
    Int8,
}

/// The embedding model and its threads.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EmbedderConfig {
    /// Where the model comes from. Default: `local`.
    pub kind: EmbedderKind,
    /// The model's name. It is part of the collection's name, so another model
    /// never searches this one's vectors. Default: `all-minilm-l6-v2`.
    pub model: String,
    /// The directory with the local model's files: `model.onnx` or
    /// `model-int8.onnx`, `tokenizer.json`, `config.json`,
    /// `special_tokens_map.json`, `tokenizer_config.json`. Default: unset, which
    /// means [`default_model_dir`].
    pub model_dir: Option<PathBuf>,
    /// Which of the local model's files is used. Default: `int8`.
    pub precision: ModelPrecision,
    /// ONNX Runtime's shared library. Default: unset, which means
    /// [`default_runtime_library`].
    pub runtime_library: Option<PathBuf>,
    /// Where models of a hub are kept. Default: unset, which means
    /// `hub` in the directory of [`default_model_dir`]'s cache.
    pub hub_cache_dir: Option<PathBuf>,
    /// Tokens of a text that the model reads; the rest is not embedded. Default: 256.
    pub max_length: usize,
    /// Threads of ONNX Runtime for one query. Default: 1.
    pub query_threads: usize,
    /// Threads of ONNX Runtime for a batch of documents. Default: 1.
    pub document_threads: usize,
    /// Batches of documents that are embedded at the same time, each with a copy of the
    /// model of about 60 MB. Default: 2.
    pub document_sessions: usize,
    /// Documents in one inference. Default: 1, which is fastest with the default model and
    /// delays queries least; measure more with a larger one.
    pub batch_size: usize,
    /// Queries that may wait; further ones fail at once. Default: 256.
    pub query_queue: usize,
    /// Timeout of embedding a query, including its wait. Default: 2s.
    #[serde(with = "memory_contract::duration_text")]
    pub query_timeout: Duration,
}

impl Default for EmbedderConfig {
    fn default() -> Self {
        Self {
            kind: EmbedderKind::default(),
            model: "all-minilm-l6-v2".to_owned(),
            model_dir: None,
            precision: ModelPrecision::default(),
            runtime_library: None,
            hub_cache_dir: None,
            max_length: 256,
            query_threads: 1,
            document_threads: 1,
            document_sessions: 2,
            batch_size: 1,
            query_queue: 256,
            query_timeout: Duration::from_secs(2),
        }
    }
}

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
    /// Qdrant's gRPC address, such as `http://qdrant:6334`, or those of several nodes of a
    /// cluster, separated by commas: another one is asked when one does not answer. Default:
    /// unset.
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
    /// Qdrant collection keeps what it was created with; the embedded engine converts its index
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
    /// Changes claimed at a time: a quarter of them while users call, and up to eight times as
    /// many of imports and rebuilds while no user calls. Default: 64.
    pub batch_size: usize,
    /// Batches in progress at a time, so that one is embedded while another is written.
    /// With more than one, one of them has no changes of imports and rebuilds. Default: 3.
    pub lanes: usize,
    /// Lease on claimed changes, after which another worker may claim those of a dead
    /// one. Default: 60s.
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

/// How a query is answered.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SearchConfig {
    /// Candidates of each of the two searches. Default: 200.
    pub candidates: usize,
    /// How the candidates of both searches are ranked. Default: `fitted`.
    pub ranking: RankingMethod,
}

/// How the candidates of both searches are ranked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RankingMethod {
    /// By features whose weights are fitted to long conversations between people, or by the
    /// weighted sum where many of the candidates are long texts, such as outputs of tools.
    #[default]
    Fitted,
    /// By a weighted sum of both scores.
    Sum,
}

impl Default for SearchConfig {
    fn default() -> Self {
        Self {
            candidates: 200,
            ranking: RankingMethod::default(),
        }
    }
}

/// Version of ONNX Runtime that `scripts/setup` installs.
const RUNTIME_VERSION: &str = "1.31.1";

/// The directory in which `scripts/setup` puts a model's files: `models/NAME` in
/// Recollect's cache directory. That is `RECOLLECT_CACHE_DIR`, or else `recollect` in
/// `XDG_CACHE_HOME` or in `~/.cache`, on every system. `None` without a home directory.
pub fn default_model_dir(model: &str) -> Option<PathBuf> {
    Some(cache_dir()?.join("models").join(model))
}

/// The path at which `scripts/setup` puts ONNX Runtime. `None` without a home
/// directory.
pub fn default_runtime_library() -> Option<PathBuf> {
    let file = format!(
        "{}onnxruntime{}",
        std::env::consts::DLL_PREFIX,
        std::env::consts::DLL_SUFFIX
    );
    Some(
        cache_dir()?
            .join(format!("onnxruntime-{RUNTIME_VERSION}"))
            .join(file),
    )
}

pub(crate) fn default_hub_dir() -> Option<PathBuf> {
    Some(cache_dir()?.join("hub"))
}

fn cache_dir() -> Option<PathBuf> {
    if let Some(directory) = set("RECOLLECT_CACHE_DIR") {
        return Some(directory);
    }
    let base = set("XDG_CACHE_HOME").or_else(|| Some(etcetera::home_dir().ok()?.join(".cache")));
    Some(base?.join("recollect"))
}

/// The path in an environment variable; an empty one counts as unset, as in a shell's
/// `:-`.
fn set(variable: &str) -> Option<PathBuf> {
    #[expect(clippy::disallowed_methods, reason = "where the system keeps things")]
    let value = std::env::var_os(variable)?;
    (!value.is_empty()).then(|| PathBuf::from(value))
}

fn masked<S: Serializer>(secret: &Option<SecretString>, serializer: S) -> Result<S::Ok, S::Error> {
    match secret {
        Some(secret) if !secret.expose_secret().is_empty() => serializer.serialize_some("********"),
        Some(_) | None => serializer.serialize_none(),
    }
}
