//! Configuration of the store's caches, of ephemeral threads, and of secrets.

use std::time::Duration;

use memory_postgres::masked;
use secrecy::SecretString;
use serde::{Deserialize, Serialize, Serializer};

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

/// The keys that tenants' secrets are encrypted with, each the base64 of 32
/// bytes.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SecretsConfig {
    /// The key that secrets are encrypted with. Empty by default: then none can
    /// be stored or read.
    #[serde(serialize_with = "masked")]
    pub key: SecretString,
    /// Former keys: secrets that they encrypted can still be read.
    #[serde(serialize_with = "all_masked")]
    pub previous_keys: Vec<SecretString>,
}

/// Only how many there are is shown.
fn all_masked<S: Serializer>(secrets: &[SecretString], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(secrets.iter().map(|_| "********"))
}
