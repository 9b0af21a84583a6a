//! Distills without a language model by selecting sentences. It is deterministic: the same
//! input gives the same bytes.

mod claim;
mod clauses;
mod cues;
mod dates;
mod digest;
mod doubts;
mod facts;
mod money;
mod people;
mod plans;
mod preferences;
mod select;
mod sentence;
mod statements;
mod tool;
mod unit;
mod vectors;
mod words;
mod worth;

use std::sync::Arc;
use std::time::Duration;

use memory_budget::Tokenizer;
use memory_contract::policy::ExtractionStrategy;
use tokio::time::timeout;

use crate::{Fact, SourceMessage};
use unit::{Unit, View};

pub use claim::supersedes;
pub use vectors::SentenceVectors;
pub(crate) use words::{content, is_generic};
pub use worth::SentenceWeights;

/// The longest wait for vectors; after that sentences are compared by words.
const EMBEDDING: Duration = Duration::from_secs(60);

/// Distills without a language model. Cheap to clone.
///
/// Budgets are in `o200k_base` tokens unless another tokenizer is set. The output is lines
/// under headings such as `[2023-05-08]`, the day of the messages, or `[05-08]` after a day
/// of the same year. A line begins with its speaker and quotes whole sentences of one or more
/// messages, or describes a tool call and its result.
#[derive(Clone, Default)]
pub struct Extractive {
    vectors: Option<Arc<dyn SentenceVectors>>,
    tokenizer: Tokenizer,
    weights: SentenceWeights,
}

impl Extractive {
    /// Compares sentences by their words (TF-IDF).
    pub fn new() -> Self {
        Self::default()
    }

    /// Compares sentences by these vectors while they are available. The output is then
    /// deterministic for the same vectors.
    pub fn with_vectors(self, vectors: Arc<dyn SentenceVectors>) -> Self {
        Self {
            vectors: Some(vectors),
            ..self
        }
    }

    /// Counts tokens with this tokenizer.
    pub fn with_tokenizer(self, tokenizer: Tokenizer) -> Self {
        Self { tokenizer, ..self }
    }

    /// Rates sentences with these weights instead of the default ones.
    pub fn with_weights(self, weights: SentenceWeights) -> Self {
        Self { weights, ..self }
    }

    /// Summarizes a previous summary and the messages after it, in at most `max_tokens`. The
    /// lines of the previous summary compete with the new sentences but keep at least two
    /// fifths of the budget, so that old content fades gradually. Empty if there is no text;
    /// the beginning of a sentence if none fits as a whole.
    pub async fn summary(
        &self,
        previous: &str,
        messages: &[SourceMessage],
        max_tokens: i32,
    ) -> String {
        let (previous, messages) = (previous.to_owned(), messages.to_vec());
        let units = move || {
            let mut units = unit::of_lines(&previous);
            let first = units.len();
            units.extend(unit::of_messages(&messages, first, View::Conversation));
            units
        };
        self.condense(units, max_tokens).await
    }

    /// Describes what happened in messages, above all tool calls and their results, in at most
    /// `max_tokens`.
    pub async fn observations(&self, messages: &[SourceMessage], max_tokens: i32) -> String {
        let messages = messages.to_vec();
        let units = move || unit::of_messages(&messages, 0, View::Work);
        self.condense(units, max_tokens).await
    }

    /// Selects the best lines of observations, in at most `max_tokens`.
    pub async fn reflection(&self, observations: &str, max_tokens: i32) -> String {
        let observations = observations.to_owned();
        let units = move || {
            let mut units = unit::of_lines(&observations);
            for unit in &mut units {
                unit.kept = false;
            }
            units
        };
        self.condense(units, max_tokens).await
    }

    /// Facts that users state plainly: the speaker and the sentence, or the part of it that states
    /// one fact. Only English sentences of a few forms are taken, because a wrong fact does more
    /// harm than a missing one. `None`, `Summary` and `Custom` give none.
    pub fn facts(&self, messages: &[SourceMessage], strategy: ExtractionStrategy) -> Vec<Fact> {
        facts::facts(messages, strategy)
    }

    /// The same of the messages of one user.
    pub(crate) fn facts_of(
        &self,
        user: &str,
        messages: &[SourceMessage],
        strategy: ExtractionStrategy,
    ) -> Vec<Fact> {
        let own = messages.iter().filter(|source| source.is_said_by(user));
        facts::facts(own, strategy)
    }

    /// Selects the best units, on the blocking thread pool: it may take a second for thousands
    /// of messages.
    async fn condense(
        &self,
        units: impl FnOnce() -> Vec<Unit> + Send + 'static,
        max_tokens: i32,
    ) -> String {
        if max_tokens <= 0 {
            return String::new();
        }
        let tokenizer = self.tokenizer;
        let most = match self.vectors {
            Some(_) => select::EMBEDDED,
            None => select::CANDIDATES,
        };
        let weights = self.weights;
        let prepared = blocking(move || {
            let mut units = units();
            worth::assess(&mut units, &weights);
            let units = select::promising(units, most);
            let whole = unit::render(&units);
            // A token has few bytes in any script, so most texts need no counting.
            let may_fit = whole.len() / 16 <= max_tokens.unsigned_abs() as usize;
            if may_fit && tokenizer.count(&whole) <= max_tokens {
                Err(whole)
            } else {
                Ok(units)
            }
        });
        let units = match prepared.await {
            Ok(units) => units,
            Err(whole) => return whole,
        };
        let dense = match &self.vectors {
            Some(vectors) => {
                let texts = units.iter().map(|unit| unit.text.clone());
                timeout(EMBEDDING, vectors.embed(texts.collect()))
                    .await
                    .unwrap_or_default()
            }
            None => None,
        };
        blocking(move || {
            let sparse = vectors::tf_idf(&units);
            select::select(&units, sparse, dense, max_tokens, tokenizer)
        })
        .await
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        // The runtime is shutting down.
        Err(_) => std::future::pending().await,
    }
}
