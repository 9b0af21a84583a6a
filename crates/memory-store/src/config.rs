//! Configuration of the store: Postgres and the caches.

use std::{sync::Arc, time::Duration};

use memory_contract::MemoryPolicy;
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize, Serializer};

/// Settings of the store.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StoreConfig {
    /// The address of Postgres, as a URL or as `key=value` pairs. `sslmode`: `disable`;
    /// `prefer`, the default, encrypts where the server can and checks no certificate;
    /// `verify-ca` checks its authority; `require` and `verify-full` check its authority
    /// and host name. `sslrootcert` of a URL names a file of authorities; without it, the
    /// machine's count. Its user must be a member of the roles `recollect_service` and
    /// `recollect_worker`. Empty by default: `recollect dev` provides one.
    #[serde(serialize_with = "masked")]
    pub url: SecretString,
    /// The address of the conversations' Postgres, if it is another one: it
    /// then has threads, messages and what belongs to them, while `url` has
    /// files, API keys and secrets. Both have the same schema. Empty by
    /// default: `url` has everything.
    #[serde(serialize_with = "masked")]
    pub chat_url: SecretString,
    /// Connections kept open, at most; to each database, where there are two.
    /// Default 20.
    pub pool_size: usize,
    /// Connections beyond `pool_size` under load; they are closed again when
    /// they have been idle for a while. Default 30.
    pub max_overflow: usize,
    /// How long a call waits for a free connection. Default 30s.
    #[serde(with = "memory_contract::duration_text")]
    pub pool_timeout: Duration,
    /// How long connecting may take. Default 20s.
    #[serde(with = "memory_contract::duration_text")]
    pub connect_timeout: Duration,
    /// Whether a connection that was idle for over a second is tested before
    /// it is used. Default true.
    pub pre_ping: bool,
    /// How old a connection may become before it is replaced. Default 30m
    /// (1800 seconds).
    #[serde(with = "memory_contract::duration_text")]
    pub recycle: Duration,
    /// Whether each query is logged with its name and its duration; never
    /// with its parameters. Default false.
    pub echo: bool,
    /// How long one statement may run. Default 30s.
    #[serde(with = "memory_contract::duration_text")]
    pub statement_timeout: Duration,
    /// Connections of the background workers. Default 4.
    pub worker_pool_size: usize,
    /// How long request ids are remembered; callers are promised 24h. Default
    /// 48h.
    #[serde(with = "memory_contract::duration_text")]
    pub request_retention: Duration,
    /// How long entries of the audit log are kept. Default 90 days.
    #[serde(with = "memory_contract::duration_text")]
    pub transaction_retention: Duration,
    /// Whether no other process can connect, because this one started Postgres for itself.
    #[serde(skip)]
    pub private: bool,
    /// What the server sets for the policies of all apps. It has a section of its own.
    #[serde(skip)]
    pub policy: Arc<MemoryPolicy>,
}

impl Default for StoreConfig {
    fn default() -> Self {
        Self {
            url: SecretString::default(),
            chat_url: SecretString::default(),
            pool_size: 20,
            max_overflow: 30,
            pool_timeout: Duration::from_secs(30),
            connect_timeout: Duration::from_secs(20),
            pre_ping: true,
            recycle: Duration::from_secs(1800),
            echo: false,
            statement_timeout: Duration::from_secs(30),
            worker_pool_size: 4,
            request_retention: Duration::from_secs(48 * 3600),
            transaction_retention: Duration::from_secs(90 * 24 * 3600),
            private: false,
            policy: Arc::default(),
        }
    }
}

/// The cache of recent windows. A cached window costs one read of its thread's version.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CacheConfig {
    /// Where windows are cached. Default: `memory`.
    pub kind: CacheKind,
    /// Maximum size of all cached windows, in bytes. Default 64 MiB.
    pub max_bytes: u64,
    /// How long an unused window stays cached. Default 10m.
    #[serde(with = "memory_contract::duration_text")]
    pub idle: Duration,
}

/// Where recent windows are cached.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheKind {
    /// In the process's memory.
    #[default]
    Memory,
    /// None: every window is read from the database.
    None,
}

impl Default for CacheConfig {
    fn default() -> Self {
        Self {
            kind: CacheKind::Memory,
            max_bytes: 64 * 1024 * 1024,
            idle: Duration::from_secs(600),
        }
    }
}

/// Limits of ephemeral threads, and when they end.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EphemeralConfig {
    /// Bytes of the parts and metadata of all messages in a tenant's ephemeral
    /// threads together. Default 64 MiB.
    pub max_bytes: u64,
    /// Ephemeral threads of a tenant. Default 10,000.
    pub max_threads: usize,
    /// How long an ephemeral thread lives after its last use. Default 1h.
    #[serde(with = "memory_contract::duration_text")]
    pub idle_ttl: Duration,
}

impl EphemeralConfig {
    pub(crate) fn byte_limit(&self) -> i64 {
        i64::try_from(self.max_bytes).unwrap_or(i64::MAX)
    }
}

impl Default for EphemeralConfig {
    fn default() -> Self {
        Self {
            max_bytes: 64 * 1024 * 1024,
            max_threads: 10_000,
            idle_ttl: Duration::from_secs(3_600),
        }
    }
}

/// A database of the store. Both are the same one unless `chat_url` is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Database {
    /// The database of files, keys and secrets (`url`).
    Main,
    /// The database of the conversations (`chat_url`).
    Chat,
}

/// Adds to an error that it is one of the conversations' database.
#[derive(Debug, thiserror::Error)]
#[error("the conversations database (chat_url)")]
struct OfChat(#[source] Box<dyn std::error::Error + Send + Sync>);

impl Database {
    /// An error of the database as a cause that names the database.
    pub(crate) fn cause(
        self,
        error: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Box<dyn std::error::Error + Send + Sync> {
        match self {
            Self::Main => error.into(),
            Self::Chat => Box::new(OfChat(error.into())),
        }
    }

    /// The key of its URL.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::Main => "url",
            Self::Chat => "chat_url",
        }
    }
}

impl StoreConfig {
    /// Whether the conversations have a separate database.
    pub fn has_chat_database(&self) -> bool {
        !self.chat_url.expose_secret().is_empty()
    }

    /// The database of the conversations.
    pub(crate) fn chat(&self) -> Database {
        match self.has_chat_database() {
            true => Database::Chat,
            false => Database::Main,
        }
    }

    pub(crate) fn url_of(&self, database: Database) -> &SecretString {
        match database {
            Database::Main => &self.url,
            Database::Chat => &self.chat_url,
        }
    }
}

/// The keys that tenants' secrets are encrypted with, each the base64 of 32
/// bytes.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SecretsConfig {
    /// The key that secrets are encrypted with. Empty by default: then none can
    /// be stored or read.
    #[serde(serialize_with = "masked")]
    pub key: SecretString,
    /// Keys that were used before: what they encrypted can still be read.
    #[serde(serialize_with = "all_masked")]
    pub previous_keys: Vec<SecretString>,
}

/// A URL may hold a password: only whether there is one is shown.
fn masked<S: Serializer>(secret: &SecretString, serializer: S) -> Result<S::Ok, S::Error> {
    let shown = if secret.expose_secret().is_empty() {
        ""
    } else {
        "********"
    };
    serializer.serialize_str(shown)
}

/// Only how many there are is shown.
fn all_masked<S: Serializer>(secrets: &[SecretString], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(secrets.iter().map(|_| "********"))
}
