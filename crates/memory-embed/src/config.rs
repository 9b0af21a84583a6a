//! Configuration of the embedding model, with units and defaults.

use std::path::{Path, PathBuf};
use std::time::Duration;

use memory_outbound::masked;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};

/// Where the embedding model comes from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EmbedderKind {
    /// Files in `model_dir`.
    #[default]
    Local,
    /// Any model that fastembed knows, fetched from a hub at the first start.
    Hub,
    /// A model behind `endpoint`, a server with OpenAI's embeddings API: OpenAI, Azure, Ollama,
    /// vLLM, Text Embeddings Inference, LiteLLM.
    OpenaiCompatible,
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

/// The embedding model, and its threads or its endpoint.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EmbedderConfig {
    /// Where the model comes from. Default: `local`.
    pub kind: EmbedderKind,
    /// The model's name; for `openai_compatible` as the server writes it. It is part of the
    /// collection's name, so another model never searches this one's vectors. Default:
    /// `multilingual-e5-small`.
    pub model: String,
    /// For `openai_compatible`, which requires it: the base URL of the API, such as
    /// `https://api.openai.com/v1`. Default: unset.
    pub endpoint: Option<String>,
    /// For `openai_compatible`: the API key. Default: unset.
    #[serde(serialize_with = "masked")]
    pub api_key: Option<SecretString>,
    /// For `openai_compatible`: dimensions of the vectors. A model that is known to be able to
    /// shorten its vectors is asked for this many. Default: 0, which means those of a well-known
    /// model, or else what the endpoint answers at the start.
    pub dimensions: usize,
    /// The directory with the local model's files: `model.onnx` or
    /// `model-int8.onnx`, `tokenizer.json`, `tokenizer_config.json`. Default: unset,
    /// which means [`default_model_dir`].
    pub model_dir: Option<PathBuf>,
    /// Which of the local model's files is used. Default: `int8`.
    pub precision: ModelPrecision,
    /// ONNX Runtime's shared library. Default: unset, which means
    /// [`default_runtime_library`].
    pub runtime_library: Option<PathBuf>,
    /// Where models of a hub are kept. Default: unset, which means
    /// `hub` in the directory of [`default_model_dir`]'s cache.
    pub hub_cache_dir: Option<PathBuf>,
    /// The text before each query. Default: unset, which means what the model was trained with,
    /// if its name is known; otherwise nothing.
    pub query_prefix: Option<String>,
    /// The text before each document. Default: unset, as for `query_prefix`.
    pub document_prefix: Option<String>,
    /// Tokens of a text that the model reads; the rest is not embedded. They are estimated for
    /// `openai_compatible`. Default: 0, which means 256 for `local` and `hub`; for
    /// `openai_compatible` the length of a well-known model, or else 512.
    pub max_length: usize,
    /// Threads of ONNX Runtime for one query. Default: 1.
    pub query_threads: usize,
    /// Threads of ONNX Runtime for a batch of documents. Default: 1.
    pub document_threads: usize,
    /// Batches of documents that are embedded at the same time, each with a copy of a local
    /// model. Default: 2.
    pub document_sessions: usize,
    /// Documents in one inference or request. Default: 0, which means 1 for `local` and `hub`,
    /// which is fastest with the default model and delays queries least; 32 for
    /// `openai_compatible`.
    pub batch_size: usize,
    /// Queries that may wait; further ones fail at once. Default: 256.
    pub query_queue: usize,
    /// Timeout of embedding a query, including its wait. Default: 2s.
    #[serde(with = "memory_contract::duration_text")]
    pub query_timeout: Duration,
    /// Requests to `endpoint`.
    pub calls: EmbeddingCalls,
}

/// Limits, retries and circuit breakers of the requests to an endpoint. Queries and documents have
/// a breaker each.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EmbeddingCalls {
    /// Queries that are sent at the same time; further ones wait. Default: 16.
    pub max_queries: usize,
    /// The deadline of one request. A query also ends at `query_timeout`. Default: 30s.
    #[serde(with = "memory_contract::duration_text")]
    pub timeout: Duration,
    /// The deadline of a batch of documents, with all its attempts. Default: 2m.
    #[serde(with = "memory_contract::duration_text")]
    pub total_timeout: Duration,
    /// Attempts at one request, including the first. Default: 4.
    pub max_attempts: usize,
    /// The pause after the first failure. It doubles with each further one, and a random part
    /// of up to its own length is added. Default: 200ms.
    #[serde(with = "memory_contract::duration_text")]
    pub first_pause: Duration,
    /// The longest pause between attempts, unless the provider asks for a longer one.
    /// Default: 10s.
    #[serde(with = "memory_contract::duration_text")]
    pub longest_pause: Duration,
    /// Consecutive failures that open a circuit breaker. Default: 5.
    pub breaker_failures: u32,
    /// Time that a circuit breaker stays open before one trial request. Default: 10s.
    #[serde(with = "memory_contract::duration_text")]
    pub breaker_pause: Duration,
}

