//! Decides the next step for a thread's observations. Pure.

use std::collections::HashSet;

use memory_contract::policy::ResolvedPolicy;
use memory_store::{DistillState, Distillate, Standing};

use crate::distill::due::Due;

/// The number of ranges that the messages in full are divided into.
const RANGES: i64 = 5;
/// A reflection may have 1/REFLECTION of the tokens that observations may have.
const REFLECTION: i64 = 4;
/// If a range cannot be split yet, because a tool has not answered, the next run is due
/// when the path has grown by 1/GROWTH_DIVISOR of a range.
const GROWTH_DIVISOR: i64 = 16;

/// How large messages in full and observations may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limits {
    /// Tokens of messages in full above which observations are activated.
    observer: i64,
    /// Tokens of observations at which they are condensed.
    reflector: i64,
}

/// The next step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Make an observation.
    Observe(Range),
    /// Put prepared observations in the place of their messages.
    Activate(Vec<i64>),
    /// Condense the active observations.
    Reflect {
        /// Activate the reflection at once rather than prepare it.
        active: bool,
    },
    /// Nothing, for now.
    Wait(Due),
}

/// Messages without an observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    /// Their depth is greater than this.
    pub(super) after_depth: i32,
    /// Their depth is at most this.
    pub(super) to_depth: i32,
    /// Tokens to observe, as whole steps.
    pub(super) tokens: i64,
    /// Observed messages follow them: an erasure has freed them.
    pub(super) freed: bool,
    /// The observation is activated at once, because those after it are active.
    pub(super) active: bool,
}

impl Limits {
    pub(super) fn from_policy(policy: &ResolvedPolicy) -> Self {
        Self {
            observer: policy.observer_tokens.into(),
            reflector: policy.reflector_tokens.into(),
        }
    }

    /// The most tokens of a reflection.
    pub(super) fn reflection(self) -> i32 {
        i32::try_from(self.reflector / REFLECTION).unwrap_or(i32::MAX)
    }

    /// The next step. Ranges that begin after a depth in `passed` are skipped, and all of
    /// them unless `may_observe`.
    pub(super) fn next(
        self,
        state: &DistillState,
        passed: &HashSet<i32>,
        may_observe: bool,
    ) -> Step {
        let range = self.observer / RANGES;
        let waiting = self.unobserved(state);
        let due =
            |one: &&Range| !passed.contains(&one.after_depth) && (one.freed || one.tokens >= range);
        let mut more = false;
        if let Some(one) = waiting.iter().find(due) {
            if may_observe {
                let tokens = one.tokens.min(range);
                return Step::Observe(Range { tokens, ..*one });
            }
            more = true;
        }
        self.activate(state, range)
            .or_else(|| self.condense(state))
            .unwrap_or_else(|| match more {
                true => Step::Wait(Due::NOW),
                false => Step::Wait(self.wait(state, &waiting, range)),
            })
    }

    /// The ranges without an observation: those that erasures have freed, in order, then
    /// the newest messages.
    fn unobserved(self, state: &DistillState) -> Vec<Range> {
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
                found.push(Range {
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

    /// Activates whole ranges, the oldest first, once the messages in full exceed the
    /// limit. At least one range stays in full.
    fn activate(self, state: &DistillState, range: i64) -> Option<Step> {
        let mut left = in_full(state);
        if left <= self.observer {
            return None;
        }
        let mut numbers = Vec::new();
        for one in ready(state) {
            left -= one.message_tokens;
            if left < range {
                break;
            }
            numbers.push(one.number);
        }
        (!numbers.is_empty()).then_some(Step::Activate(numbers))
    }

    /// At half of the limit the observations are condensed ahead of time; at the limit the
    /// reflection takes their place.
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

    /// When a step may be due again: when a range is full, or when the messages in full
    /// exceed the limit.
    fn wait(self, state: &DistillState, waiting: &[Range], range: i64) -> Due {
        let newest = waiting.iter().rfind(|one| !one.freed);
        let missing = range - newest.map_or(0, |one| one.tokens);
        let missing = match missing > 0 {
            true => missing,
            false => (range / GROWTH_DIVISOR).max(1),
        };
        let over = match self.observer + 1 - in_full(state) {
            over if over > 0 => over,
            _ => missing,
        };
        Due::at(state.path_tokens.saturating_add(missing.min(over)))
    }
}

/// The active observations and reflections, in order.
pub(super) fn held(state: &DistillState) -> Vec<&Distillate> {
    state.observations_that(Standing::Holds)
}

/// The prepared observations, the oldest messages first.
fn ready(state: &DistillState) -> Vec<&Distillate> {
    let mut ready = state.observations_that(Standing::Ready);
    ready.retain(|one| !one.is_reflection());
    ready
}

/// Tokens of the messages in full, which no active observation covers.
fn in_full(state: &DistillState) -> i64 {
    state.unobserved.iter().map(|raw| raw.message_tokens).sum()
}

#[cfg(test)]
mod tests;
