//! Distilling without a language model: what is worth keeping is found and kept
//! as it was said. It is deterministic: the same input gives the same bytes.

mod claim;
mod cues;
mod dates;
mod digest;
mod facts;
mod select;
mod sentence;
mod tool;
mod unit;
mod vectors;
mod words;

use std::sync::Arc;
use std::time::Duration;

use memory_budget::Tokenizer;
use memory_contract::ExtractionStrategy;
use tokio::time::timeout;

use crate::{Fact, Source};
use unit::{Unit, View};

pub use claim::supersedes;
pub use vectors::SentenceVectors;

/// The longest that vectors are waited for; then words are counted instead.
const EMBEDDING: Duration = Duration::from_secs(60);

/// Distills without a language model. Cheap to clone.
///
/// Texts are counted in `o200k_base` tokens unless another tokenizer is given.
/// What it writes are lines under headings such as `[2023-05-08]`, the day of the
/// messages; each line begins with the speaker, or tells of a tool what it was
/// asked and what it answered.
#[derive(Clone, Default)]
pub struct Extractive {
    vectors: Option<Arc<dyn SentenceVectors>>,
    tokenizer: Tokenizer,
}

impl Extractive {
    /// Compares sentences by their words (TF-IDF).
    pub fn new() -> Self {
        Self::default()
    }

    /// Compares sentences by these vectors, as long as there are any. Then the same
    /// input gives the same bytes as long as the vectors are the same.
    pub fn with_vectors(self, vectors: Arc<dyn SentenceVectors>) -> Self {
        Self {
            vectors: Some(vectors),
            ..self
        }
    }

    /// Counts with this tokenizer.
    pub fn with_tokenizer(self, tokenizer: Tokenizer) -> Self {
        Self { tokenizer, ..self }
    }

    /// The summary of a previous summary and the messages after it. The lines of
    /// the previous one compete with the new sentences, and keep two fifths of
    /// the budget in any case, so that what is old fades instead of vanishing.
    /// At most `max_tokens`; empty where nothing was said. Where no sentence fits as
    /// a whole it is the beginning of one.
    pub async fn summary(&self, previous: &str, messages: &[Source], max_tokens: i32) -> String {
        let (previous, messages) = (previous.to_owned(), messages.to_vec());
        let units = move || {
            let mut units = unit::of_lines(&previous);
            let first = units.len();
            units.extend(unit::of_messages(&messages, first, View::Conversation));
            units
        };
        self.condense(units, max_tokens).await
    }

    /// What happened in messages, most of all what tools were asked and what came
    /// of it, in at most `max_tokens`.
    pub async fn observations(&self, messages: &[Source], max_tokens: i32) -> String {
        let messages = messages.to_vec();
        let units = move || unit::of_messages(&messages, 0, View::Work);
        self.condense(units, max_tokens).await
    }

    /// The lines of observations that are worth most together, in at most
    /// `max_tokens`.
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

    /// Facts that users state in so many words. Only plain sentences in English
    /// of a few forms are taken, because a fact that is none does more harm than
    /// one that is missing. `None`, `Summary` and `Custom` give none.
    pub fn facts(&self, messages: &[Source], strategy: ExtractionStrategy) -> Vec<Fact> {
        facts::facts(messages, strategy)
    }

    /// The units that are worth most together. The work is done where it keeps no
    /// other task waiting: it may take a second for thousands of messages.
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
        let prepared = blocking(move || {
            let units = select::promising(units(), most);
            let whole = unit::render(&units);
            // A token of any script has few bytes, so most texts need no counting.
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
        // The runtime is shutting down, and this future with it.
        Err(_) => std::future::pending().await,
    }
}
