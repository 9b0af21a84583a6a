//! Observes ranges ahead of time, activates observations, and condenses them.

mod plan;

use std::collections::HashSet;

use memory_contract::{MemoryMode, Message};
use memory_store::{Commit, DistillKind, DistillState, NewObservation, NewReflection, StoreError};

use self::plan::{Limits, Range, Step};
use super::cut::{split_points, tokens_of};
use super::make::{MAX_COMMITS, MAX_STALE_COMMITS, Made, place};
use super::source::sources;
use super::{DistillRun, Due, Failure};

/// Tokens of messages per token of the observation that covers them.
const DENSITY: i64 = 8;
/// Reflections made in one run: one that is activated, and one ahead of time.
const REFLECTIONS: usize = 2;
/// Tokens of an observation, at least.
const LEAST_TOKENS: i64 = 32;

pub(super) async fn step(run: &DistillRun<'_>) -> Result<Due, Failure> {
    if run.policy.mode != MemoryMode::Observational {
        return Ok(Due::NEVER);
    }
    let limits = Limits::of(run.policy);
    let (mut stale, mut pieces, mut reflections) = (0, 0, 0);
    // Depths after which ranges begin that cannot be observed now.
    let mut passed: HashSet<i32> = HashSet::new();
    loop {
        let state = run.state().await?;
        let committed = match limits.next(&state, &passed, pieces < MAX_COMMITS) {
            Step::Observe(range) => match observe(run, &state, &range).await? {
                Observed::Commit(commit) => {
                    pieces += usize::from(commit != Commit::Stale);
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
    }
}

/// The result of observing a range.
enum Observed {
    Commit(Commit),
    /// It has no whole step yet.
    Nothing,
}

async fn observe(
    run: &DistillRun<'_>,
    state: &DistillState,
    range: &Range,
) -> Result<Observed, Failure> {
    let Some(messages) = read(run, state, range).await? else {
        return Ok(Observed::Commit(Commit::Stale));
    };
    let Some(end) = messages.last().map(place) else {
        return Ok(Observed::Nothing);
    };
    let size = (tokens_of(&messages) / DENSITY).max(LEAST_TOKENS);
    let size = i32::try_from(size).unwrap_or(i32::MAX);
    let Made { text, tokens, by } = run.observe(&sources(messages), size).await?;
    let new = NewObservation {
        generation: state.generations.observations,
        end,
        after_depth: range.after_depth,
        text,
        tokens,
        made_by: by.clone(),
        active: range.active,
    };
    let store = &run.with.store;
    let committed = store
        .distillates(run.caller)
        .commit_observation(run.thread.id, &new);
    match committed.await {
        // An observation made for a path that ends earlier covers a part of the range
        // that an erasure has freed. The rest stays in full.
        Err(StoreError::Misplaced) if range.freed => Ok(Observed::Nothing),
        committed => {
            let committed = committed?;
            if committed != Commit::Stale {
                run.stored("observation", &by);
            }
            Ok(Observed::Commit(committed))
        }
    }
}

/// The messages to observe together, which are whole steps; empty: none. `None` if the
/// state is outdated.
async fn read(
    run: &DistillRun<'_>,
    state: &DistillState,
    range: &Range,
) -> Result<Option<Vec<Message>>, Failure> {
    let Range {
        after_depth,
        to_depth,
        tokens,
        freed,
        active: _,
    } = *range;
    // More is read if a step exceeds the range.
    for most in [tokens.saturating_mul(2), i64::MAX] {
        let read = run.read(state, DistillKind::Observation, after_depth, to_depth, most);
        let read = read.await?;
        let Some(range) = read else {
            return Ok(None);
        };
        let mut messages = range.messages;
        let places = split_points(&messages);
        let mut enough = places.iter().copied();
        let enough = enough.find(|place| tokens_of(&messages[..*place]) >= tokens);
        let count = match (enough, places.last()) {
            (Some(place), _) => place,
            (None, _) if range.more && most < i64::MAX => continue,
            // Messages with others behind them need not wait for a step to end.
            (None, _) if freed && !range.more => messages.len(),
            // A step that is too large to be read whole.
            (None, None) if range.more => messages.len(),
            (None, Some(place)) if range.more => *place,
            (None, _) => 0,
        };
        messages.truncate(count);
        return Ok(Some(messages));
    }
    Ok(Some(Vec::new()))
}

async fn reflect(
    run: &DistillRun<'_>,
    state: &DistillState,
    limits: &Limits,
    active: bool,
) -> Result<Commit, Failure> {
    let held = plan::held(state);
    let texts: Vec<&str> = held.iter().map(|one| one.text.as_str()).collect();
    let Made { text, tokens, by } = run.reflect(&texts.join("\n"), limits.reflection()).await?;
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
