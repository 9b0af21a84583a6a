//! Observes ranges ahead of time, activates observations, and condenses them.

mod plan;

use std::collections::HashSet;

use memory_contract::{message::Message, policy::MemoryMode};
use memory_store::{Commit, DistillKind, DistillState, NewObservation, NewReflection, StoreError};

use self::plan::{Limits, Range, Step};
use super::cut::{ends_of_parts, split_points, tokens_of};
use super::due::Due;
use super::failure::Failure;
use super::make::{DerivedText, MAX_COMMITS, MAX_STALE_COMMITS, place};
use super::run::DistillRun;
use super::source::sources;

/// Tokens of messages per token of the observation that covers them.
const DENSITY: i64 = 8;
/// Reflections made in one run: one that is activated, and one ahead of time.
const REFLECTIONS: usize = 2;
/// Tokens of an observation, at least.
const LEAST_TOKENS: i64 = 32;

/// Carries out the due steps, beginning with a state that may be outdated.
pub(super) async fn step(run: &DistillRun<'_>, mut state: DistillState) -> Result<Due, Failure> {
    if run.policy.mode != MemoryMode::Observational {
        return Ok(Due::NEVER);
    }
    let limits = Limits::from_policy(run.policy);
    let (mut stale, mut pieces, mut reflections) = (0, 0, 0);
    // Depths after which ranges begin that cannot be observed now.
    let mut passed: HashSet<i32> = HashSet::new();
    loop {
        let committed = match limits.next(&state, &passed, pieces < MAX_COMMITS) {
            Step::Observe(range) => match observe(run, &state, &range, MAX_COMMITS - pieces).await?
            {
                Observed::Commit(count, commit) => {
                    pieces += count;
                    commit
                }
                Observed::Nothing => {
                    passed.insert(range.after_depth);
                    continue;
                }
            },
            Step::Activate(numbers) => {
                let store = &run.with.store;
                store
                    .distillates(run.caller)
                    .activate_observations(run.thread.id, state.generations.observations, &numbers)
                    .await?
            }
            Step::Reflect { .. } if reflections == REFLECTIONS => {
                return Ok(Due::at(state.path_tokens + 1));
            }
            Step::Reflect { active } => {
                reflections += 1;
                reflect(run, &state, &limits, active).await?
            }
            Step::Wait(due) => return Ok(due),
        };
        match committed {
            Commit::Done(_) => {}
            Commit::Stale if stale == MAX_STALE_COMMITS => return Ok(Due::SOON),
            Commit::Stale => stale += 1,
        }
        state = run.state().await?;
    }
}

/// The result of observing a range.
enum Observed {
    /// So many observations were stored, or none because the state is outdated.
    Commit(usize, Commit),
    /// It has no whole step yet.
    Nothing,
}

/// Observes a range and, of the newest messages, those that follow it, together at most `most`
/// ranges. What a model has made is stored at once, because it is dear.
async fn observe(
    run: &DistillRun<'_>,
    state: &DistillState,
    range: &Range,
    most: usize,
) -> Result<Observed, Failure> {
    let most = match range.freed || run.asks_observer() {
        true => 1,
        false => most,
    };
    let Some(parts) = read(run, state, range, most).await? else {
        return Ok(Observed::Commit(0, Commit::Stale));
    };
    let mut new: Vec<NewObservation> = Vec::with_capacity(parts.len());
    for messages in parts {
        let Some(end) = messages.last().map(place) else {
            continue;
        };
        let size = (tokens_of(&messages) / DENSITY).max(LEAST_TOKENS);
        let size = i32::try_from(size).unwrap_or(i32::MAX);
        let DerivedText { text, tokens, by } = run.observe(&sources(messages), size).await?;
        new.push(NewObservation {
            generation: state.generations.observations,
            end,
            after_depth: new.last().map_or(range.after_depth, |last| last.end.depth),
            text,
            tokens,
            made_by: by,
            active: range.active,
        });
    }
    if new.is_empty() {
        return Ok(Observed::Nothing);
    }
    let store = &run.with.store;
    let committed = store
        .distillates(run.caller)
        .commit_observations(run.thread.id, &new);
    match committed.await {
        // An observation made for a path that ends earlier covers a part of the range
        // that an erasure has freed. The rest stays in full.
        Err(StoreError::Misplaced) if range.freed => Ok(Observed::Nothing),
        committed => match committed? {
            Commit::Stale => Ok(Observed::Commit(0, Commit::Stale)),
            done => {
                for one in &new {
                    run.stored("observation", &one.made_by);
                }
                Ok(Observed::Commit(new.len(), done))
            }
        },
    }
}

/// The messages to observe together, which are whole steps, for at most `most` observations;
/// empty: none. `None` if the state is outdated.
async fn read(
    run: &DistillRun<'_>,
    state: &DistillState,
    range: &Range,
    most: usize,
) -> Result<Option<Vec<Vec<Message>>>, Failure> {
    let Range {
        after_depth,
        to_depth,
        tokens,
        freed,
        active: _,
    } = *range;
    let ranges = i64::try_from(most).unwrap_or(i64::MAX);
    // Steps exceed the ranges; more is read if one exceeds all of this.
    let enough = tokens.saturating_mul(ranges).saturating_mul(2);
    for max_tokens in [enough, i64::MAX] {
        let read = run.read(
            state,
            DistillKind::Observation,
            after_depth,
            to_depth,
            max_tokens,
        );
        let read = read.await?;
        let Some(range) = read else {
            return Ok(None);
        };
        let messages = range.messages;
        let places = split_points(&messages);
        let mut ends = ends_of_parts(&messages, &places, tokens);
        ends.truncate(most);
        if ends.is_empty() {
            match places.last() {
                _ if range.more && max_tokens < i64::MAX => continue,
                // Messages with others behind them need not wait for a step to end.
                _ if freed && !range.more => ends.push(messages.len()),
                // A step that is too large to be read whole.
                None if range.more => ends.push(messages.len()),
                Some(place) if range.more => ends.push(*place),
                _ => {}
            }
        }
        return Ok(Some(parts(messages, &ends)));
    }
    Ok(Some(Vec::new()))
}

/// The messages before each end that are after the end before it.
fn parts(messages: Vec<Message>, ends: &[usize]) -> Vec<Vec<Message>> {
    let mut messages = messages.into_iter();
    let mut start = 0;
    let part = |end: &usize| {
        let count = end - start;
        start = *end;
        messages.by_ref().take(count).collect()
    };
    ends.iter().map(part).collect()
}

async fn reflect(
    run: &DistillRun<'_>,
    state: &DistillState,
    limits: &Limits,
    active: bool,
) -> Result<Commit, Failure> {
    let held = plan::held(state);
    let texts: Vec<&str> = held.iter().map(|one| one.text.as_str()).collect();
    let DerivedText { text, tokens, by } =
        run.reflect(&texts.join("\n"), limits.reflection()).await?;
    let new = NewReflection {
        generation: state.generations.observations,
        reflects: held.iter().map(|one| one.number).collect(),
        text,
        tokens,
        made_by: by.clone(),
        active,
    };
    let store = &run.with.store;
    let committed = store
        .distillates(run.caller)
        .commit_reflection(run.thread.id, &new)
        .await?;
    if committed != Commit::Stale {
        run.stored("reflection", &by);
    }
    Ok(committed)
}
