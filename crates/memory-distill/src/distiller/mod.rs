//! Models and the extractive distiller behind one interface.

mod answer;
mod ask;
mod material;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use memory_contract::{ExtractionStrategy, TenantId};

use crate::model::{Account, Health, Ledger, Reliable, open_model};
use crate::{
    ConfigError, DistillConfig, DistillError, Extractive, FACT_CHARS, Fact, FactKind, KnownFact,
    ModelConfig, Provider, SentenceVectors, Source, SummaryPrompt, supersedes,
};

/// The smallest budget of a text, in tokens.
const LEAST_TOKENS: i32 = 32;
/// Tokens of a summary that is kept as a fact.
const SUMMARY_FACT_TOKENS: i32 = 110;

/// Who is to distill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// The model that is configured for the task; the extractive distiller where
    /// there is none.
    Model,
    /// The extractive distiller: for a worker whose attempts with the model are
    /// used up, or that was told to fall back.
    Extractive,
}

/// Who did distill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum By {
    /// The model of this name.
    Model(String),
    /// The extractive distiller.
    Extractive,
}

/// What was distilled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Distilled<T> {
    /// It.
    pub value: T,
    /// Who did it.
    pub by: By,
}

/// Facts that were taken out of messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extracted {
    /// The facts.
    pub facts: Vec<Fact>,
    /// What a model gave beside them.
    pub dropped: Dropped,
}

/// Facts of a model that were not taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    /// They name no message that was given.
    pub without_evidence: usize,
    /// They have no text, or one of more than [`FACT_CHARS`] characters.
    pub too_long_or_empty: usize,
    /// They say what another one says.
    pub duplicates: usize,
}

/// What is to be taken out of which messages.
#[derive(Clone, Copy, Debug)]
pub struct Extraction<'a> {
    /// What is to be taken.
    pub strategy: ExtractionStrategy,
    /// The app's own words for it, for [`ExtractionStrategy::Custom`].
    pub instructions: &'a str,
    /// The messages, in order. Injected ones are passed over.
    pub messages: &'a [Source],
    /// Facts that are known, the most likely to matter first. For
    /// [`ExtractionStrategy::Summary`] they are the summaries so far, the newest
    /// first: the new one goes on from all of them and takes their place.
    pub known: &'a [KnownFact],
}

/// Makes summaries, observations, reflections and facts. What it is given is
/// never changed, and an error means that nothing was made.
pub struct Distiller {
    generation: Option<Arc<Reliable>>,
    observer: Option<Arc<Reliable>>,
    ledger: Arc<dyn Ledger>,
    extractive: Extractive,
    summary_prompt: SummaryPrompt,
    providers: [Provider; 2],
    dropped: AtomicU64,
    malformed: AtomicU64,
}

/// What a model is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Summaries and facts.
    Generation,
    /// Observations and reflections.
    Observation,
}

impl Purpose {
    /// The name, lower case.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Generation => "generation",
            Self::Observation => "observation",
        }
    }
}

/// Who does what, and how it is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelReport {
    /// What it is for.
    pub purpose: Purpose,
    /// Who answers; [`Provider::None`] is the extractive distiller.
    pub provider: Provider,
    /// The model's name; empty for the extractive distiller.
    pub model: String,
    /// How it is doing.
    pub health: Health,
}

/// What models gave that could not be used, since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Facts that no message proves.
    pub dropped_facts: u64,
    /// Answers that could not be read, even when asked again.
    pub malformed_answers: u64,
}

impl Distiller {
    /// Opens what the configuration names, without calling it. `section` is the
    /// configuration's own name, such as `distill`.
    ///
    /// # Errors
    /// [`ConfigError`] where a value is missing or cannot be used; it names the key.
    pub fn open(
        section: &str,
        config: &DistillConfig,
        ledger: Arc<dyn Ledger>,
        vectors: Option<Arc<dyn SentenceVectors>>,
    ) -> Result<Self, ConfigError> {
        let calls = format!("{section}.calls");
        let open = |part: &str, model: &ModelConfig| -> Result<Option<_>, ConfigError> {
            let Some(model) = open_model(&format!("{section}.{part}"), model)? else {
                return Ok(None);
            };
            let reliable = Reliable::new(model, &calls, &config.calls)?;
            Ok(Some(Arc::new(reliable)))
        };
        let generation = open("generation", &config.generation)?;
        let beside = config.observer.beside(&config.generation);
        let observer = match &beside {
            Some(observer) => open("observer", observer)?,
            // The same one: its limits and its breaker hold for both uses.
            None => generation.clone(),
        };
        let summary_prompt = match &config.summary_prompt {
            Some(text) => SummaryPrompt::new(text).map_err(|error| ConfigError {
                key: format!("{section}.summary_prompt"),
                problem: error.to_string(),
            })?,
            None => SummaryPrompt::default(),
        };
        let mut distiller = Self::new(generation, observer, ledger, vectors);
        distiller.summary_prompt = summary_prompt;
        let provider = config.generation.provider;
        distiller.providers = [provider, beside.map_or(provider, |model| model.provider)];
        Ok(distiller)
    }

