//! Takes facts out of messages that nobody has looked at yet.

mod known;

use std::time::Duration;

use memory_contract::{ExtractionStrategy, MemoryId, MemoryOwner, MemoryType, Message, Role};
use memory_distill::{
    By, DistillError, Distilled, Extraction, Fact, FactKind, Method, ModelError, Source,
};
use memory_store::{StoreError, StretchQuery, Unextracted};
use metrics::{counter, describe_counter};
use time::Time;

use super::{Due, Failure, Look};
use known::{Known, told_id};

/// What one question to a model may hold.
const PIECE_TOKENS: i64 = 8_000;
const PIECE_MESSAGES: i32 = 200;
const PIECE_BYTES: i64 = 2 * 1024 * 1024;
/// Tokens that do not wait for the thread to be quiet.
const MANY_TOKENS: i64 = 1_000;
/// Pieces of one look; more wait for the next one, which comes at once.
const PIECES: usize = 8;
/// Times that a look begins again because somebody was faster: another worker, or
/// who has erased what it has read.
const TRIES: usize = 3;
/// The pause before a model is asked again that alone can do what is wanted.
const MODEL_PAUSE: Duration = Duration::from_secs(600);

/// Takes facts out of the whole turns that wait, piece by piece. They belong to
/// the thread's app and user. Without a user nothing is taken: what one visitor
/// said would be told to all others.
pub(super) async fn step(look: &Look<'_>) -> Result<Due, Failure> {
    let with = look.with;
    let strategy = strategy(look);
    let alone = strategy == ExtractionStrategy::Custom;
    if strategy == ExtractionStrategy::None
        || look.thread.session.user.as_str().is_empty()
        || !with.store.has_long_term_memory()
    {
        return Ok(Due::NEVER);
    }
    let mut moved = 0;
    for _ in 0..PIECES {
        // The head may have moved since the last piece.
        if strategy == ExtractionStrategy::Summary {
            with.store.turn_summary(look.tenant, look.thread.id).await?;
        }
        let left = with.store.unextracted(look.tenant, look.thread.id).await?;
        if left.after_depth >= left.head_depth {
            return Ok(Due::at(left.path_tokens + 1));
        }
        let is_quiet = left.quiet >= with.config.quiet;
        let piece = if is_quiet || left.tokens >= MANY_TOKENS {
            piece(look, &left, is_quiet).await?
        } else {
            None
        };
        let Some(piece) = piece else {
            return Ok(Due {
                path_tokens: left.path_tokens + (MANY_TOKENS - left.tokens).max(1),
                after: Some(with.config.quiet.saturating_sub(left.quiet)),
            });
        };
        let to_seq = piece.to_seq;
        let extracted = match extract(look, strategy, piece).await {
            Ok(extracted) => extracted,
            // It answers, and never as it was asked to: the others must not wait.
            Err(Failure::Distill(error))
                if look.method == Method::Extractive && is_answered(&error) =>
            {
                tracing::warn!(thread_id = %look.thread.id, %error, "facts are given up");
                counter!("recollect_extracted_facts_total", "outcome" => "given_up").increment(1);
                Found::default()
            }
            Err(Failure::Distill(error)) if alone && is_over(look, &error) => {
                tracing::warn!(thread_id = %look.thread.id, %error, "facts wait for the model");
                return Ok(Due {
                    path_tokens: i64::MAX,
                    after: Some(MODEL_PAUSE),
                });
            }
            Err(error) => return Err(error),
        };
        match store(look, strategy, left.generation, to_seq, extracted).await {
            Err(StoreError::ExtractionMoved) if moved == TRIES => return Ok(Due::SOON),
            Err(StoreError::ExtractionMoved) => moved += 1,
            stored => stored?,
        }
    }
    Ok(Due::NOW)
}

/// The strategy that the policy names. Without instructions, or without a model that
/// could follow them, the custom one is the discrete one.
fn strategy(look: &Look<'_>) -> ExtractionStrategy {
    let policy = look.policy;
    let instructions = policy.extraction_instructions.as_str();
    match policy.extraction {
        ExtractionStrategy::Custom
            if instructions.trim().is_empty()
                || look.with.distiller.generation_model().is_none() =>
        {
            ExtractionStrategy::Discrete
        }
        strategy => strategy,
    }
}

/// Whether it is no use to ask the model once more for now.
fn is_over(look: &Look<'_>, error: &DistillError) -> bool {
    look.method == Method::Extractive || error.is_spent()
}

/// Whether the model did answer, and its answer is of no use.
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

/// Messages to look at next, in whole turns: a turn begins with what a user says,
/// and the newest one is over when the thread is quiet. `None`: none is over. One
/// that is larger than a piece is looked at in parts.
async fn piece(
    look: &Look<'_>,
    left: &Unextracted,
    is_quiet: bool,
) -> Result<Option<Piece>, Failure> {
    let query = StretchQuery {
        thread: look.thread.id,
        head: left.head,
        after_depth: left.after_depth,
        to_depth: i32::MAX,
        max_messages: PIECE_MESSAGES,
        max_tokens: PIECE_TOKENS,
        max_bytes: PIECE_BYTES,
    };
    let stretch = look.with.store.read_stretch(look.tenant, &query).await?;
    let mut piece = cut(stretch.messages, stretch.more, is_quiet);
    if let Some(piece) = &mut piece {
        let imported = stretch.imported;
        piece.messages.retain(|one| !imported.contains(&one.id));
    }
    Ok(piece)
}

