//! Language models behind one trait.

mod breaker;
mod failure;
mod ledger;
mod provider;
mod reliable;

use async_trait::async_trait;
use memory_budget::Tokenizer;

use crate::ModelError;

pub use breaker::BreakerState;
pub use ledger::{Account, Ledger, LedgerError, Reservation, Spent, Unlimited};
pub use provider::open_model;
pub use reliable::Reliable;

/// Generates text: one request to whoever provides it. An implementation answers or
/// fails within its own deadline.
#[async_trait]
pub trait TextModel: Send + Sync {
    /// Which model it is, and what it takes.
    fn about(&self) -> &About;

    /// Answers a prompt. An answer that is empty, cut or refused is an answer: it
    /// was paid for. [`Answer::text`] tells them apart.
    ///
    /// # Errors
    /// Any [`ModelError`] but those of [`Answer::text`].
    async fn generate(&self, prompt: &Prompt) -> Result<Answer, ModelError>;
}

/// How a model is doing in this process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// Whether it is asked.
    pub breaker: BreakerState,
    /// What went wrong last; `None`: nothing.
    pub last_error: Option<ModelError>,
}

/// Which model it is, and what it takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// The name, as its provider writes it.
    pub name: String,
    /// Tokens that it takes, prompt and answer together.
    pub context_window: i32,
    /// The most tokens of one answer.
    pub max_output_tokens: i32,
    /// Who counts its tokens; an estimate for models that are not OpenAI's.
    pub tokenizer: Tokenizer,
}

/// What a model is asked.
#[derive(Clone, PartialEq, Eq)]
pub struct Prompt {
    /// What it is to do. Nothing that a user said is in it.
    pub system: String,
    /// What it is to do it with.
    pub user: String,
    /// The most tokens of the answer.
    pub max_output_tokens: i32,
    /// Whether the answer is to be one JSON object.
    pub json: bool,
}

impl Prompt {
    /// Tokens of the prompt without its answer.
    pub fn tokens(&self, tokenizer: Tokenizer) -> i32 {
        let frames = 2 * memory_budget::FRAME_TOKENS;
        let text = tokenizer.count(&self.system);
        text.saturating_add(tokenizer.count(&self.user))
            .saturating_add(frames)
    }
}

/// Says how long it is and no word of it, so that no log can hold what people said.
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

/// Tokens that an answer cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the prompt.
    pub input_tokens: u64,
    /// Tokens of the answer, what the model thought included.
    pub output_tokens: u64,
}

impl Usage {
    /// All of them.
    pub fn total(self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}

/// Why an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// It was complete.
    Complete,
    /// It was as long as it may be.
    Length,
    /// The model or a filter did not want to go on.
    Refused,
}

/// What a model answered.
#[derive(Clone, PartialEq, Eq)]
pub struct Answer {
    /// What it said; may be empty.
    pub said: String,
    /// What it cost, where the provider tells.
    pub usage: Option<Usage>,
    /// Why it ended.
    pub finish: Finish,
}

impl Answer {
    /// The text of a good answer, without white space around it.
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

/// Says how long it is and no word of it.
impl std::fmt::Debug for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Answer")
            .field("bytes", &self.said.len())
            .field("usage", &self.usage)
            .field("finish", &self.finish)
            .finish()
    }
}
