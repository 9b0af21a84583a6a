//! Extracts facts from the messages that extraction has not covered yet.

mod batch;
mod known;
mod speakers;

use std::time::Duration;

use memory_contract::{
    MemoryId, MessageId, UserId,
    memory::{MemoryOwner, MemoryType},
    message::{Message, Role},
    policy::ExtractionStrategy,
    thread::Session,
};
use memory_distill::{
    DistillError, Distilled, DistilledBy, Extraction, Fact, FactKind, Method, ModelError,
    SourceMessage,
};
use memory_kinds::{Kinds, NeverKept};
use memory_store::{MemoryError, StoreError};
use metrics::{counter, describe_counter};
use time::Time;
use tokio::task::spawn_blocking;

use super::due::Due;
use super::failure::Failure;
use super::run::DistillRun;
use super::source::own_sources;
use batch::{BATCH_MESSAGES, ExtractionBatch, batch, of_few_speakers};
use known::{KnownFacts, parse_memory_id};
use speakers::{named, speakers};

/// So many waiting tokens are extracted before the thread is quiet.
const WAITING_TOKENS: i64 = 1_000;
/// Batches of one run, at most; the next run follows at once.
const MAX_BATCHES: usize = 8;
/// Commits that may be rejected as stale before the thread is left alone for a moment:
/// another worker was faster, or the messages have been erased.
const MAX_STALE_COMMITS: usize = 3;
/// The pause before a model is asked again when only a model can do the work.
const MODEL_PAUSE: Duration = Duration::from_secs(600);

/// Extracts facts from the waiting whole turns, batch by batch. They belong to the thread's
/// app and to the users who said them. What no user is named for yields none, or all visitors
/// would see what one of them said.
pub(super) async fn step(run: &DistillRun<'_>) -> Result<Due, Failure> {
    let with = run.with;
    let strategy = strategy(run);
    let alone = strategy == ExtractionStrategy::Custom;
    if !with.store.has_long_term_memory() {
        return Ok(Due::NEVER);
    }
    if run.thread.session.user.is_empty() {
        // A summary belongs to the thread's user alone.
        let memories = with.store.memories(run.caller);
        let is_summary = strategy == ExtractionStrategy::Summary;
        if is_summary || !memories.names_speakers(run.thread.id).await? {
            return Ok(Due::NEVER);
        }
    }
    let mut moved = 0;
    for _ in 0..MAX_BATCHES {
        let memories = with.store.memories(run.caller);
        // The head may have moved since the last batch. A summary that was made under an
        // earlier policy follows it, too.
        memories.align_summary(run.thread.id).await?;
        if strategy == ExtractionStrategy::None {
            return Ok(Due::NEVER);
        }
        let left = memories.unextracted(run.thread.id, strategy).await?;
        let again = match strategy {
            // Its range is read again.
            ExtractionStrategy::Summary => Vec::new(),
            _ => {
                let again = memories.extract_again(run.thread.id, BATCH_MESSAGES);
                of_few_speakers(again.await?, &run.thread.session.user)
            }
        };
        let again_ids: Vec<MessageId> = again.iter().map(|message| message.id).collect();
        if again.is_empty() && left.after_depth >= left.head_depth {
            return Ok(Due::at(left.path_tokens + 1));
        }
        let is_quiet = left.asked || left.quiet >= with.config.quiet;
        let batch = if !again.is_empty() {
            Some(ExtractionBatch {
                messages: again,
                to_seq: 0,
            })
        } else if is_quiet || left.tokens >= WAITING_TOKENS {
            batch(run, strategy, &left, is_quiet).await?
        } else {
            None
        };
        let Some(batch) = batch else {
            return Ok(Due {
                path_tokens: left.path_tokens + (WAITING_TOKENS - left.tokens).max(1),
                after: Some(with.config.quiet.saturating_sub(left.quiet)),
            });
        };
        let to_seq = batch.to_seq;
        let extracted = match extract(run, strategy, batch.messages).await {
            Ok(extracted) => extracted,
            Err(Failure::Distill(error)) if alone && is_over(run, &error) => {
                tracing::warn!(thread_id = %run.thread.id, %error, "facts wait for the model");
                return Ok(Due {
                    path_tokens: i64::MAX,
                    after: Some(MODEL_PAUSE),
                });
            }
            Err(error) => return Err(error),
        };
        match store(run, strategy, left.generation, to_seq, extracted).await {
            Err(StoreError::Memory(MemoryError::ExtractionMoved)) if moved == MAX_STALE_COMMITS => {
                return Ok(Due::SOON);
            }
            Err(StoreError::Memory(MemoryError::ExtractionMoved)) => moved += 1,
            stored => {
                stored?;
                if !again_ids.is_empty() {
                    let memories = with.store.memories(run.caller);
                    memories.extracted_again(run.thread.id, &again_ids).await?;
                }
            }
        }
    }
    Ok(Due::NOW)
}