    /// Takes models that are open. `None` stands for the extractive distiller.
    pub fn new(
        generation: Option<Arc<Reliable>>,
        observer: Option<Arc<Reliable>>,
        ledger: Arc<dyn Ledger>,
        vectors: Option<Arc<dyn SentenceVectors>>,
    ) -> Self {
        let extractive = match vectors {
            Some(vectors) => Extractive::new().with_vectors(vectors),
            None => Extractive::new(),
        };
        Self {
            generation,
            observer,
            ledger,
            extractive,
            summary_prompt: SummaryPrompt::default(),
            providers: [Provider::None; 2],
            dropped: AtomicU64::new(0),
            malformed: AtomicU64::new(0),
        }
    }

    /// Who does the work, and how it is doing in this process.
    pub fn models(&self) -> [ModelReport; 2] {
        let report = |purpose, model: &Option<Arc<Reliable>>, provider| ModelReport {
            purpose,
            provider,
            model: model
                .as_ref()
                .map(|model| model.about().name.clone())
                .unwrap_or_default(),
            health: model
                .as_ref()
                .map(|model| model.health())
                .unwrap_or_default(),
        };
        let [generation, observer] = self.providers;
        [
            report(Purpose::Generation, &self.generation, generation),
            report(Purpose::Observation, &self.observer, observer),
        ]
    }

    /// What models gave that could not be used, since the start.
    pub fn tally(&self) -> Tally {
        Tally {
            dropped_facts: self.dropped.load(Ordering::Relaxed),
            malformed_answers: self.malformed.load(Ordering::Relaxed),
        }
    }

    /// The name of the model that summarizes and extracts, where there is one.
    pub fn generation_model(&self) -> Option<&str> {
        self.generation
            .as_ref()
            .map(|model| model.about().name.as_str())
    }

    /// The name of the model that observes and reflects, where there is one.
    pub fn observer_model(&self) -> Option<&str> {
        self.observer
            .as_ref()
            .map(|model| model.about().name.as_str())
    }

    /// The summary of a previous summary and the messages after it: at most
    /// `max_tokens` of `o200k_base`.
    ///
    /// # Errors
    /// [`DistillError`]; nothing is made then.
    pub async fn summarize(
        &self,
        tenant: &TenantId,
        method: Method,
        previous: &str,
        messages: &[Source],
        max_tokens: i32,
    ) -> Result<Distilled<String>, DistillError> {
        at_least(max_tokens)?;
        match self.asking(&self.generation, tenant, method) {
            Some(asking) => {
                asking
                    .summary(&self.summary_prompt, previous, messages, max_tokens)
                    .await
            }
            None => Ok(extractive(
                self.extractive
                    .summary(previous, messages, max_tokens)
                    .await,
            )),
        }
    }

    /// What happened in messages, in at most `max_tokens` of `o200k_base`.
    ///
    /// # Errors
    /// [`DistillError`]; nothing is made then.
    pub async fn observe(
        &self,
        tenant: &TenantId,
        method: Method,
        messages: &[Source],
        max_tokens: i32,
    ) -> Result<Distilled<String>, DistillError> {
        at_least(max_tokens)?;
        match self.asking(&self.observer, tenant, method) {
            Some(asking) => asking.observations(messages, max_tokens).await,
            None => Ok(extractive(
                self.extractive.observations(messages, max_tokens).await,
            )),
        }
    }

    /// What is worth knowing of observations, in at most `max_tokens` of
    /// `o200k_base`.
    ///
    /// # Errors
    /// [`DistillError`]; nothing is made then.
    pub async fn reflect(
        &self,
        tenant: &TenantId,
        method: Method,
        observations: &str,
        max_tokens: i32,
    ) -> Result<Distilled<String>, DistillError> {
        at_least(max_tokens)?;
        match self.asking(&self.observer, tenant, method) {
            Some(asking) => asking.reflection(observations, max_tokens).await,
            None => Ok(extractive(
                self.extractive.reflection(observations, max_tokens).await,
            )),
        }
    }

