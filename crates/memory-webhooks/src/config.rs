//! The section of webhooks in the configuration.

use serde::{Deserialize, Serialize};

/// How events are sent to receivers.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WebhookConfig {
    /// Whether receivers may have addresses that are not public, such as 127.0.0.1 and 10.0.0.1.
    /// Any tenant's administrator can then make a worker send requests to these. Default: false.
    pub allow_private: bool,
}
