//! The sections of the configuration that belong to the process as a whole.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

/// Long-term memory.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MemoriesConfig {
    /// Whether there is long-term memory. Switched off, its calls are refused,
    /// nothing is extracted or indexed, and contexts have no memories; what was
    /// stored before stays. Default: true.
    pub enabled: bool,
}

impl Default for MemoriesConfig {
    fn default() -> Self {
        Self { enabled: true }
    }
}

/// Logs, traces and metrics.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TelemetryConfig {
    /// What a log line looks like: `pretty` or `json`. Default: `pretty`.
    pub log_format: LogFormat,
    /// Which lines are logged: a level, or directives such as
    /// `info,memory_conversations=debug`. Libraries stay at `info` at the most, because
    /// below it they log texts. Default: `info`.
    pub log_level: String,
    /// The OTLP gRPC endpoint of a trace collector, such as
    /// `http://127.0.0.1:4317`. Default: unset; nothing is traced.
    pub otlp_endpoint: Option<String>,
    /// The address of `/metrics`, `/livez` and `/readyz`; port 0 takes a free
    /// one, and the word `off` opens none. Default: `127.0.0.1:9464`.
    #[serde(with = "address_or_off")]
    pub metrics_listen: Option<SocketAddr>,
}

impl Default for TelemetryConfig {
    fn default() -> Self {
        Self {
            log_format: LogFormat::Pretty,
            log_level: "info".to_owned(),
            otlp_endpoint: None,
            metrics_listen: Some(SocketAddr::from(([127, 0, 0, 1], 9464))),
        }
    }
}

/// What a log line looks like.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// For people.
    #[default]
    Pretty,
    /// One JSON object a line.
    Json,
}

/// TOML has no null, so a listener that a file or a flag switches off needs a
/// word.
mod address_or_off {
    use std::net::SocketAddr;

    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    const OFF: &str = "off";

    pub(super) fn serialize<S: Serializer>(
        address: &Option<SocketAddr>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match address {
            Some(address) => serializer.collect_str(address),
            None => serializer.serialize_str(OFF),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<SocketAddr>, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text == OFF {
            return Ok(None);
        }
        text.parse().map(Some).map_err(|_| {
            D::Error::custom(format!(
                "invalid value: string {text:?}, expected an address such as \"127.0.0.1:9464\", or \"off\""
            ))
        })
    }
}