impl Default for EmbeddingCalls {
    fn default() -> Self {
        Self {
            max_queries: 16,
            timeout: Duration::from_secs(30),
            total_timeout: Duration::from_secs(120),
            max_attempts: 4,
            first_pause: Duration::from_millis(200),
            longest_pause: Duration::from_secs(10),
            breaker_failures: 5,
            breaker_pause: Duration::from_secs(10),
        }
    }
}

impl EmbedderConfig {
    /// Documents in one inference or request.
    pub(crate) fn documents_at_once(&self) -> usize {
        match (self.batch_size, self.kind) {
            (0, EmbedderKind::OpenaiCompatible) => 32,
            (0, _) => 1,
            (set, _) => set,
        }
    }
}

impl Default for EmbedderConfig {
    fn default() -> Self {
        Self {
            kind: EmbedderKind::default(),
            model: "multilingual-e5-small".to_owned(),
            endpoint: None,
            api_key: None,
            dimensions: 0,
            model_dir: None,
            precision: ModelPrecision::default(),
            runtime_library: None,
            hub_cache_dir: None,
            query_prefix: None,
            document_prefix: None,
            max_length: 0,
            query_threads: 1,
            document_threads: 1,
            document_sessions: 2,
            batch_size: 0,
            query_queue: 256,
            query_timeout: Duration::from_secs(2),
            calls: EmbeddingCalls::default(),
        }
    }
}

/// Version of ONNX Runtime that `scripts/setup` installs.
const RUNTIME_VERSION: &str = "1.31.1";

/// The directory of a model's files: `models/NAME` beside this program if it was installed with
/// the model, or else in Recollect's cache directory, where `scripts/setup` puts it. The cache
/// directory is `RECOLLECT_CACHE_DIR`, which takes precedence over what was installed, or else
/// `recollect` in `XDG_CACHE_HOME` or in `~/.cache`, on every system. `None` without a home
/// directory.
pub fn default_model_dir(model: &str) -> Option<PathBuf> {
    installed_or_cached(&Path::new("models").join(model))
}

/// The path of ONNX Runtime, beside this program or in the cache directory, as for
/// [`default_model_dir`]. `None` without a home directory.
pub fn default_runtime_library() -> Option<PathBuf> {
    let file = format!(
        "{}onnxruntime{}",
        std::env::consts::DLL_PREFIX,
        std::env::consts::DLL_SUFFIX
    );
    installed_or_cached(&Path::new(&format!("onnxruntime-{RUNTIME_VERSION}")).join(file))
}

pub(crate) fn default_hub_dir() -> Option<PathBuf> {
    Some(cache_dir()?.join("hub"))
}

fn installed_or_cached(path: &Path) -> Option<PathBuf> {
    let installed = || Some(memory_runtime::package_dir()?.join(path)).filter(|path| path.exists());
    match path_in("RECOLLECT_CACHE_DIR") {
        Some(directory) => Some(directory.join(path)),
        None => installed().or_else(|| Some(cache_dir()?.join(path))),
    }
}

fn cache_dir() -> Option<PathBuf> {
    if let Some(directory) = path_in("RECOLLECT_CACHE_DIR") {
        return Some(directory);
    }
    let base =
        path_in("XDG_CACHE_HOME").or_else(|| Some(etcetera::home_dir().ok()?.join(".cache")));
    Some(base?.join("recollect"))
}

/// The path in an environment variable; an empty one counts as unset, as in a shell's
/// `:-`.
fn path_in(variable: &str) -> Option<PathBuf> {
    #[expect(clippy::disallowed_methods, reason = "where the system keeps things")]
    let value = std::env::var_os(variable)?;
    (!value.is_empty()).then(|| PathBuf::from(value))
}
