//! Extracts facts from the messages that extraction has not covered yet.

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
use memory_store::{MemoryError, RangeQuery, StoreError, Unextracted};
use metrics::{counter, describe_counter};
use time::Time;

use super::due::Due;
use super::failure::Failure;
use super::run::DistillRun;
use super::source::own_sources;
use known::{KnownFacts, parse_memory_id};
use speakers::{named, speakers};

/// The limits of one request to a model: tokens, messages, bytes.
const BATCH_TOKENS: i64 = 8_000;
const BATCH_MESSAGES: i32 = 200;
const BATCH_BYTES: i64 = 2 * 1024 * 1024;
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
                memories
                    .extract_again(run.thread.id, BATCH_MESSAGES)
                    .await?
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
            batch(run, &left, is_quiet).await?
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
        let extracted = match extract(run, strategy, batch).await {
            Ok(extracted) => extracted,
            // The model answers, but never in the required form. Later messages must not
            // wait for this batch.
            Err(Failure::Distill(error))
                if run.method == Method::Extractive && is_answered(&error) =>
            {
                tracing::warn!(thread_id = %run.thread.id, %error, "facts are given up");
                counter!("recollect_extracted_facts_total", "outcome" => "given_up").increment(1);
                ExtractedFacts::default()
            }
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

/// The next messages to extract from, in whole turns. A turn begins with a user message;
/// the newest turn is complete when the thread is quiet. `None`: no turn is complete. A
/// turn larger than a batch is read in parts.
async fn batch(
    run: &DistillRun<'_>,
    left: &Unextracted,
    is_quiet: bool,
) -> Result<Option<ExtractionBatch>, Failure> {
    let query = RangeQuery {
        thread: run.thread.id,
        head: left.head,
        after_depth: left.after_depth,
        to_depth: i32::MAX,
        max_messages: BATCH_MESSAGES,
        max_tokens: BATCH_TOKENS,
        max_bytes: BATCH_BYTES,
    };
    let range = run
        .with
        .store
        .distillates(run.caller)
        .read_range(&query)
        .await?;
    let mut batch = cut(range.messages, range.more, is_quiet);
    if let Some(batch) = &mut batch {
        let imported = range.imported;
        batch.messages.retain(|one| !imported.contains(&one.id));
    }
    Ok(batch)
}

/// Messages to extract from, and the seq up to which extraction has then covered the
/// thread; 0 for messages that it had covered before.
struct ExtractionBatch {
    messages: Vec<Message>,
    to_seq: i64,
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

fn cut(mut messages: Vec<Message>, more: bool, is_quiet: bool) -> Option<ExtractionBatch> {
    let newest = messages
        .iter()
        .rposition(|message| message.role == Role::User)
        .unwrap_or(0);
    if newest > 0 && (more || !is_quiet) {
        messages.truncate(newest);
    } else if !more && !is_quiet {
        return None;
    }
    let to_seq = messages.last()?.seq;
    Some(ExtractionBatch { messages, to_seq })
}

/// Extracts facts from a batch.
async fn extract(
    run: &DistillRun<'_>,
    strategy: ExtractionStrategy,
    batch: ExtractionBatch,
) -> Result<ExtractedFacts, Failure> {
    let said = batch
        .messages
        .into_iter()
        .filter(|message| matches!(message.role, Role::User | Role::Assistant))
        .collect();
    let user = &run.thread.session.user;
    let sources = own_sources(named(said, user));
    if sources.iter().all(|source| source.injected) {
        return Ok(ExtractedFacts::default());
    }
    let owners = match strategy {
        ExtractionStrategy::Summary => vec![user.clone()],
        _ => speakers(&sources),
    };
    // Only a model can follow instructions (CUSTOM). Otherwise the extractive distiller reads
    // the batch where the token budget of the day is spent, because waiting does not help.
    let alone = strategy == ExtractionStrategy::Custom;
    let method = if alone { Method::Model } else { run.method };
    match extract_of_each(run, strategy, method, &owners, &sources).await {
        Err(Failure::Distill(error)) if !alone && error.is_spent() => {
            extract_of_each(run, strategy, Method::Extractive, &owners, &sources).await
        }
        extracted => extracted,
    }
}

/// The facts of each of some users. Of each only this user's own messages prove them.
async fn extract_of_each(
    run: &DistillRun<'_>,
    strategy: ExtractionStrategy,
    method: Method,
    owners: &[UserId],
    sources: &[SourceMessage],
) -> Result<ExtractedFacts, Failure> {
    let mut extracted = ExtractedFacts::default();
    for user in owners {
        let owner = MemoryOwner {
            app: run.thread.session.app.clone(),
            user: user.clone(),
        };
        let known = KnownFacts::find(run, strategy, &owner, sources).await?;
        let sources = known.without_copies(sources.to_vec());
        if sources.iter().all(|source| source.injected) {
            continue;
        }
        let (mut facts, made_by) = distill(run, strategy, method, user, &sources, &known).await?;
        extracted.made_by = made_by;
        if strategy == ExtractionStrategy::Summary {
            extracted.built_on = known.into_memories();
        } else {
            let found = facts.len();
            known.merge(run, &owner, &sources, &mut facts).await?;
            let gone = u64::try_from(found - facts.len()).unwrap_or_default();
            counter!("recollect_extracted_facts_total", "outcome" => "repeated").increment(gone);
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
    strategy: ExtractionStrategy,
    method: Method,
    user: &UserId,
    sources: &[SourceMessage],
    known: &KnownFacts,
) -> Result<(Vec<Fact>, DistilledBy), Failure> {
    let kinds = Kinds::new(&run.policy.memory_kinds);
    let never_keep = NeverKept::new(&run.policy.never_keep);
    let extraction = Extraction {
        strategy,
        instructions: run.policy.extraction_instructions.as_str(),
        kinds: &kinds,
        never_keep: &never_keep,
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

#[cfg(test)]
mod tests {
    use memory_contract::message::Part;

    use super::*;

    /// Messages after seq 10: `u` of a user, `a` of a model, `t` of a tool.
    fn said(roles: &str) -> Vec<Message> {
        let role = |letter| match letter {
            'u' => Role::User,
            'a' => Role::Assistant,
            _ => Role::Tool,
        };
        roles
            .chars()
            .zip(11..)
            .map(|(letter, seq)| Message {
                seq,
                tokens: 1,
                ..Message::new(role(letter), vec![Part::text("Hello.")])
            })
            .collect()
    }

    #[test]
    fn batches_are_whole_turns() {
        let check = |roles: &str, more: bool, is_quiet: bool, expected: Option<(usize, i64)>| {
            let batch = cut(said(roles), more, is_quiet);
            let found = batch.map(|batch| (batch.messages.len(), batch.to_seq));
            assert_eq!(found, expected, "{roles} {more} {is_quiet}");
        };
        // A quiet thread has no turn under way.
        check("uaua", false, true, Some((4, 14)));
        check("u", false, true, Some((1, 11)));
        // Otherwise the newest one is.
        check("uauat", false, false, Some((2, 12)));
        check("uat", false, false, None);
        // What does not fit waits from its turn's beginning on.
        check("uaua", true, true, Some((2, 12)));
        check("uatatat", true, true, Some((7, 17)));
        check("uatatat", true, false, Some((7, 17)));
        // Its head was erased.
        check("", false, true, None);
    }
}
