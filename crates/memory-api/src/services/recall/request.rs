//! Validates recall and search requests.

use memory_contract::proto::{RecallMode, RecallRequest, SearchRequest, UserRef};
use memory_contract::{
    AppId, Invalid, InvalidFields, MemoryMode, MemoryPolicy, MemoryScope, PolicyLevel,
    ResolvedPolicy, Session, ThreadId, UserId, check, filter_from, limits, optional_float,
    scope_from,
};
use memory_recall::RecallQuery;
use memory_store::Scope;

use crate::services::request::{
    Fields, max_wait_from, method_from, revision_from, thread_id_from, tokenizer_from,
};

/// A validated recall request, before the policy fills in what it leaves open.
#[derive(Debug)]
pub(super) struct RecallCall {
    /// Its scope is the narrowest, its numbers are defaults: [`RecallCall::under`] sets
    /// them.
    query: RecallQuery,
    /// The request's own values of policy fields, except `recent_window`.
    policy: MemoryPolicy,
    /// Overrides `window_size` or `recent_window` of the policy, depending on the mode.
    recent_window: Option<u32>,
}

/// Validates a recall request.
///
/// # Errors
/// Every wrong field at once.
pub(super) fn recall_call(request: RecallRequest) -> Result<RecallCall, InvalidFields> {
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
    let target = target(&mut fields, &thread_id, user, scope);
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
    let max_wait = fields.take(max_wait_from(max_wait));
    let Target {
        thread,
        scope,
        breadth,
    } = fields.all(target)?;
    Ok(RecallCall {
        policy: MemoryPolicy {
            mode,
            top_k,
            neighbors_before,
            neighbors_after,
            min_score,
            scope: breadth,
            ..MemoryPolicy::default()
        },
        recent_window,
        query: RecallQuery {
            filter,
            max_tokens: max_tokens.filter(|max| *max > 0).map(count),
            tokenizer,
            method,
            at_least_as_fresh,
            max_wait: max_wait.unwrap_or(limits::DEFAULT_WAIT),
            all_branches,
            explain,
            ..RecallQuery::new(thread, scope, query)
        },
    })
}

/// Validates a search request. Returns the query, and how far it goes beyond its
/// thread, which the thread's owner decides: see [`Scope::of_thread`].
///
/// # Errors
/// Every wrong field at once.
pub(super) fn search_query(
    request: SearchRequest,
) -> Result<(RecallQuery, MemoryScope), InvalidFields> {
    let SearchRequest {
        thread_id,
        user,
        scope,
        query,
        limit,
        filter,
        method,
        min_score,
        at_least_as_fresh,
        max_wait,
        all_branches,
    } = request;
    let mut fields = Fields::default();
    let target = target(&mut fields, &thread_id, user, scope);
    let query = fields.take(check::required_text("query", query, limits::QUERY_CHARS));
    let (default, max) = (limits::SEARCH_LIMIT, limits::TOP_K_MAX);
    let top_k = fields.take(check::size("limit", limit, default, max));
    let filter = fields.take(filter_from(filter));
    let method = fields.take(method_from(method));
    let min_score = fields.take(optional_float("min_score", min_score, 0.0, 1.0));
    let at_least_as_fresh = fields.take(revision_from(at_least_as_fresh));
    let max_wait = fields.take(max_wait_from(max_wait));
    let Target {
        thread,
        scope,
        breadth,
    } = fields.all(target)?;
    let query = RecallQuery {
        top_k,
        filter,
        method,
        min_score: min_score.unwrap_or_default(),
        at_least_as_fresh,
        max_wait: max_wait.unwrap_or(limits::DEFAULT_WAIT),
        all_branches,
        ..RecallQuery::new(thread, scope, query)
    };
    Ok((query, breadth.unwrap_or(MemoryScope::Thread)))
}

impl RecallCall {
    /// The conversation at hand.
    pub(super) fn thread(&self) -> Option<ThreadId> {
        self.query.thread
    }

    /// The app of a request that names a user; `None` for a request that names a
    /// thread.
    pub(super) fn app(&self) -> Option<&AppId> {
        match &self.query.scope {
            Scope::User { app, .. } | Scope::App(app) => Some(app),
            Scope::Thread(_) => None,
        }
    }

