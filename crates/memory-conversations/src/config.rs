//! Configuration of the cache of recent windows.

use std::time::Duration;

use serde::{Deserialize, Serialize};

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
