//! What can be set, with units and defaults. The binary composes it.

use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize, Serializer};

/// Everything that distilling needs to know about models.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DistillConfig {
    /// The model that summarises and extracts. Default: none, which means the
    /// extractive distiller.
    pub generation: ModelConfig,
    /// The model that observes and reflects, as a rule a cheaper one. Default:
    /// unset, which means `generation`.
    pub observer: Option<ModelConfig>,
    /// A prompt for summaries of the operator's own. It has the placeholders
    /// `{prev_summary}` and `{messages_joined}`. Default: unset, which means
    /// the built-in one.
    pub summary_prompt: Option<String>,
    /// How calls of models are made to end well.
    pub calls: CallsConfig,
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
