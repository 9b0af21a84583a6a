//! A recall as it was asked for, and the question that a policy makes of it.

use std::time::Duration;

use memory_budget::Tokenizer;
use memory_contract::proto::{RecallMode, RecallRequest};
use memory_contract::{
    EffectivePolicy, Invalid, InvalidFields, MemoryMode, MemoryPolicy, MemoryScope, MessageFilter,
    check, filter_from, limits, optional_float,
};
use memory_recall::{Method, Mode, RecallQuery, Scope, Target};

use super::fields::Fields;
use super::history::tokenizer_from;
use super::recall_convert::{method_from, revision_from, target, wait_from};

/// A recall as it was asked for. Every limit has been checked.
#[derive(Debug)]
pub(super) struct RecallWanted {
    target: Target,
    /// What the request says of the policy, but for `recent_window`.
    policy: MemoryPolicy,
    /// It stands for one of two fields of a policy, as the mode decides.
    recent_window: Option<u32>,
    query: String,
    filter: MessageFilter,
    max_tokens: Option<usize>,
    tokenizer: Tokenizer,
    method: Method,
    at_least_as_fresh: String,
    max_wait: Duration,
    all_branches: bool,
    explain: bool,
}

/// Reads a recall.
pub(super) fn recall_request(request: RecallRequest) -> Result<RecallWanted, InvalidFields> {
    let RecallRequest {
        thread_id,
        user,
        scope,
        query,
        mode,
        recent_window,
        top_k,
        neighbors_before,
        neighbors_after,
        filter,
        max_tokens,
        model,
        min_score,
        method,
        at_least_as_fresh,
        max_wait,
        all_branches,
        explain,
    } = request;
    let mut fields = Fields::default();
    let whose = target(&mut fields, &thread_id, user, scope);
    let mode = fields.take(mode_from(mode));
    let neighbors = limits::NEIGHBORS_MAX;
    let mut number = |field: &str, value: Option<i32>, max: i32| {
        let value = value.map(|value| check::range(field, value, 0, max));
        fields
            .take(value.transpose())
            .map(|value| value.unsigned_abs())
    };
    let recent_window = number("recent_window", recent_window, limits::WINDOW_MAX);
    let top_k = number("top_k", top_k, limits::TOP_K_MAX);
    let neighbors_before = number("neighbors_before", neighbors_before, neighbors);
    let neighbors_after = number("neighbors_after", neighbors_after, neighbors);
    let max_tokens = number("max_tokens", Some(max_tokens), limits::BUDGET_TOKENS);
    let query = fields.take(check::text("query", query, limits::QUERY_CHARS));
    let filter = fields.take(filter_from(filter));
    let tokenizer = fields.take(tokenizer_from(model));
    let min_score = fields.take(optional_float("min_score", min_score, 0.0, 1.0));
    let method = fields.take(method_from(method));
    let at_least_as_fresh = fields.take(revision_from(at_least_as_fresh));
    let max_wait = fields.take(wait_from(max_wait));
    let (target, scope) = fields.all(whose)?;
    Ok(RecallWanted {
        policy: MemoryPolicy {
            mode,
            top_k,
            neighbors_before,
            neighbors_after,
            min_score,
            scope: scope.or(match target {
                Target::Thread(_) => None,
                Target::User { .. } => Some(MemoryScope::User),
            }),
            ..MemoryPolicy::default()
        },
        target,
        recent_window,
        query,
        filter,
        max_tokens: max_tokens.filter(|max| *max > 0).map(count),
        tokenizer,
        method,
        at_least_as_fresh,
        max_wait: max_wait.unwrap_or(limits::DEFAULT_WAIT),
        all_branches,
        explain,
    })
}

impl RecallWanted {
    /// Whose memory is asked.
    pub(super) fn target(&self) -> &Target {
        &self.target
    }

    /// The policy that holds. The request's own fields count as its policy.
    pub(super) fn effective(&self, app: &MemoryPolicy, thread: &MemoryPolicy) -> EffectivePolicy {
        let effective = EffectivePolicy::of(app, thread, &self.policy);
        let Some(size) = self.recent_window else {
            return effective;
        };
        let mut request = self.policy.clone();
        if effective.mode() == MemoryMode::Window {
            request.window_size = Some(size);
            // A size that is asked for bounds.
            request.window_enabled = effective.window().is_none().then_some(true);
        } else {
            request.recent_window = Some(size);
        }
        EffectivePolicy::of(app, thread, &request)
    }

    /// The question under a policy.
    pub(super) fn query(self, effective: &EffectivePolicy) -> RecallQuery {
        let Self {
            target,
            policy: _,
            recent_window: _,
            query,
            filter,
            max_tokens,
            tokenizer,
            method,
            at_least_as_fresh,
            max_wait,
            all_branches,
            explain,
        } = self;
        let policy = effective.policy();
        let (mode, recent_window) = match effective.mode() {
            // A node's memory is not the conversation's.
            MemoryMode::None | MemoryMode::Node => (Mode::None, Some(0)),
            MemoryMode::Window => {
                let unbounded = limits::WINDOW_MAX.unsigned_abs();
                (Mode::Window, effective.window().or(Some(unbounded)))
            }
            MemoryMode::Hybrid | MemoryMode::Working | MemoryMode::Observational => {
                (Mode::Hybrid, policy.recent_window)
            }
        };
        let defaults = RecallQuery::new(target, scope(effective.scope()), query);
        let or = |value: Option<u32>, default: usize| value.map_or(default, count);
        RecallQuery {
            mode,
            recent_window: or(recent_window, defaults.recent_window),
            top_k: or(policy.top_k, defaults.top_k),
            neighbors_before: or(policy.neighbors_before, defaults.neighbors_before),
            neighbors_after: or(policy.neighbors_after, defaults.neighbors_after),
            min_score: policy.min_score.unwrap_or(defaults.min_score),
            filter,
            max_tokens,
            tokenizer,
            method,
            at_least_as_fresh,
            max_wait,
            all_branches,
            explain,
            ..defaults
        }
    }
}

/// A scope as recall knows it.
pub(super) fn scope(scope: MemoryScope) -> Scope {
    match scope {
        MemoryScope::Thread => Scope::Thread,
        MemoryScope::User => Scope::User,
        MemoryScope::App => Scope::App,
    }
}

fn count(value: u32) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

fn mode_from(mode: i32) -> Result<Option<MemoryMode>, Invalid> {
    match RecallMode::try_from(mode) {
        Ok(RecallMode::Unspecified) => Ok(None),
        Ok(RecallMode::None) => Ok(Some(MemoryMode::None)),
        Ok(RecallMode::Window) => Ok(Some(MemoryMode::Window)),
        Ok(RecallMode::Hybrid) => Ok(Some(MemoryMode::Hybrid)),
        Err(_) => Err(Invalid::new(
            "mode",
            "must be RECALL_MODE_HYBRID, _WINDOW or _NONE",
        )),
    }
}
