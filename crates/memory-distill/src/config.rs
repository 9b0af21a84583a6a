//! The crate's configuration, with units and defaults.

use std::time::Duration;

use memory_outbound::masked;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};

/// The section `distill` of the configuration.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DistillConfig {
    /// The model that summarizes and extracts. Default: none; the extractive distiller does
    /// the work.
    pub generation: ModelConfig,
    /// The model that observes and reflects, usually a cheaper one. Default: the same as
    /// `generation`.
    pub observer: ObserverConfig,
    /// A prompt for summaries that replaces the built-in one. It must contain the
    /// placeholders `{prev_summary}` and `{messages_joined}`. Default: unset.
    pub summary_prompt: Option<String>,
    /// Limits, retries and circuit breaker of model calls.
    pub calls: CallsConfig,
    /// Tokens, of prompts and answers together, that models may use for one tenant on one
    /// day (UTC); then the extractive distiller takes over. The
    /// [`TokenLedger`](crate::TokenLedger) enforces it. Default: 0, which means unlimited.
    pub daily_token_budget: u64,
}

/// The provider of a model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Provider {
    /// No model: the extractive distiller does the work.
    #[default]
    None,
    /// OpenAI. Requires a key.
    Openai,
    /// A server with OpenAI's chat completions API: Ollama, vLLM, a gateway. Requires an
    /// endpoint, and a key if the server does.
    OpenaiCompatible,
    /// Anthropic. Requires a key.
    Anthropic,
    /// Amazon Bedrock's Converse API. Requires an endpoint, which selects the region, and a
    /// Bedrock API key.
    Bedrock,
}

impl Provider {
    /// The name in the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Openai => "openai",
            Self::OpenaiCompatible => "openai_compatible",
            Self::Anthropic => "anthropic",
            Self::Bedrock => "bedrock",
        }
    }
}

/// A language model and how it is called.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ModelConfig {
    /// The provider. Default: `none`.
    pub provider: Provider,
    /// The model's name, as the provider writes it. Required with a provider. Default: empty.
    pub model: String,
    /// The base URL of the provider's API, such as `http://localhost:11434/v1` for Ollama,
    /// `http://vllm:8000/v1`, or `https://bedrock-runtime.eu-central-1.amazonaws.com`.
    /// Default: the provider's public endpoint, if it has a single one.
    pub endpoint: Option<String>,
    /// The API key. Default: unset.
    #[serde(serialize_with = "masked")]
    pub api_key: Option<SecretString>,
    /// The name of a secret that a tenant stores with SecretService: its own API key, which is
    /// used instead of `api_key` for this tenant. Without both, the tenant gets what the
    /// extractive distiller makes. Default: unset, every tenant uses `api_key`.
    pub tenant_key_secret: Option<String>,
    /// The deadline of one request. Default: 60s.
    #[serde(with = "memory_contract::duration_text")]
    pub timeout: Duration,
    /// Most tokens of one answer. Default: 4096.
    pub max_output_tokens: i32,
    /// The model's context window in tokens, prompt and answer together. For Ollama, its
    /// `num_ctx`: it silently drops what is beyond. Default: 128000.
    pub context_window: i32,
}

impl Default for ModelConfig {
    fn default() -> Self {
        Self {
            provider: Provider::default(),
            model: String::new(),
            endpoint: None,
            api_key: None,
            tenant_key_secret: None,
            timeout: Duration::from_secs(60),
            max_output_tokens: 4_096,
            context_window: 128_000,
        }
    }
}

/// A model that inherits unset fields from another one, the base.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ObserverConfig {
    /// The provider. Default: unset, which inherits the base's provider, endpoint and key.
    pub provider: Option<Provider>,
    /// The model's name. Default: unset, which inherits it.
    pub model: Option<String>,
    /// As [`ModelConfig::endpoint`]. Not inherited if `provider` is set.
    pub endpoint: Option<String>,
    /// The API key. Not inherited if `provider` or `endpoint` is set: a key is sent only to
    /// the endpoint that it was configured for.
    #[serde(serialize_with = "masked")]
    pub api_key: Option<SecretString>,
    /// As [`ModelConfig::tenant_key_secret`]. Inherited and not inherited as the key is.
    pub tenant_key_secret: Option<String>,
    /// The deadline of one request. Default: unset, which inherits it.
    #[serde(with = "memory_contract::duration_text::option")]
    pub timeout: Option<Duration>,
    /// Most tokens of one answer. Default: 0, which inherits it.
    pub max_output_tokens: i32,
    /// The model's context window in tokens. Default: 0, which inherits it.
    pub context_window: i32,
}

