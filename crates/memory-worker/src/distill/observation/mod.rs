//! Observes stretches ahead, swaps them in, and condenses observations.

mod plan;

use std::collections::HashSet;

use memory_contract::{MemoryMode, Message};
use memory_store::{Commit, DistillKind, DistillState, NewObservation, NewReflection, StoreError};

use self::plan::{Limits, Step, Stretch};
use super::cut::{seams, tokens_of};
use super::make::{Made, PIECES, STALE, place};
use super::source::sources;
use super::{Due, Failure, Look};

/// An observation is this part of what it stands for.
const DENSITY: i64 = 8;
/// Reflections that one look makes: one in place, and one ahead.
const REFLECTIONS: usize = 2;
/// The least tokens of an observation.
const LEAST_TOKENS: i64 = 32;

pub(super) async fn step(look: &Look<'_>) -> Result<Due, Failure> {
    if look.policy.mode != MemoryMode::Observational {
        return Ok(Due::NEVER);
    }
    let limits = Limits::of(look.policy);
    let (mut stale, mut pieces, mut reflections) = (0, 0, 0);
    // Where stretches begin that cannot be observed now.
    let mut passed: HashSet<i32> = HashSet::new();
    loop {
        let state = look.state().await?;
        let committed = match limits.next(&state, &passed, pieces < PIECES) {
            Step::Observe(stretch) => match observe(look, &state, &stretch).await? {
                Observed::Commit(commit) => {
                    pieces += usize::from(commit != Commit::Stale);
                    commit
                }
                Observed::Nothing => {
                    passed.insert(stretch.after_depth);
                    continue;
                }
            },
            Step::Activate(numbers) => {
                let store = &look.with.store;
                store
                    .activate_observations(
                        look.tenant,
                        look.thread.id,
                        state.generations.observations,
                        &numbers,
                    )
                    .await?
            }
            Step::Reflect { .. } if reflections == REFLECTIONS => {
                return Ok(Due::at(state.path_tokens + 1));
            }
            Step::Reflect { active } => {
                reflections += 1;
                reflect(look, &state, &limits, active).await?
            }
            Step::Wait(due) => return Ok(due),
        };
        match committed {
            Commit::Done(_) => {}
            Commit::Stale if stale == STALE => return Ok(Due::SOON),
            Commit::Stale => stale += 1,
        }
    }
}

/// What became of a stretch.
enum Observed {
    Commit(Commit),
    /// Nothing in it can be observed now.
    Nothing,
}

async fn observe(
    look: &Look<'_>,
    state: &DistillState,
    stretch: &Stretch,
) -> Result<Observed, Failure> {
    let Some(messages) = read(look, state, stretch).await? else {
        return Ok(Observed::Commit(Commit::Stale));
    };
    let Some(end) = messages.last().map(place) else {
        return Ok(Observed::Nothing);
    };
    let size = (tokens_of(&messages) / DENSITY).max(LEAST_TOKENS);
    let size = i32::try_from(size).unwrap_or(i32::MAX);
    let Made { text, tokens, by } = look.observe(&sources(messages), size).await?;
    let new = NewObservation {
        generation: state.generations.observations,
        end,
        after_depth: stretch.after_depth,
        text,
        tokens,
        made_by: by.clone(),
        active: stretch.active,
    };
    let store = &look.with.store;
    let committed = store.commit_observation(look.tenant, look.thread.id, &new);
    match committed.await {
        // Another one, made for a path that ends earlier, covers a part of what an
        // erasure has freed. It stays in full.
        Err(StoreError::Misplaced) if stretch.freed => Ok(Observed::Nothing),
        committed => {
            let committed = committed?;
            if committed != Commit::Stale {
                look.stored("observation", &by);
            }
            Ok(Observed::Commit(committed))
        }
    }
}

/// The messages to observe together, which are whole steps; empty: none. `None`
/// where the state is not of this moment any more.
async fn read(
    look: &Look<'_>,
    state: &DistillState,
    stretch: &Stretch,
) -> Result<Option<Vec<Message>>, Failure> {
    let Stretch {
        after_depth,
        to_depth,
        tokens,
        freed,
        active: _,
    } = *stretch;
    // A step may be larger than a stretch: then more is read.
    for most in [tokens.saturating_mul(2), i64::MAX] {
        let read = look.read(state, DistillKind::Observation, after_depth, to_depth, most);
        let read = read.await?;
        let Some(stretch) = read else {
            return Ok(None);
        };
        let mut messages = stretch.messages;
        let places = seams(&messages);
        let mut enough = places.iter().copied();
        let enough = enough.find(|place| tokens_of(&messages[..*place]) >= tokens);
        let count = match (enough, places.last()) {
            (Some(place), _) => place,
            (None, _) if stretch.more && most < i64::MAX => continue,
            // What others follow need not wait for a step to end.
            (None, _) if freed && !stretch.more => messages.len(),
            // A step that is too large to be read as a whole.
            (None, None) if stretch.more => messages.len(),
            (None, Some(place)) if stretch.more => *place,
            (None, _) => 0,
        };
        messages.truncate(count);
        return Ok(Some(messages));
    }
    Ok(Some(Vec::new()))
}

async fn reflect(
    look: &Look<'_>,
    state: &DistillState,
    limits: &Limits,
    active: bool,
) -> Result<Commit, Failure> {
    let held = plan::held(state);
    let texts: Vec<&str> = held.iter().map(|one| one.text.as_str()).collect();
    let Made { text, tokens, by } = look.reflect(&texts.join("\n"), limits.reflection()).await?;
    let new = NewReflection {
        generation: state.generations.observations,
        reflects: held.iter().map(|one| one.number).collect(),
        text,
        tokens,
        made_by: by.clone(),
        active,
    };
    let store = &look.with.store;
    let committed = store
        .commit_reflection(look.tenant, look.thread.id, &new)
        .await?;
    if committed != Commit::Stale {
        look.stored("reflection", &by);
    }
    Ok(committed)
}
