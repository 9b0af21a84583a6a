//! Models behind a provider's HTTP interface, by way of genai, which knows the
//! providers' formats. Address and key are given with each call, so nothing is
//! read from the process's environment but the proxy that reqwest looks for.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use genai::adapter::AdapterKind;
use genai::chat::{
    ChatMessage, ChatOptions, ChatRequest, ChatResponse, ChatResponseFormat, StopReason,
};
use genai::resolver::{AuthData, Endpoint};
use genai::{Headers, ModelIden, ServiceTarget};
use memory_budget::Tokenizer;
use reqwest::Url;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use tracing::instrument::WithSubscriber;
use tracing::subscriber::NoSubscriber;

use memory_contract::check;
use memory_outbound::{endpoint_url, is_set};

use super::{Answer, Finish, ModelInfo, Prompt, TextModel, Usage, failure};
use crate::{ConfigError, ModelConfig, ModelError, Provider};

/// Most bytes of an answer.
const ANSWER_BYTES: usize = 4 * 1024 * 1024;

/// Opens a model without calling it. `section` is its configuration section, such as
/// `distill.generation`. `None` if no model is configured.
///
/// # Errors
/// [`ConfigError`] names the key of a missing or invalid value.
pub fn open_model(
    section: &str,
    config: &ModelConfig,
) -> Result<Option<Arc<dyn TextModel>>, ConfigError> {
    let wrong = |key: &str, problem: String| ConfigError {
        key: format!("{section}.{key}"),
        problem,
    };
    let key = config.api_key.clone().filter(is_set);
    let (adapter, usual) = match config.provider {
        Provider::None if config.model.trim().is_empty() => return Ok(None),
        Provider::None => {
            return Err(wrong(
                "provider",
                "set the provider of the model, or leave the model unset".to_owned(),
            ));
        }
        Provider::Openai => (AdapterKind::OpenAI, Some("https://api.openai.com/v1/")),
        Provider::OpenaiCompatible => (AdapterKind::OpenAI, None),
        Provider::Anthropic => (
            AdapterKind::Anthropic,
            Some("https://api.anthropic.com/v1/"),
        ),
        Provider::Bedrock => (AdapterKind::BedrockApi, None),
    };
    if config.model.trim().is_empty() {
        return Err(wrong("model", "set the name of the model".to_owned()));
    }
    let tenant_key_secret = match config.tenant_key_secret.clone() {
        Some(name) => Some(
            check::secret_name("tenant_key_secret", name)
                .map_err(|invalid| wrong("tenant_key_secret", invalid.problem))?,
        ),
        None => None,
    };
    let has_key = key.is_some() || tenant_key_secret.is_some();
    if !has_key && config.provider != Provider::OpenaiCompatible {
        return Err(wrong(
            "api_key",
            "this provider requires a key: set it here or by its environment variable".to_owned(),
        ));
    }
    let endpoint = match (config.endpoint.as_deref().or(usual), config.provider) {
        (Some(endpoint), _) => {
            endpoint_url(endpoint).map_err(|problem| wrong("endpoint", problem))?
        }
        (None, Provider::Bedrock) => {
            return Err(wrong(
                "endpoint",
                "set the address of your region, such as \
                 https://bedrock-runtime.eu-central-1.amazonaws.com"
                    .to_owned(),
            ));
        }
        (None, _) => {
            return Err(wrong(
                "endpoint",
                "set the address of the server, such as http://localhost:11434/v1".to_owned(),
            ));
        }
    };
    for (name, value, least) in [
        ("max_output_tokens", config.max_output_tokens, 256),
        ("context_window", config.context_window, 4_096),
    ] {
        if value < least {
            return Err(wrong(name, format!("must be {least} or more")));
        }
    }
    if config.context_window / 2 < config.max_output_tokens {
        return Err(wrong(
            "max_output_tokens",
            "must be at most half of context_window, to leave room for the prompt".to_owned(),
        ));
    }
    if config.timeout.is_zero() {
        return Err(wrong("timeout", "must be longer than 0".to_owned()));
    }
    let client = memory_outbound::client(&endpoint, config.timeout)
        .and_then(|client| genai::Client::builder().with_reqwest(client).build().ok())
        .ok_or_else(|| wrong("endpoint", "the HTTP client cannot be created".to_owned()))?;
    let (tokenizer, _) = Tokenizer::for_model(&config.model);
    Ok(Some(Arc::new(Remote {
        info: ModelInfo {
            name: config.model.clone(),
            context_window: config.context_window,
            max_output_tokens: config.max_output_tokens,
            tokenizer,
            tenant_key_secret,
        },
        client,
        adapter,
        endpoint,
        key,
        timeout: config.timeout,
    })))
}