impl ObserverConfig {
    /// The complete configuration of a separate model; `None` if nothing is set, so that
    /// `base` itself is used.
    pub fn inherit(&self, base: &ModelConfig) -> Option<ModelConfig> {
        let Self {
            provider,
            model,
            endpoint,
            api_key,
            tenant_key_secret,
            timeout,
            max_output_tokens,
            context_window,
        } = self.clone();
        let is_set = provider.is_some()
            || model.is_some()
            || endpoint.is_some()
            || api_key.is_some()
            || tenant_key_secret.is_some()
            || timeout.is_some()
            || max_output_tokens != 0
            || context_window != 0;
        if !is_set {
            return None;
        }
        // A key is sent only to the endpoint that it was configured for.
        let same_endpoint = provider.is_none() && endpoint.is_none();
        let base_endpoint = base.endpoint.clone().filter(|_| provider.is_none());
        let base_key = base.api_key.clone().filter(|_| same_endpoint);
        let base_secret = base.tenant_key_secret.clone().filter(|_| same_endpoint);
        let or = |own: i32, base: i32| if own == 0 { base } else { own };
        if provider == Some(Provider::None) {
            return Some(ModelConfig {
                model: model.unwrap_or_default(),
                ..ModelConfig::default()
            });
        }
        Some(ModelConfig {
            provider: provider.unwrap_or(base.provider),
            model: model.unwrap_or_else(|| base.model.clone()),
            endpoint: endpoint.or(base_endpoint),
            api_key: api_key.or(base_key),
            tenant_key_secret: tenant_key_secret.or(base_secret),
            timeout: timeout.unwrap_or(base.timeout),
            max_output_tokens: or(max_output_tokens, base.max_output_tokens),
            context_window: or(context_window, base.context_window),
        })
    }
}

/// Limits, retries and circuit breaker of the calls of one model.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CallsConfig {
    /// Concurrent calls of one model; further ones wait. Default: 4.
    pub max_concurrent: usize,
    /// Attempts at one answer, including the first. Default: 4.
    pub max_attempts: usize,
    /// The deadline of one answer, including waiting and all attempts. Default: 3m.
    #[serde(with = "memory_contract::duration_text")]
    pub total_timeout: Duration,
    /// The pause after the first failure. It doubles with each further one, and a random part
    /// of up to its own length is added. Default: 500ms.
    #[serde(with = "memory_contract::duration_text")]
    pub first_pause: Duration,
    /// The longest pause between attempts, unless the provider asks for a longer one.
    /// Default: 20s.
    #[serde(with = "memory_contract::duration_text")]
    pub longest_pause: Duration,
    /// Consecutive failures that open the circuit breaker. Default: 5.
    pub breaker_failures: u32,
    /// Time that the circuit breaker stays open before one trial call. Default: 30s.
    #[serde(with = "memory_contract::duration_text")]
    pub breaker_pause: Duration,
}

impl Default for CallsConfig {
    fn default() -> Self {
        Self {
            max_concurrent: 4,
            max_attempts: 4,
            total_timeout: Duration::from_secs(180),
            first_pause: Duration::from_millis(500),
            longest_pause: Duration::from_secs(20),
            breaker_failures: 5,
            breaker_pause: Duration::from_secs(30),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base() -> ModelConfig {
        ModelConfig {
            provider: Provider::Openai,
            model: "large".to_owned(),
            api_key: Some("key".to_owned().into()),
            ..ModelConfig::default()
        }
    }

    #[test]
    fn nothing_set_is_the_base_model_itself() {
        assert!(ObserverConfig::default().inherit(&base()).is_none());
    }

    #[test]
    fn a_name_alone_is_another_model_of_the_same_provider() {
        let observer = ObserverConfig {
            model: Some("small".to_owned()),
            ..ObserverConfig::default()
        };
        let model = observer.inherit(&base()).unwrap();
        assert_eq!(model.provider, Provider::Openai);
        assert_eq!(model.model, "small");
        assert!(model.api_key.is_some());
        assert_eq!(model.context_window, 128_000);
    }

    #[test]
    fn a_key_is_never_sent_to_another_address() {
        let own_provider = ObserverConfig {
            provider: Some(Provider::OpenaiCompatible),
            ..ObserverConfig::default()
        };
        let own_endpoint = ObserverConfig {
            endpoint: Some("http://localhost:1/v1".to_owned()),
            ..ObserverConfig::default()
        };
        for observer in [own_provider, own_endpoint] {
            assert!(observer.inherit(&base()).unwrap().api_key.is_none());
        }
    }
}