/// The policy's strategy. CUSTOM becomes DISCRETE without instructions, or without a
/// model to follow them.
fn strategy(run: &DistillRun<'_>) -> ExtractionStrategy {
    let policy = run.policy;
    let instructions = policy.extraction_instructions.as_str();
    match policy.extraction {
        ExtractionStrategy::Custom
            if instructions.trim().is_empty()
                || run.with.distiller.generation_model().is_none() =>
        {
            ExtractionStrategy::Discrete
        }
        strategy => strategy,
    }
}

/// Whether asking the model again is useless for now.
fn is_over(run: &DistillRun<'_>, error: &DistillError) -> bool {
    run.method == Method::Extractive || error.is_spent()
}

/// Whether the model answered, but unusably.
fn is_answered(error: &DistillError) -> bool {
    match error {
        DistillError::Malformed { .. } => true,
        DistillError::Model { source, .. } => matches!(
            source,
            ModelError::Refused
                | ModelError::Empty
                | ModelError::Truncated
                | ModelError::Unreadable
                | ModelError::BadRequest { .. }
        ),
        _ => false,
    }
}

/// The facts found in one batch.
struct ExtractedFacts {
    /// Each with the user whose it is.
    facts: Vec<(UserId, Fact)>,
    made_by: DistilledBy,
    /// The memories that the new ones replace (strategy SUMMARY).
    built_on: Vec<(MemoryId, String)>,
}

impl Default for ExtractedFacts {
    fn default() -> Self {
        Self {
            facts: Vec::new(),
            made_by: DistilledBy::Extractive,
            built_on: Vec::new(),
        }
    }
}

/// What an app wants to be extracted.
struct Wanted {
    strategy: ExtractionStrategy,
    kinds: Kinds,
    never_keep: NeverKept,
}

impl Wanted {
    async fn of(run: &DistillRun<'_>, strategy: ExtractionStrategy) -> Result<Self, Failure> {
        let kinds = run.policy.memory_kinds.clone();
        Ok(Self {
            strategy,
            // Schemas that this process does not know are compiled.
            kinds: spawn_blocking(move || Kinds::new(&kinds)).await?,
            never_keep: NeverKept::new(&run.policy.never_keep),
        })
    }
}

