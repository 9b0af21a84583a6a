//! Configuration of ephemeral threads.

use std::time::Duration;

use serde::{Deserialize, Serialize};

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
    /// How long a server that was not heard of counts as running. Default 2m.
    #[serde(with = "memory_contract::duration_text")]
    pub server_grace: Duration,
}

impl EphemeralConfig {
    /// The limit of bytes as a query parameter.
    pub fn byte_limit(&self) -> i64 {
        i64::try_from(self.max_bytes).unwrap_or(i64::MAX)
    }
}

impl Default for EphemeralConfig {
    fn default() -> Self {
        Self {
            max_bytes: 64 * 1024 * 1024,
            max_threads: 10_000,
            idle_ttl: Duration::from_secs(3_600),
            server_grace: Duration::from_secs(120),
        }
    }
}
