//! The worker's section of the configuration.

use std::time::Duration;

use memory_index::IndexerConfig;
use memory_webhooks::WebhookConfig;
use serde::{Deserialize, Serialize};

/// The background jobs.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WorkerConfig {
    /// How often expired threads are erased. 1s to 24h. Default: 1m.
    #[serde(with = "memory_contract::duration_text")]
    pub expiry_interval: Duration,
    /// How often old request ids and old entries of the audit log are deleted.
    /// 1s to 24h. Default: 1h.
    #[serde(with = "memory_contract::duration_text")]
    pub request_sweep_interval: Duration,
    /// How often long-term memories are forgotten as apps' policies say. 1s to
    /// 24h. Default: 1h.
    #[serde(with = "memory_contract::duration_text")]
    pub forget_interval: Duration,
    /// Applying changes in the outbox to the index.
    pub indexer: IndexerConfig,
    /// Flushing, expiring and erasing memories of nodes.
    pub nodes: NodeWorkConfig,
    /// Summaries, observations and facts.
    pub distill: DistillWorkConfig,
    /// Sending events of subscriptions.
    pub webhooks: WebhookConfig,
}

impl Default for WorkerConfig {
    fn default() -> Self {
        Self {
            expiry_interval: Duration::from_secs(60),
            request_sweep_interval: Duration::from_secs(3_600),
            forget_interval: Duration::from_secs(3_600),
            indexer: IndexerConfig::default(),
            nodes: NodeWorkConfig::default(),
            distill: DistillWorkConfig::default(),
            webhooks: WebhookConfig::default(),
        }
    }
}

/// How threads are distilled in the background.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DistillWorkConfig {
    /// Whether this process makes summaries, observations and facts. Default:
    /// true.
    pub enabled: bool,
    /// Threads distilled concurrently. Without a model, each pauses after a thread while
    /// users call this process. 1 to 64. Default: 2.
    pub lanes: u32,
    /// The pause of an idle worker. 10ms to 1m. Default: 500ms.
    #[serde(with = "memory_contract::duration_text")]
    pub poll_interval: Duration,
    /// How long a claimed thread stays with one worker that says nothing. 1s to
    /// 1h. Default: 1m.
    #[serde(with = "memory_contract::duration_text")]
    pub lease: Duration,
    /// Tries with a model that fails before the extractive distiller does the
    /// work. 1 to 100. Default: 5.
    pub model_attempts: i32,
    /// How long a thread has to be quiet before facts are extracted from its newest
    /// messages, unless many wait. 10ms to 1h. Default: 5s.
    #[serde(with = "memory_contract::duration_text")]
    pub quiet: Duration,
}

impl Default for DistillWorkConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            lanes: 2,
            poll_interval: Duration::from_millis(500),
            lease: Duration::from_secs(60),
            model_attempts: 5,
            quiet: Duration::from_secs(5),
        }
    }
}

/// Background work on memories of nodes.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NodeWorkConfig {
    /// The age at which a waiting turn is flushed. 10ms to 24h.
    /// Default: 30s.
    #[serde(with = "memory_contract::duration_text")]
    pub flush_after: Duration,
    /// How often such turns, and objects to erase, are looked for. 10ms to 1h.
    /// Default: 5s.
    #[serde(with = "memory_contract::duration_text")]
    pub interval: Duration,
}

impl Default for NodeWorkConfig {
    fn default() -> Self {
        Self {
            flush_after: Duration::from_secs(30),
            interval: Duration::from_secs(5),
        }
    }
}
