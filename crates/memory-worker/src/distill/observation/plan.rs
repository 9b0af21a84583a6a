//! What is to be done next for a thread's observations. Pure.

use std::collections::HashSet;

use memory_contract::ResolvedPolicy;
use memory_store::{DistillState, Distillate, Standing};

use super::super::Due;

/// Stretches that make up what may stand in full.
const STRETCHES: i64 = 5;
/// A reflection is this part of what observations may have.
const REFLECTION: i64 = 4;
/// Where a stretch cannot be parted yet, because a tool has not answered, the next
/// look comes when the path has grown by this part of a stretch.
const PATIENCE: i64 = 16;

/// How large messages in full and observations may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limits {
    /// Tokens of messages in full over which stretches are swapped.
    observer: i64,
    /// Tokens of observations at which they are condensed.
    reflector: i64,
}

/// What is next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// To make an observation.
    Observe(Stretch),
    /// To put what is ready in the place of what it stands for.
    Activate(Vec<i64>),
    /// To condense the observations that hold.
    Reflect {
        /// At once, instead of ahead.
        active: bool,
    },
    /// Nothing, for now.
    Wait(Due),
}

/// Messages without an observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    /// They are deeper than this,
    pub(super) after_depth: i32,
    /// and not deeper than this.
    pub(super) to_depth: i32,
    /// So many of their tokens are wanted, as whole steps.
    pub(super) tokens: i64,
    /// They have messages with observations behind them: an erasure has freed them.
    pub(super) freed: bool,
    /// The observation is to stand in their place at once, because those behind
    /// them have theirs in place.
    pub(super) active: bool,
}

impl Limits {
    pub(super) fn of(policy: &ResolvedPolicy) -> Self {
        Self {
            observer: policy.observer_tokens.into(),
            reflector: policy.reflector_tokens.into(),
        }
    }

    /// The most tokens of a reflection.
    pub(super) fn reflection(self) -> i32 {
        i32::try_from(self.reflector / REFLECTION).unwrap_or(i32::MAX)
    }

    /// What is next. Stretches that begin at a depth in `passed` are left alone, and
    /// all of them unless `may_observe`.
    pub(super) fn next(
        self,
        state: &DistillState,
        passed: &HashSet<i32>,
        may_observe: bool,
    ) -> Step {
        let stretch = self.observer / STRETCHES;
        let waiting = self.unobserved(state);
        let due = |one: &&Stretch| {
            !passed.contains(&one.after_depth) && (one.freed || one.tokens >= stretch)
        };
        let mut more = false;
        if let Some(one) = waiting.iter().find(due) {
            if may_observe {
                let tokens = one.tokens.min(stretch);
                return Step::Observe(Stretch { tokens, ..*one });
            }
            more = true;
        }
        self.swap(state, stretch)
            .or_else(|| self.condense(state))
            .unwrap_or_else(|| match more {
                true => Step::Wait(Due::NOW),
                false => Step::Wait(self.wait(state, &waiting, stretch)),
            })
    }

    /// What has no observation: first what erasures have freed, in order, and at
    /// last the newest messages.
    fn unobserved(self, state: &DistillState) -> Vec<Stretch> {
        let head = state.path.first().map_or(0, |place| place.depth);
        let ready = ready(state);
        let mut found = Vec::new();
        for raw in state.unobserved.iter().filter(|raw| raw.message_count > 0) {
            let newest = raw.to_depth == head;
            let mut after = raw.after_depth;
            let mut tokens = raw.message_tokens;
            let inside = ready
                .iter()
                .filter(|one| raw.after_depth <= one.after_depth && one.end.depth <= raw.to_depth);
            let mut push = |after_depth, to_depth, tokens, freed| {
                found.push(Stretch {
                    after_depth,
                    to_depth,
                    tokens,
                    freed,
                    active: !newest,
                });
            };
            for one in inside {
                if after < one.after_depth {
                    push(after, one.after_depth, self.observer, true);
                }
                after = one.end.depth;
                tokens -= one.message_tokens;
            }
            if after < raw.to_depth {
                let size = if newest { tokens } else { self.observer };
                push(after, raw.to_depth, size, !newest);
            }
        }
        found.sort_by_key(|one| (!one.freed, one.after_depth));
        found
    }

    /// Whole stretches, the oldest first, as soon as too much stands in full. One
    /// stretch stays in full at least.
    fn swap(self, state: &DistillState, stretch: i64) -> Option<Step> {
        let mut left = in_full(state);
        if left <= self.observer {
            return None;
        }
        let mut numbers = Vec::new();
        for one in ready(state) {
            left -= one.message_tokens;
            if left < stretch {
                break;
            }
            numbers.push(one.number);
        }
        (!numbers.is_empty()).then_some(Step::Activate(numbers))
    }

    /// Half the way to the limit the observations are condensed ahead; at the limit
    /// that takes their place.
    fn condense(self, state: &DistillState) -> Option<Step> {
        let held: i64 = held(state).iter().map(|one| i64::from(one.tokens)).sum();
        let ahead = state.observations_that(Standing::Ready).into_iter();
        let ahead = ahead
            .filter(|one| one.is_reflection())
            .max_by_key(|one| one.number);
        let full = held >= self.reflector;
        match ahead {
            Some(ahead) if full => Some(Step::Activate(vec![ahead.number])),
            Some(_) => None,
            None if full => Some(Step::Reflect { active: true }),
            None if held * 2 >= self.reflector => Some(Step::Reflect { active: false }),
            None => None,
        }
    }

    /// When something may be due again: when a stretch is full, or when too much
    /// stands in full.
    fn wait(self, state: &DistillState, waiting: &[Stretch], stretch: i64) -> Due {
        let newest = waiting.iter().rfind(|one| !one.freed);
        let missing = stretch - newest.map_or(0, |one| one.tokens);
        let missing = match missing > 0 {
            true => missing,
            false => (stretch / PATIENCE).max(1),
        };
        let over = match self.observer + 1 - in_full(state) {
            over if over > 0 => over,
            _ => missing,
        };
        Due::at(state.path_tokens.saturating_add(missing.min(over)))
    }
}

/// The observations and reflections that are the block, in order.
pub(super) fn held(state: &DistillState) -> Vec<&Distillate> {
    state.observations_that(Standing::Holds)
}

/// The observations that are ready, the oldest messages first.
fn ready(state: &DistillState) -> Vec<&Distillate> {
    let mut ready = state.observations_that(Standing::Ready);
    ready.retain(|one| !one.is_reflection());
    ready
}

/// Tokens of messages that stand in full.
fn in_full(state: &DistillState) -> i64 {
    state.unobserved.iter().map(|raw| raw.message_tokens).sum()
}

#[cfg(test)]
mod tests;