struct Remote {
    info: ModelInfo,
    client: genai::Client,
    adapter: AdapterKind,
    endpoint: Url,
    key: Option<SecretString>,
    timeout: Duration,
}

impl Remote {
    fn target(&self, key: Option<&SecretString>) -> ServiceTarget {
        let auth = match key.or(self.key.as_ref()) {
            Some(key) => AuthData::from_single(key.expose_secret()),
            // Prevents an empty key from being sent.
            None => AuthData::RequestOverride {
                url: format!("{}chat/completions", self.endpoint),
                headers: Headers::default(),
            },
        };
        ServiceTarget {
            endpoint: Endpoint::from_owned(self.endpoint.as_str()),
            auth,
            model: ModelIden::new(self.adapter, self.info.name.as_str()),
        }
    }
}

#[async_trait]
impl TextModel for Remote {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    async fn generate(
        &self,
        prompt: &Prompt,
        key: Option<&SecretString>,
    ) -> Result<Answer, ModelError> {
        let has_key = key.is_some() || self.key.is_some();
        if self.info.tenant_key_secret.is_some() && !has_key {
            return Err(ModelError::NoKey);
        }
        let request = ChatRequest::new(vec![ChatMessage::user(prompt.user.as_str())])
            .with_system(prompt.system.as_str());
        let most = prompt.max_output_tokens.min(self.info.max_output_tokens);
        let mut options = ChatOptions::default()
            .with_max_tokens(most.max(1).unsigned_abs())
            // OpenAI puts refusals next to the content, which genai does not read.
            .with_capture_raw_body(true);
        if prompt.json {
            options = options.with_response_format(ChatResponseFormat::JsonMode);
        }
        let answer = self
            .client
            .exec_chat(self.target(key), request, Some(&options))
            // genai traces whole answers, which must not be logged.
            .with_subscriber(NoSubscriber::new())
            .await
            .map_err(|error| failure::of_call(error, self.timeout))?;
        answer_of(&answer)
    }
}

fn answer_of(response: &ChatResponse) -> Result<Answer, ModelError> {
    let said = response.content.texts().concat();
    if said.len() > ANSWER_BYTES {
        return Err(ModelError::Unreadable);
    }
    let refusal = response
        .captured_raw_body
        .as_ref()
        .and_then(|body| body.pointer("/choices/0/message/refusal"))
        .and_then(Value::as_str);
    let finish = match &response.stop_reason {
        _ if refusal.is_some_and(|refusal| !refusal.is_empty()) => Finish::Refused,
        Some(StopReason::MaxTokens(_)) => Finish::Length,
        Some(StopReason::ContentFilter(_)) => Finish::Refused,
        // Bedrock's reasons.
        Some(StopReason::Other(reason))
            if matches!(reason.as_str(), "guardrail_intervened" | "content_filtered") =>
        {
            Finish::Refused
        }
        _ => Finish::Complete,
    };
    let tokens = |count: Option<i32>| count.and_then(|count| u64::try_from(count).ok());
    let usage = &response.usage;
    // 0 means that the provider does not report usage.
    let usage = match (tokens(usage.prompt_tokens), tokens(usage.completion_tokens)) {
        (Some(input_tokens), Some(output_tokens)) if input_tokens > 0 => Some(Usage {
            input_tokens,
            output_tokens,
        }),
        _ => None,
    };
    Ok(Answer {
        said,
        usage,
        finish,
    })
}
