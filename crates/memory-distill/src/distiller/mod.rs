//! The four tasks, done by language models or by the extractive distiller.

mod answer;
mod ask;
mod material;
mod proof;
mod report;
mod speakers;
mod task;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use memory_contract::{TenantId, json::JsonObject, policy::ExtractionStrategy};
use memory_kinds::NeverKept;
use unicode_segmentation::UnicodeSegmentation as _;

use crate::model::{Account, NoKeys, ProviderKeys, Reliable, TokenLedger, open_model};
use crate::{
    ConfigError, DistillConfig, DistillError, Extractive, FACT_CHARS, Fact, FactKind, KnownFact,
    ModelConfig, Provider, SentenceVectors, SourceMessage, SummaryPrompt, supersedes,
};

pub use report::{ModelReport, Purpose, RejectedCounts};
pub use task::{Distilled, DistilledBy, Dropped, Extracted, Extraction, Method};

/// Token budget of a summary that is kept as a fact.
const SUMMARY_FACT_TOKENS: i32 = 110;

/// Makes summaries, observations, reflections and facts.
pub struct Distiller {
    generation: Option<Arc<Reliable>>,
    observer: Option<Arc<Reliable>>,
    ledger: Arc<dyn TokenLedger>,
    keys: Arc<dyn ProviderKeys>,
    extractive: Extractive,
    summary_prompt: SummaryPrompt,
    providers: [Provider; 2],
    dropped: AtomicU64,
    malformed: AtomicU64,
}

impl Distiller {
    /// Opens the configured models without calling them. `section` is the configuration
    /// section, such as `distill`.
    ///
    /// # Errors
    /// [`ConfigError`] names the key of a missing or invalid value.
    pub fn open(
        section: &str,
        config: &DistillConfig,
        ledger: Arc<dyn TokenLedger>,
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
        let observer_config = config.observer.inherit(&config.generation);
        let observer = match &observer_config {
            Some(config) => open("observer", config)?,
            // Shared, so that its limits and its breaker hold for both purposes.
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
        distiller.providers = [
            provider,
            observer_config.map_or(provider, |model| model.provider),
        ];
        Ok(distiller)
    }

    /// Uses open models. `None` means the extractive distiller.
    pub fn new(
        generation: Option<Arc<Reliable>>,
        observer: Option<Arc<Reliable>>,
        ledger: Arc<dyn TokenLedger>,
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
            keys: Arc::new(NoKeys),
            extractive,
            summary_prompt: SummaryPrompt::default(),
            providers: [Provider::None; 2],
            dropped: AtomicU64::new(0),
            malformed: AtomicU64::new(0),
        }
    }

    /// Uses the tenants' own keys of providers where the configuration names their secret.
    #[must_use]
    pub fn with_keys(mut self, keys: Arc<dyn ProviderKeys>) -> Self {
        self.keys = keys;
        self
    }

