//! How the store reaches Postgres.

use std::time::Duration;

use secrecy::SecretString;
use serde::{Deserialize, Serialize, Serializer};

/// Settings of the store.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StoreConfig {
    /// Where Postgres is, as a URL or as `key=value` pairs. `sslmode=require`
    /// encrypts the connection and checks the server's certificate against the
    /// machine's trusted roots; any other mode, and none, connects in the
    /// clear. Its user must be a member of the roles `recollect_service` and
    /// `recollect_worker`. Empty by default: then somebody has to provide it.
    #[serde(serialize_with = "masked")]
    pub url: SecretString,
    /// Connections kept open, at most. Default 20.
    pub pool_size: usize,
    /// Connections beyond `pool_size` under load; they are closed again when
    /// they have been idle for a while. Default 30.
    pub max_overflow: usize,
    /// How long a call waits for a free connection. Default 30s.
    #[serde(with = "humantime_serde")]
    pub pool_timeout: Duration,
    /// How long connecting may take. Default 20s.
    #[serde(with = "humantime_serde")]
    pub connect_timeout: Duration,
    /// Whether a connection that was idle for over a second is tested before
    /// it is used. Default true.
    pub pre_ping: bool,
    /// How old a connection may become before it is replaced. Default 30m
    /// (1800 seconds).
    #[serde(with = "humantime_serde")]
    pub recycle: Duration,
    /// Whether each query is logged with its name and its duration; never
    /// with its parameters. Default false.
    pub echo: bool,
    /// How long one statement may run. Default 30s.
    #[serde(with = "humantime_serde")]
    pub statement_timeout: Duration,
    /// Connections of the background workers. Default 4.
    pub worker_pool_size: usize,
    /// How long request ids are remembered; callers are promised 24h. Default
    /// 48h.
    #[serde(with = "humantime_serde")]
    pub request_retention: Duration,
    /// How long it is known who did what. Default 90 days.
    #[serde(with = "humantime_serde")]
    pub transaction_retention: Duration,
}

impl Default for StoreConfig {
    fn default() -> Self {
        Self {
            url: SecretString::default(),
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
    use secrecy::ExposeSecret;
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