/// Messages to look at, and the seq up to which they were looked at then.
struct Piece {
    messages: Vec<Message>,
    to_seq: i64,
}

/// What was found in a piece.
struct Found {
    facts: Vec<Fact>,
    made_by: By,
    /// The memories that it goes on from.
    built_on: Vec<(MemoryId, String)>,
}

impl Default for Found {
    fn default() -> Self {
        Self {
            facts: Vec::new(),
            made_by: By::Extractive,
            built_on: Vec::new(),
        }
    }
}

fn cut(mut messages: Vec<Message>, more: bool, is_quiet: bool) -> Option<Piece> {
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
    Some(Piece { messages, to_seq })
}

/// Takes facts out of a piece.
async fn extract(
    look: &Look<'_>,
    strategy: ExtractionStrategy,
    piece: Piece,
) -> Result<Found, Failure> {
    let said = piece
        .messages
        .into_iter()
        .filter(|message| matches!(message.role, Role::User | Role::Assistant))
        .collect();
    let sources = super::source::sources(said);
    if sources.iter().all(|source| source.injected) {
        return Ok(Found::default());
    }
    let owner = MemoryOwner::of(&look.thread.session);
    let known = Known::find(look, strategy, &owner, &sources).await?;
    let (mut facts, made_by) = distill(look, strategy, &sources, &known).await?;
    let mut built_on = Vec::new();
    if strategy == ExtractionStrategy::Summary {
        built_on = known.into_told();
    } else {
        known.merge(look, &owner, &mut facts).await?;
    }
    Ok(Found {
        facts,
        made_by,
        built_on,
    })
}

/// Stores facts, and that the messages up to a seq were looked at, once.
async fn store(
    look: &Look<'_>,
    strategy: ExtractionStrategy,
    generation: i64,
    to_seq: i64,
    found: Found,
) -> Result<(), StoreError> {
    let Found {
        facts,
        made_by,
        built_on,
    } = found;
    let extraction = memory_store::Extraction {
        thread: look.thread.id,
        generation,
        to_seq,
        facts: facts.into_iter().map(stored).collect(),
        made_by: match made_by {
            By::Model(name) => name,
            By::Extractive => "extractive".to_owned(),
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
    } = look
        .with
        .store
        .store_extracted(look.tenant, &extraction)
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

/// Asks for facts. Nobody but a model can follow instructions. Otherwise, where
/// the day's tokens are spent, the extractive distiller answers, because waiting
/// would not help.
async fn distill(
    look: &Look<'_>,
    strategy: ExtractionStrategy,
    sources: &[Source],
    known: &Known,
) -> Result<(Vec<Fact>, By), Failure> {
    let alone = strategy == ExtractionStrategy::Custom;
    let extraction = Extraction {
        strategy,
        instructions: look.policy.extraction_instructions.as_str(),
        messages: sources,
        known: known.facts(),
    };
    let distiller = &look.with.distiller;
    let method = if alone { Method::Model } else { look.method };
    let made = match distiller.extract(look.tenant, method, extraction).await {
        Err(error) if !alone && error.is_spent() => {
            distiller
                .extract(look.tenant, Method::Extractive, extraction)
                .await
        }
        made => made,
    };
    if let Err(DistillError::Malformed { .. }) = &made {
        counter!("recollect_model_answers_malformed_total").increment(1);
    }
    let Distilled { value, by } = made?;
    let unproven = u64::try_from(value.dropped.without_evidence).unwrap_or_default();
    counter!("recollect_extracted_facts_total", "outcome" => "unproven").increment(unproven);
    Ok((value.facts, by))
}

fn stored(fact: Fact) -> memory_store::Fact {
    let Fact {
        text,
        kind,
        event_date,
        topics,
        entities,
        evidence,
        supersedes,
    } = fact;
    memory_store::Fact {
        text,
        kind: match kind {
            FactKind::Semantic => MemoryType::Semantic,
            FactKind::Episodic => MemoryType::Episodic,
        },
        topics,
        entities,
        event: event_date.map(|day| day.with_time(Time::MIDNIGHT).assume_utc()),
        sources: evidence,
        supersedes: supersedes.iter().filter_map(|id| told_id(id)).collect(),
    }
}

pub(super) fn describe_metrics() {
    describe_counter!(
        "recollect_extracted_facts_total",
        "Extracted facts, by outcome: stored, known, dropped, superseded, unproven or given_up."
    );
    describe_counter!(
        "recollect_model_answers_malformed_total",
        "Answers of models to extraction that stayed unreadable when asked again."
    );
}

#[cfg(test)]
mod tests {
    use memory_contract::{MessageId, Part, ThreadId};
    use serde_json::Map;
    use time::OffsetDateTime;

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
                id: MessageId::new(),
                thread: ThreadId::new(),
                parent: None,
                seq,
                branch: 1,
                depth: 1,
                role: role(letter),
                name: String::new(),
                parts: vec![Part::Text("Hello.".to_owned())],
                metadata: Map::new(),
                tokens: 1,
                created: OffsetDateTime::UNIX_EPOCH,
            })
            .collect()
    }

    #[test]
    fn pieces_are_whole_turns() {
        let check = |roles: &str, more: bool, is_quiet: bool, expected: Option<(usize, i64)>| {
            let piece = cut(said(roles), more, is_quiet);
            let found = piece.map(|piece| (piece.messages.len(), piece.to_seq));
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
