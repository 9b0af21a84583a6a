//! Configuration of the databases.

use std::{sync::Arc, time::Duration};

use memory_contract::policy::MemoryPolicy;
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
    /// Whether the address is that of a pooler which lends connections for single transactions:
    /// PgBouncer 1.21 or later in transaction mode with `max_prepared_statements`, or one like it.
    /// Each transaction then sets its role and its settings. Default false: each connection does,
    /// when it is opened.
    pub pooler: bool,
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
    /// Whether a connection that was idle for over 15 seconds is tested before
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
            pooler: false,
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

/// A database of the store. Both are the same one unless `chat_url` is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Database {
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
    pub fn cause(
        self,
        error: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Box<dyn std::error::Error + Send + Sync> {
        match self {
            Self::Main => error.into(),
            Self::Chat => Box::new(OfChat(error.into())),
        }
    }

    /// The key of its URL.
    pub fn key(self) -> &'static str {
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

    /// The database of the conversations: `chat_url` if it is set, otherwise `url`.
    pub fn chat(&self) -> Database {
        match self.has_chat_database() {
            true => Database::Chat,
            false => Database::Main,
        }
    }

    /// The URL of a database.
    pub fn url_of(&self, database: Database) -> &SecretString {
        match database {
            Database::Main => &self.url,
            Database::Chat => &self.chat_url,
        }
    }
}

/// Serializes a secret, such as a URL with a password, as whether there is one.
///
/// # Errors
/// Those of the serializer.
pub fn masked<S: Serializer>(secret: &SecretString, serializer: S) -> Result<S::Ok, S::Error> {
    let shown = if secret.expose_secret().is_empty() {
        ""
    } else {
        "********"
    };
    serializer.serialize_str(shown)
}