/// Extracts facts from the messages of a batch: of each user who speaks, only this user's own
/// messages prove them.
async fn extract(
    run: &DistillRun<'_>,
    strategy: ExtractionStrategy,
    messages: Vec<Message>,
) -> Result<ExtractedFacts, Failure> {
    let said = messages
        .into_iter()
        .filter(|message| matches!(message.role, Role::User | Role::Assistant))
        .collect();
    let user = &run.thread.session.user;
    let sources = own_sources(named(said, user));
    let mut extracted = ExtractedFacts::default();
    if sources.iter().all(|source| source.injected) {
        return Ok(extracted);
    }
    let owners = match strategy {
        ExtractionStrategy::Summary => vec![user.clone()],
        _ => speakers(&sources),
    };
    let wanted = Wanted::of(run, strategy).await?;
    // Only a model can follow instructions (CUSTOM).
    let alone = strategy == ExtractionStrategy::Custom;
    let mut method = if alone { Method::Model } else { run.method };
    for user in owners {
        let owner = MemoryOwner {
            app: run.thread.session.app.clone(),
            user: user.clone(),
        };
        let known = KnownFacts::find(run, strategy, &owner, &sources).await?;
        let sources = known.without_copies(sources.clone());
        if sources.iter().all(|source| source.injected) {
            continue;
        }
        let mut made = distill(run, &wanted, method, &user, &sources, &known).await;
        if !alone && made.as_ref().is_err_and(DistillError::is_spent) {
            // The token budget of the day is spent, and waiting does not help: the extractive
            // distiller reads on.
            method = Method::Extractive;
            made = distill(run, &wanted, method, &user, &sources, &known).await;
        }
        let (mut facts, made_by) = match made {
            Ok(made) => made,
            // The model answers, but never in the required form. Later messages and the facts of
            // other users must not wait for it.
            Err(error) if run.method == Method::Extractive && is_answered(&error) => {
                tracing::warn!(thread_id = %run.thread.id, %error, "facts are given up");
                counter!("recollect_extracted_facts_total", "outcome" => "given_up").increment(1);
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        if strategy == ExtractionStrategy::Summary {
            extracted.built_on = known.into_memories();
        } else {
            let found = facts.len();
            known.merge(run, &owner, &sources, &mut facts).await?;
            let gone = u64::try_from(found - facts.len()).unwrap_or_default();
            counter!("recollect_extracted_facts_total", "outcome" => "repeated").increment(gone);
        }
        // A commit has one author: the model, if any of its facts came from the model.
        if made_by != DistilledBy::Extractive && !facts.is_empty() {
            extracted.made_by = made_by;
        }
        let facts = facts.into_iter().map(|fact| (user.clone(), fact));
        extracted.facts.extend(facts);
    }
    Ok(extracted)
}

/// Stores the facts and, in the same transaction, how far extraction has come.
async fn store(
    run: &DistillRun<'_>,
    strategy: ExtractionStrategy,
    generation: i64,
    to_seq: i64,
    found: ExtractedFacts,
) -> Result<(), StoreError> {
    let ExtractedFacts {
        facts,
        made_by,
        built_on,
    } = found;
    let extraction = memory_store::Extraction {
        thread: run.thread.id,
        generation,
        to_seq,
        facts: facts
            .into_iter()
            .map(|(user, fact)| stored(run, user, fact))
            .collect(),
        made_by: match made_by {
            DistilledBy::Model(name) => name,
            DistilledBy::Extractive => "extractive".to_owned(),
        },
        strategy,
        built_on,
    };
    let memory_store::Extracted {
        stored,
        known,
        dropped,
        superseded,
        revision: _,
    } = run
        .with
        .store
        .memories(run.caller)
        .store_extracted(&extraction)
        .await?;
    for (outcome, count) in [
        ("stored", stored),
        ("known", known),
        ("dropped", dropped),
        ("superseded", superseded),
    ] {
        let count = u64::try_from(count).unwrap_or_default();
        counter!("recollect_extracted_facts_total", "outcome" => outcome).increment(count);
    }
    Ok(())
}

/// Asks for the facts of a user.
async fn distill(
    run: &DistillRun<'_>,
    wanted: &Wanted,
    method: Method,
    user: &UserId,
    sources: &[SourceMessage],
    known: &KnownFacts,
) -> Result<(Vec<Fact>, DistilledBy), DistillError> {
    let extraction = Extraction {
        strategy: wanted.strategy,
        instructions: run.policy.extraction_instructions.as_str(),
        kinds: &wanted.kinds,
        never_keep: &wanted.never_keep,
        owner: user.as_str(),
        messages: sources,
        known: known.facts(),
    };
    let distiller = &run.with.distiller;
    let made = distiller
        .extract(&run.caller.tenant, method, extraction)
        .await;
    if let Err(DistillError::Malformed { .. }) = &made {
        counter!("recollect_model_answers_malformed_total").increment(1);
    }
    let Distilled { value, by } = made?;
    for (outcome, count) in [
        ("unproven", value.dropped.without_evidence),
        ("invalid", value.dropped.invalid),
        ("forbidden", value.dropped.forbidden),
    ] {
        let count = u64::try_from(count).unwrap_or_default();
        counter!("recollect_extracted_facts_total", "outcome" => outcome).increment(count);
    }
    Ok((value.facts, by))
}

fn stored(run: &DistillRun<'_>, user: UserId, fact: Fact) -> memory_store::Fact {
    let Session {
        app, user: threads, ..
    } = &run.thread.session;
    // The thread's user is known to the database.
    let owner = (user != *threads).then(|| MemoryOwner {
        app: app.clone(),
        user,
    });
    let Fact {
        text,
        kind,
        event_date,
        topics,
        entities,
        own_kind,
        attributes,
        evidence,
        supersedes,
        built_on,
    } = fact;
    let memories = |ids: &[String]| ids.iter().filter_map(|id| parse_memory_id(id)).collect();
    memory_store::Fact {
        text,
        owner,
        kind: match kind {
            FactKind::Semantic => MemoryType::Semantic,
            FactKind::Episodic => MemoryType::Episodic,
        },
        topics,
        entities,
        event: event_date.map(|day| day.with_time(Time::MIDNIGHT).assume_utc()),
        own_kind,
        attributes,
        sources: evidence,
        supersedes: memories(&supersedes),
        built_on: memories(&built_on),
    }
}

pub(super) fn describe_metrics() {
    describe_counter!(
        "recollect_extracted_facts_total",
        "Extracted facts, by outcome: stored, known, dropped, superseded, repeated, unproven, \
         invalid, forbidden or given_up."
    );
    describe_counter!(
        "recollect_model_answers_malformed_total",
        "Extraction answers of language models that were malformed twice in a row."
    );
}
