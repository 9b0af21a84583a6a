//! Language models behind one trait.

mod failure;
mod provider;
mod provider_keys;
mod reliable;
mod token_ledger;

use async_trait::async_trait;
use memory_budget::Tokenizer;
use secrecy::SecretString;

use crate::ModelError;

pub use memory_outbound::BreakerState;
pub use provider::open_model;
pub use provider_keys::{KeysUnavailable, NoKeys, ProviderKeys};
pub use reliable::Reliable;
pub use token_ledger::{
    Account, Reservation, Spent, TokenLedger, TokenLedgerError, UnlimitedTokens,
};

/// A language model. An implementation answers or fails within its own deadline.
#[async_trait]
pub trait TextModel: Send + Sync {
    /// The model's name and limits.
    fn info(&self) -> &ModelInfo;

    /// Answers a prompt with one request, with the tenant's own key of the provider if it has
    /// one. An empty, truncated or refused answer is an `Ok`, because it used tokens;
    /// [`Answer::text`] makes it an error.
    ///
    /// # Errors
    /// Any [`ModelError`] but those of [`Answer::text`].
    async fn generate(
        &self,
        prompt: &Prompt,
        key: Option<&SecretString>,
    ) -> Result<Answer, ModelError>;
}

/// The health of a model in this process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// The state of its circuit breaker.
    pub breaker: BreakerState,
    /// The last error; `None` if no call failed.
    pub last_error: Option<ModelError>,
}

/// A model's name and limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelInfo {
    /// The name, as the provider writes it.
    pub name: String,
    /// The context window in tokens, prompt and answer together.
    pub context_window: i32,
    /// Most tokens of one answer.
    pub max_output_tokens: i32,
    /// The tokenizer; an estimate for models that are not OpenAI's.
    pub tokenizer: Tokenizer,
    /// The name of the secret that a tenant's own key is kept under; `None`: all tenants use
    /// the configured key.
    pub tenant_key_secret: Option<String>,
}

/// A prompt for a model.
#[derive(Clone, PartialEq, Eq)]
pub struct Prompt {
    /// The instructions. They contain no user text.
    pub system: String,
    /// The material, quoted.
    pub user: String,
    /// Most tokens of the answer.
    pub max_output_tokens: i32,
    /// Whether the answer must be one JSON object.
    pub json: bool,
}

impl Prompt {
    /// Tokens of the prompt, without the answer.
    pub fn tokens(&self, tokenizer: Tokenizer) -> i32 {
        let frames = 2 * memory_budget::FRAME_TOKENS;
        let text = tokenizer.count(&self.system);
        text.saturating_add(tokenizer.count(&self.user))
            .saturating_add(frames)
    }
}

/// Shows lengths instead of text, so that no log can contain messages.
impl std::fmt::Debug for Prompt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prompt")
            .field("system_bytes", &self.system.len())
            .field("user_bytes", &self.user.len())
            .field("max_output_tokens", &self.max_output_tokens)
            .field("json", &self.json)
            .finish()
    }
}

/// Tokens that a call used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the prompt.
    pub input_tokens: u64,
    /// Tokens of the answer, including reasoning.
    pub output_tokens: u64,
}

impl Usage {
    /// Input and output tokens together.
    pub fn total(self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}

/// The reason that an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// The answer is complete.
    Complete,
    /// The answer reached `max_output_tokens`.
    Length,
    /// The model or a content filter refused.
    Refused,
}

/// A model's answer.
#[derive(Clone, PartialEq, Eq)]
pub struct Answer {
    /// The text; may be empty.
    pub said: String,
    /// The tokens used, if the provider reports them.
    pub usage: Option<Usage>,
    /// The reason that it ended.
    pub finish: Finish,
}

impl Answer {
    /// The trimmed text of a usable answer.
    ///
    /// # Errors
    /// [`ModelError::Refused`], [`ModelError::Empty`], [`ModelError::Truncated`].
    pub fn text(&self) -> Result<&str, ModelError> {
        let text = self.said.trim();
        match self.finish {
            Finish::Refused => Err(ModelError::Refused),
            Finish::Length => Err(ModelError::Truncated),
            Finish::Complete if text.is_empty() => Err(ModelError::Empty),
            Finish::Complete => Ok(text),
        }
    }
}

/// Shows the length instead of the text.
impl std::fmt::Debug for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Answer")
            .field("bytes", &self.said.len())
            .field("usage", &self.usage)
            .field("finish", &self.finish)
            .finish()
    }
}
