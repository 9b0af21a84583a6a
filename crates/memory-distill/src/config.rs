//! What can be set, with units and defaults. The binary composes it.

use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize, Serializer};

/// Everything that distilling needs to know about models.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DistillConfig {
    /// The model that summarizes and extracts. Default: none, which means the
    /// extractive distiller.
    pub generation: ModelConfig,
    /// The model that observes and reflects, as a rule a cheaper one. Default:
    /// all of it as `generation`.
    pub observer: ObserverConfig,
    /// A prompt for summaries of the operator's own. It has the placeholders
    /// `{prev_summary}` and `{messages_joined}`. Default: unset, which means
    /// the built-in one.
    pub summary_prompt: Option<String>,
    /// How calls of models are made to end well.
    pub calls: CallsConfig,
    /// Tokens, of prompts and answers together, that models may use for one tenant
    /// on one day (UTC); then the extractive distiller does the work. It is for
    /// the [`Ledger`](crate::Ledger) to keep. Default: 0, which means no bound.
    pub daily_token_budget: u64,
}

/// Who answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Provider {
    /// Nobody: the extractive distiller does the work.
    #[default]
    None,
    /// OpenAI. Needs a key.
    Openai,
    /// Whoever speaks OpenAI's chat completions: Ollama, vLLM, a gateway. Needs
    /// an endpoint; a key only where that asks for one.
    OpenaiCompatible,
    /// Anthropic. Needs a key.
    Anthropic,
    /// Amazon Bedrock's Converse. Needs an endpoint, because that names the
    /// region, and a Bedrock API key.
    Bedrock,
}

impl Provider {
    /// The name, as the configuration writes it.
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

/// One model.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ModelConfig {
    /// Who answers. Default: `none`.
    pub provider: Provider,
    /// The model's name, as its provider writes it. Default: empty, which is
    /// refused where there is a provider.
    pub model: String,
    /// The address under which the provider's paths begin, such as
    /// `http://localhost:11434/v1` for Ollama, `http://vllm:8000/v1`, or
    /// `https://bedrock-runtime.eu-central-1.amazonaws.com`. Default: unset,
    /// which means the provider's own where it has just one.
    pub endpoint: Option<String>,
    /// The provider's key. Default: unset.
    #[serde(serialize_with = "masked")]
    pub api_key: Option<SecretString>,
    /// The longest that one answer may take. Default: 60s.
    #[serde(with = "humantime_serde")]
    pub timeout: Duration,
    /// The most tokens of one answer. Default: 4096.
    pub max_output_tokens: i32,
    /// Tokens that the model takes, prompt and answer together. For Ollama,
    /// what it was started with (`num_ctx`): it drops the rest unseen. Default:
    /// 128000.
    pub context_window: i32,
}

impl Default for ModelConfig {
    fn default() -> Self {
        Self {
            provider: Provider::default(),
            model: String::new(),
            endpoint: None,
            api_key: None,
            timeout: Duration::from_secs(60),
            max_output_tokens: 4_096,
            context_window: 128_000,
        }
    }
}

/// A model in the place of another one, field by field.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ObserverConfig {
    /// Who answers. Default: unset, which means as the other one, at the same
    /// endpoint and with the same key where these are unset too.
    pub provider: Option<Provider>,
    /// The model's name. Default: unset, which means as the other one.
    pub model: Option<String>,
    /// As [`ModelConfig::endpoint`]. With a provider of its own it is never that
    /// of the other one.
    pub endpoint: Option<String>,
    /// The provider's key. With a provider of its own it is never that of the
    /// other one, which is nobody else's business.
    #[serde(serialize_with = "masked")]
    pub api_key: Option<SecretString>,
    /// The longest that one answer may take. Default: unset, which means as the
    /// other one.
    #[serde(with = "humantime_serde::option")]
    pub timeout: Option<Duration>,
    /// The most tokens of one answer. Default: 0, which means as the other one.
    pub max_output_tokens: i32,
    /// Tokens that the model takes. Default: 0, which means as the other one.
    pub context_window: i32,
}

impl ObserverConfig {
    /// The model that is meant; `None` where nothing is set, so that it is the
    /// other one itself.
    pub fn beside(&self, other: &ModelConfig) -> Option<ModelConfig> {
        let Self {
            provider,
            model,
            endpoint,
            api_key,
            timeout,
            max_output_tokens,
            context_window,
        } = self.clone();
        let is_set = provider.is_some()
            || model.is_some()
            || endpoint.is_some()
            || api_key.is_some()
            || timeout.is_some()
            || max_output_tokens != 0
            || context_window != 0;
        if !is_set {
            return None;
        }
        let (its_endpoint, its_key) = match provider {
            None => (other.endpoint.clone(), other.api_key.clone()),
            Some(_) => (None, None),
        };
        // A key goes to the address that it was given for.
        let its_key = its_key.filter(|_| endpoint.is_none());
        let or = |own: i32, its: i32| if own == 0 { its } else { own };
        if provider == Some(Provider::None) {
            return Some(ModelConfig {
                model: model.unwrap_or_default(),
                ..ModelConfig::default()
            });
        }
        Some(ModelConfig {
            provider: provider.unwrap_or(other.provider),
            model: model.unwrap_or_else(|| other.model.clone()),
            endpoint: endpoint.or(its_endpoint),
            api_key: api_key.or(its_key),
            timeout: timeout.unwrap_or(other.timeout),
            max_output_tokens: or(max_output_tokens, other.max_output_tokens),
            context_window: or(context_window, other.context_window),
        })
    }
}

/// How calls are made to end well, whatever the provider does.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CallsConfig {
    /// Calls of one model that may be under way at the same time; more wait.
    /// Default: 4.
    pub max_concurrent: usize,
    /// Times that one answer is asked for, the first included. Default: 4.
    pub max_attempts: usize,
    /// The longest that one answer may take, waiting and all attempts included.
    /// Default: 3m.
    #[serde(with = "humantime_serde")]
    pub total_timeout: Duration,
    /// The pause after the first failure; it doubles with each further one, and
    /// up to as much again is added by chance. Default: 500ms.
    #[serde(with = "humantime_serde")]
    pub first_pause: Duration,
    /// The longest pause, unless the provider asks for a longer one. Default: 20s.
    #[serde(with = "humantime_serde")]
    pub longest_pause: Duration,
    /// Failures in a row after which a model is left alone. Default: 5.
    pub breaker_failures: u32,
    /// How long it is left alone before one call tries again. Default: 30s.
    #[serde(with = "humantime_serde")]
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

fn masked<S: Serializer>(secret: &Option<SecretString>, serializer: S) -> Result<S::Ok, S::Error> {
    match secret {
        Some(secret) if !secret.expose_secret().is_empty() => serializer.serialize_some("********"),
        Some(_) | None => serializer.serialize_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn other() -> ModelConfig {
        ModelConfig {
            provider: Provider::Openai,
            model: "large".to_owned(),
            api_key: Some("key".to_owned().into()),
            ..ModelConfig::default()
        }
    }

    #[test]
    fn nothing_set_is_the_other_model_itself() {
        assert!(ObserverConfig::default().beside(&other()).is_none());
    }

    #[test]
    fn a_name_alone_is_another_model_of_the_same_provider() {
        let observer = ObserverConfig {
            model: Some("small".to_owned()),
            ..ObserverConfig::default()
        };
        let model = observer.beside(&other()).unwrap();
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
            assert!(observer.beside(&other()).unwrap().api_key.is_none());
        }
    }
}
