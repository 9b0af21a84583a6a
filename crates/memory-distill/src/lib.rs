#![doc = include_str!("../README.md")]

mod config;
mod distiller;
mod error;
mod extractive;
mod fact;
mod model;
mod own_words;
mod prompt;
mod source;

pub use config::{CallsConfig, DistillConfig, ModelConfig, ObserverConfig, Provider};
pub use distiller::{
    Distilled, DistilledBy, Distiller, Dropped, Extracted, Extraction, Method, ModelReport,
    Purpose, RejectedCounts,
};
pub use error::{ConfigError, DistillError, ModelError};
pub use extractive::{Extractive, SentenceVectors, SentenceWeights, supersedes};
pub use fact::{
    FACT_CHARS, FACT_LABELS, Fact, FactKind, KnownFact, content_hash, cosine, is_duplicate,
    same_figures,
};
pub use model::{
    Account, Answer, BreakerState, Finish, Health, KeysUnavailable, ModelInfo, NoKeys, Prompt,
    ProviderKeys, Reliable, Reservation, Spent, TextModel, TokenLedger, TokenLedgerError,
    UnlimitedTokens, Usage, open_model,
};
pub use own_words::{OwnWords, restates};
pub use prompt::{PromptError, SummaryPrompt, Template};
pub use source::SourceMessage;