    /// The policy that holds. The request's own fields are its most specific level.
    pub(super) fn resolve(&self, app: &MemoryPolicy, thread: &MemoryPolicy) -> ResolvedPolicy {
        let resolve = |request: &MemoryPolicy| {
            ResolvedPolicy::resolve(&[
                (PolicyLevel::App, app),
                (PolicyLevel::Thread, thread),
                (PolicyLevel::Request, request),
            ])
        };
        let resolved = resolve(&self.policy);
        let Some(size) = self.recent_window else {
            return resolved;
        };
        let mut request = self.policy.clone();
        if resolved.mode == MemoryMode::Window {
            request.window_size = Some(size);
            // An explicit size implies a bounded window.
            request.window_enabled = (!resolved.window_enabled).then_some(true);
        } else {
            request.recent_window = Some(size);
        }
        resolve(&request)
    }

    /// The query under a policy, from the conversation of `session` if the request names
    /// a thread.
    pub(super) fn under(self, policy: &ResolvedPolicy, session: Option<&Session>) -> RecallQuery {
        let mut query = self.query;
        if let (Some(thread), Some(session)) = (query.thread, session) {
            query.scope = Scope::of_thread(thread, session, policy.scope);
        }
        let (recent_window, top_k) = match policy.mode {
            // A node's memory is not the conversation's.
            MemoryMode::None | MemoryMode::Node => (0, 0),
            MemoryMode::Window => {
                let unbounded = limits::WINDOW_MAX.unsigned_abs();
                (count(policy.window().unwrap_or(unbounded)), 0)
            }
            MemoryMode::Hybrid | MemoryMode::Working | MemoryMode::Observational => {
                (count(policy.recent_window), count(policy.top_k))
            }
        };
        RecallQuery {
            recent_window,
            top_k,
            neighbors_before: count(policy.neighbors_before),
            neighbors_after: count(policy.neighbors_after),
            min_score: policy.min_score,
            ..query
        }
    }
}

/// The thread or the user that a request names.
struct Target {
    thread: Option<ThreadId>,
    /// The thread alone, or the user's or the app's messages.
    scope: Scope,
    /// The scope by name; always set for a user.
    breadth: Option<MemoryScope>,
}

/// Reads the thread or the user, exactly one of which a request names. A user without
/// a scope means all of the user's threads.
fn target(
    fields: &mut Fields,
    thread_id: &str,
    user: Option<UserRef>,
    scope: i32,
) -> Option<Target> {
    let breadth = fields.get(scope_from("scope", scope))?;
    match (thread_id.is_empty(), user) {
        (false, None) => {
            let thread = fields.get(thread_id_from(thread_id))?;
            Some(Target {
                thread: Some(thread),
                scope: Scope::Thread(thread),
                breadth,
            })
        }
        (true, Some(UserRef { app_id, user_id })) => {
            let breadth = breadth.unwrap_or(MemoryScope::User);
            let app = check::required_text("user.app_id", app_id, limits::APP_ID_CHARS);
            let user = match breadth {
                MemoryScope::App => check::text("user.user_id", user_id, limits::USER_ID_CHARS),
                MemoryScope::User | MemoryScope::Thread => {
                    check::required_text("user.user_id", user_id, limits::USER_ID_CHARS)
                }
            };
            if breadth == MemoryScope::Thread {
                fields.take(Err::<(), _>(Invalid::new(
                    "scope",
                    "RECALL_SCOPE_THREAD needs thread_id instead of user",
                )));
            }
            let (app, user) = (fields.get(app), fields.get(user));
            let (app, user) = (AppId::new(app?), UserId::new(user?));
            Some(Target {
                thread: None,
                scope: match breadth {
                    MemoryScope::App => Scope::App(app),
                    MemoryScope::User | MemoryScope::Thread => Scope::User { app, user },
                },
                breadth: Some(breadth),
            })
        }
        (true, None) => fields.get(Err(Invalid::new("thread_id", "is required, or else user"))),
        (false, Some(_)) => fields.get(Err(Invalid::new(
            "user",
            "must not be given together with thread_id",
        ))),
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