    /// The model and its health for each purpose.
    pub fn models(&self) -> [ModelReport; 2] {
        let report = |purpose, model: &Option<Arc<Reliable>>, provider| ModelReport {
            purpose,
            provider,
            model: model
                .as_ref()
                .map(|model| model.info().name.clone())
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

    /// Counts of rejected model output since the process started.
    pub fn rejected(&self) -> RejectedCounts {
        RejectedCounts {
            dropped_facts: self.dropped.load(Ordering::Relaxed),
            malformed_answers: self.malformed.load(Ordering::Relaxed),
        }
    }

    /// The languages whose statements are recognized as facts; empty for those of the language
    /// model.
    pub fn extraction_languages(&self) -> &'static str {
        match self.generation {
            Some(_) => "",
            None => "English",
        }
    }

    /// The name of the model that summarizes and extracts, if any.
    pub fn generation_model(&self) -> Option<&str> {
        self.generation
            .as_ref()
            .map(|model| model.info().name.as_str())
    }

    /// The name of the model that observes and reflects, if any.
    pub fn observer_model(&self) -> Option<&str> {
        self.observer
            .as_ref()
            .map(|model| model.info().name.as_str())
    }

    /// Summarizes a previous summary and the messages after it, in at most `max_tokens`
    /// (`o200k_base`).
    ///
    /// # Errors
    /// [`DistillError`].
    pub async fn summarize(
        &self,
        tenant: &TenantId,
        method: Method,
        previous: &str,
        messages: &[SourceMessage],
        max_tokens: i32,
    ) -> Result<Distilled<String>, DistillError> {
        at_least(max_tokens)?;
        match self.model_task(&self.generation, tenant, method) {
            Some(task) => {
                task.summary(&self.summary_prompt, previous, messages, max_tokens)
                    .await
            }
            None => Ok(extractive(
                self.extractive
                    .summary(previous, messages, max_tokens)
                    .await,
            )),
        }
    }

    /// Describes what happened in messages, in at most `max_tokens` (`o200k_base`).
    ///
    /// # Errors
    /// [`DistillError`].
    pub async fn observe(
        &self,
        tenant: &TenantId,
        method: Method,
        messages: &[SourceMessage],
        max_tokens: i32,
    ) -> Result<Distilled<String>, DistillError> {
        at_least(max_tokens)?;
        match self.model_task(&self.observer, tenant, method) {
            Some(task) => task.observations(messages, max_tokens).await,
            None => Ok(extractive(
                self.extractive.observations(messages, max_tokens).await,
            )),
        }
    }

    /// Condenses observations, in at most `max_tokens` (`o200k_base`).
    ///
    /// # Errors
    /// [`DistillError`].
    pub async fn reflect(
        &self,
        tenant: &TenantId,
        method: Method,
        observations: &str,
        max_tokens: i32,
    ) -> Result<Distilled<String>, DistillError> {
        at_least(max_tokens)?;
        match self.model_task(&self.observer, tenant, method) {
            Some(task) => task.reflection(observations, max_tokens).await,
            None => Ok(extractive(
                self.extractive.reflection(observations, max_tokens).await,
            )),
        }
    }

    /// Extracts facts from messages. Without a model, `Custom` gives none.
    ///
    /// # Errors
    /// [`DistillError`]; [`DistillError::Malformed`] if two answers in a row did not have the
    /// requested form.
    pub async fn extract(
        &self,
        tenant: &TenantId,
        method: Method,
        extraction: Extraction<'_>,
    ) -> Result<Distilled<Extracted>, DistillError> {
        let Extraction {
            strategy,
            instructions: _,
            kinds: _,
            never_keep,
            owner,
            messages,
            known,
        } = extraction;
        match strategy {
            ExtractionStrategy::None => return Ok(extractive(Extracted::default())),
            ExtractionStrategy::Summary => {
                return self
                    .summary_fact(tenant, method, owner, never_keep, messages, known)
                    .await;
            }
            ExtractionStrategy::Discrete
            | ExtractionStrategy::Preferences
            | ExtractionStrategy::Custom => {}
        }
        if let Some(task) = self.model_task(&self.generation, tenant, method) {
            let mut answered = task.facts(extraction).await;
            self.count(&answered);
            if let Ok(distilled) = &mut answered {
                distilled.value.drop_forbidden(never_keep);
            }
            return answered;
        }
        let mut extracted = Extracted::default();
        extracted.add(Extracted {
            facts: self.extractive.facts_of(owner, messages, strategy),
            dropped: Dropped::default(),
        });
        for fact in &mut extracted.facts {
            let untrue = known
                .iter()
                .filter(|known| supersedes(&fact.text, &known.text));
            fact.supersedes = untrue.map(|known| known.id.clone()).collect();
        }
        extracted.drop_forbidden(never_keep);
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

    /// The running summary, without what other users said, as one fact that supersedes the previous
    /// ones, without the sentences that have what the app never keeps.
    async fn summary_fact(
        &self,
        tenant: &TenantId,
        method: Method,
        owner: &str,
        never_keep: &NeverKept,
        messages: &[SourceMessage],
        known: &[KnownFact],
    ) -> Result<Distilled<Extracted>, DistillError> {
        let said: Vec<SourceMessage> = messages
            .iter()
            .filter(|source| !source.injected && !source.is_said_by_another(owner))
            .cloned()
            .collect();
        if said.is_empty() {
            return Ok(extractive(Extracted::default()));
        }
        // The oldest first, as in the conversation.
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
        let text = allowed(&text, never_keep).trim().to_owned();
        let mut extracted = Extracted {
            facts: Vec::new(),
            dropped: Dropped {
                forbidden: usize::from(text.is_empty() && !value.trim().is_empty()),
                ..Dropped::default()
            },
        };
        if !text.is_empty() && text != previous {
            extracted.facts.push(Fact {
                text,
                kind: FactKind::Semantic,
                event_date: None,
                topics: vec!["summary".to_owned()],
                entities: Vec::new(),
                own_kind: String::new(),
                attributes: JsonObject::default(),
                evidence: said.iter().map(|source| source.message.id).collect(),
                supersedes: known.iter().map(|known| known.id.clone()).collect(),
                // The caller compares all that it has shown.
                built_on: Vec::new(),
            });
        }
        Ok(Distilled {
            value: extracted,
            by,
        })
    }

    fn model_task<'a>(
        &'a self,
        model: &'a Option<Arc<Reliable>>,
        tenant: &'a TenantId,
        method: Method,
    ) -> Option<ask::ModelTask<'a>> {
        match (method, model) {
            (Method::Model, Some(model)) => {
                let account = Account {
                    ledger: &*self.ledger,
                    keys: &*self.keys,
                    tenant,
                };
                Some(ask::ModelTask::new(model, account))
            }
            (Method::Model, None) | (Method::Extractive, _) => None,
        }
    }
}

/// The sentences of a text that have nothing that the app never keeps, neither alone nor together:
/// "Dr. Miller" counts as the end of one sentence and the start of another.
fn allowed(text: &str, never_keep: &NeverKept) -> String {
    let mut kept: Vec<&str> = Vec::new();
    for sentence in text.split_sentence_bounds() {
        kept.push(sentence);
        if never_keep.is_in(&kept.concat()) {
            // What was kept before had no entry, so it ends in this sentence.
            let is_in = |start: &usize| never_keep.is_in(&kept[*start..].concat());
            let start = (0..kept.len()).rfind(is_in).unwrap_or(0);
            kept.truncate(start);
        }
    }
    kept.concat()
}

fn extractive<T>(value: T) -> Distilled<T> {
    Distilled {
        value,
        by: DistilledBy::Extractive,
    }
}

fn at_least(max_tokens: i32) -> Result<(), DistillError> {
    if max_tokens < ask::LEAST_TOKENS {
        return Err(DistillError::BudgetTooSmall { max_tokens });
    }
    Ok(())
}