    /// Facts out of messages. Without a model, `Custom` gives none.
    ///
    /// # Errors
    /// [`DistillError::Malformed`] where the model did not answer as it was asked
    /// to, twice; or another [`DistillError`]. Nothing is made then.
    pub async fn extract(
        &self,
        tenant: &TenantId,
        method: Method,
        extraction: Extraction<'_>,
    ) -> Result<Distilled<Extracted>, DistillError> {
        let Extraction {
            strategy,
            instructions: _,
            messages,
            known,
        } = extraction;
        match strategy {
            ExtractionStrategy::None => return Ok(extractive(Extracted::default())),
            ExtractionStrategy::Summary => {
                return self.summary_fact(tenant, method, messages, known).await;
            }
            ExtractionStrategy::Discrete
            | ExtractionStrategy::Preferences
            | ExtractionStrategy::Custom => {}
        }
        if let Some(asking) = self.asking(&self.generation, tenant, method) {
            let answered = asking.facts(extraction).await;
            self.count(&answered);
            return answered;
        }
        let mut extracted = Extracted::default();
        extracted.add(Extracted {
            facts: self.extractive.facts(messages, strategy),
            dropped: Dropped::default(),
        });
        for fact in &mut extracted.facts {
            let untrue = known
                .iter()
                .filter(|known| supersedes(&fact.text, &known.text));
            fact.supersedes = untrue.map(|known| known.id.clone()).collect();
        }
        Ok(extractive(extracted))
    }

    fn count(&self, answered: &Result<Distilled<Extracted>, DistillError>) {
        match answered {
            Ok(distilled) => {
                let dropped = distilled.value.dropped.without_evidence;
                let dropped = u64::try_from(dropped).unwrap_or(u64::MAX);
                self.dropped.fetch_add(dropped, Ordering::Relaxed);
            }
            Err(DistillError::Malformed { .. }) => {
                self.malformed.fetch_add(1, Ordering::Relaxed);
            }
            Err(DistillError::Model { .. } | DistillError::BudgetTooSmall { .. }) => {}
        }
    }

    /// The running summary as one fact, which takes the place of the one before.
    async fn summary_fact(
        &self,
        tenant: &TenantId,
        method: Method,
        messages: &[Source],
        known: &[KnownFact],
    ) -> Result<Distilled<Extracted>, DistillError> {
        let said: Vec<Source> = messages
            .iter()
            .filter(|source| !source.injected)
            .cloned()
            .collect();
        if said.is_empty() {
            return Ok(extractive(Extracted::default()));
        }
        // The oldest first, as they were said.
        let previous: Vec<&str> = known
            .iter()
            .rev()
            .map(|known| known.text.as_str())
            .collect();
        let previous = previous.join("\n");
        let Distilled { value, by } = self
            .summarize(tenant, method, &previous, &said, SUMMARY_FACT_TOKENS)
            .await?;
        let text: String = value.chars().take(FACT_CHARS).collect();
        let text = text.trim().to_owned();
        let mut extracted = Extracted::default();
        if !text.is_empty() && text != previous {
            extracted.facts.push(Fact {
                text,
                kind: FactKind::Semantic,
                event_date: None,
                topics: vec!["summary".to_owned()],
                entities: Vec::new(),
                evidence: said.iter().map(|source| source.message.id).collect(),
                supersedes: known.iter().map(|known| known.id.clone()).collect(),
            });
        }
        Ok(Distilled {
            value: extracted,
            by,
        })
    }

    fn asking<'a>(
        &'a self,
        model: &'a Option<Arc<Reliable>>,
        tenant: &'a TenantId,
        method: Method,
    ) -> Option<ask::Asking<'a>> {
        match (method, model) {
            (Method::Model, Some(model)) => {
                let ledger = &*self.ledger;
                Some(ask::Asking::new(model, Account { ledger, tenant }))
            }
            (Method::Model, None) | (Method::Extractive, _) => None,
        }
    }
}

fn extractive<T>(value: T) -> Distilled<T> {
    Distilled {
        value,
        by: By::Extractive,
    }
}

fn at_least(max_tokens: i32) -> Result<(), DistillError> {
    if max_tokens < LEAST_TOKENS {
        return Err(DistillError::BudgetTooSmall { max_tokens });
    }
    Ok(())
}
