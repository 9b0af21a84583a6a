//! Validates recall and search requests.

use memory_budget::Tokenizer;
use memory_contract::proto::{self, RecallRequest, SearchRequest, recall_request::Budget};
use memory_contract::{
    AppId, Invalid, InvalidFields, MemoryMode, MemoryPolicy, MemoryScope, PolicyLevel,
    ResolvedPolicy, ThreadId, check, filter_from, limits, optional_float, scope_from,
};
use memory_recall::RecallQuery;
use memory_store::Scope;
use tonic::metadata::MetadataMap;
use uuid::Uuid;

use memory_grpc::request::{
    Fields, NamedConversation, Target, freshness_from, method_from, policy_at,
    required_target_from, search_top_k_from, tokenizer_from,
};

/// A validated recall request, before the policy fills in what it leaves open.
#[derive(Debug)]
pub(super) struct RecallCall {
    /// It searches nothing, and its numbers are defaults: [`RecallCall::under`] sets
    /// them.
    query: RecallQuery,
    /// The request's own level of the policy.
    pub(super) policy: MemoryPolicy,
    /// Whether the answer says which policy applied and what was left out.
    pub(super) explain: bool,
}

/// Validates a recall request.
///
/// # Errors
/// Every wrong field at once.
pub(super) fn recall_call(
    metadata: &MetadataMap,
    request: RecallRequest,
) -> Result<(Place, RecallCall), InvalidFields> {
    let RecallRequest {
        target,
        query,
        policy,
        filter,
        budget,
        model,
        method,
        freshness,
        all_branches,
        explain,
    } = request;
    let mut fields = Fields::default();
    let policy = fields.get_all(policy_at(PolicyLevel::Request, policy));
    let scope = policy.as_ref().and_then(|policy| policy.scope);
    let place = place_from(&mut fields, metadata, target, ("policy.scope", scope));
    let query = fields.take(check::text("query", query, limits::QUERY_CHARS));
    let filter = fields.take(filter_from(filter));
    let max_tokens = match budget {
        Some(Budget::MaxTokens(max)) => {
            let max = check::range("max_tokens", max, 1, limits::BUDGET_TOKENS);
            Some(count(fields.take(max).unsigned_abs()))
        }
        Some(Budget::Unlimited(())) | None => None,
    };
    let tokenizer = fields.take(tokenizer_from(model));
    let method = fields.take(method_from(method));
    let freshness = fields.get(freshness_from(freshness));
    let ((place, policy), (freshness, max_wait)) = fields.all(place.zip(policy).zip(freshness))?;
    let call = RecallCall {
        policy,
        explain,
        query: RecallQuery {
            filter,
            max_tokens,
            tokenizer,
            method,
            freshness,
            max_wait,
            all_branches,
            omissions: if explain { limits::OMITTED } else { 0 },
            ..RecallQuery::new(None, nothing(), query)
        },
    };
    Ok((place, call))
}

/// Validates a search request. Returns where to search, how far beyond a conversation
/// (`None`: as the policy says), and a query that searches nothing until it gets its
/// scope.
///
/// # Errors
/// Every wrong field at once.
pub(super) fn search_query(
    metadata: &MetadataMap,
    request: SearchRequest,
) -> Result<(Place, Option<MemoryScope>, RecallQuery), InvalidFields> {
    let SearchRequest {
        target,
        scope,
        query,
        top_k,
        filter,
        method,
        min_score,
        freshness,
        all_branches,
    } = request;
    let mut fields = Fields::default();
    let scope = fields.take(scope_from("scope", scope));
    let place = place_from(&mut fields, metadata, target, ("scope", scope));
    let query = fields.take(check::required_text("query", query, limits::QUERY_CHARS));
    let top_k = fields.take(search_top_k_from(top_k));
    let filter = fields.take(filter_from(filter));
    let method = fields.take(method_from(method));
    let min_score = fields.take(optional_float("min_score", min_score, 0.0, 1.0));
    let freshness = fields.get(freshness_from(freshness));
    let (place, (freshness, max_wait)) = fields.all(place.zip(freshness))?;
    let query = RecallQuery {
        top_k,
        filter,
        method,
        min_score: min_score.unwrap_or_default(),
        freshness,
        max_wait,
        all_branches,
        ..RecallQuery::new(None, nothing(), query)
    };
    Ok((place, scope, query))
}

impl RecallCall {
    /// The query without a scope.
    pub(super) fn query(&self) -> &RecallQuery {
        &self.query
    }

    pub(super) fn tokenizer(&self) -> Tokenizer {
        self.query.tokenizer
    }

    /// The query under a policy, in a scope. The thread comes with its place in the order of creation
    /// of all threads.
    pub(super) fn under(
        self,
        policy: &ResolvedPolicy,
        thread: Option<(ThreadId, i64)>,
        scope: Scope,
    ) -> RecallQuery {
        let query = self.query;
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
            thread: thread.map(|(thread, _)| thread),
            thread_ordinal: thread.map_or(0, |(_, ordinal)| ordinal),
            scope,
            recent_window,
            top_k,
            neighbors_before: count(policy.neighbors_before),
            neighbors_after: count(policy.neighbors_after),
            min_score: policy.min_score,
            ..query
        }
    }
}

/// Where a request searches.
#[derive(Debug)]
pub(super) enum Place {
    /// From one conversation.
    Conversation(NamedConversation),
    /// Among the threads of a user or an app.
    Others { app: AppId, scope: Scope },
}

/// Reads where to search. `scope` is the field that says how far beyond a conversation,
/// with its value.
fn place_from(
    fields: &mut Fields,
    metadata: &MetadataMap,
    target: Option<proto::Target>,
    (scope_field, scope): (&str, Option<MemoryScope>),
) -> Option<Place> {
    let place = match fields.get_all(required_target_from(metadata, target)) {
        Some(Target::Thread(named)) => Some(Place::Conversation(named)),
        Some(Target::User(_, user)) if user.is_empty() => {
            let problem = "is required; an app searches the threads of all users";
            fields.get(Err(Invalid::new("target.user.user_id", problem)))
        }
        Some(Target::User(app, user)) => Some(Place::Others {
            scope: Scope::User {
                app: app.clone(),
                user,
            },
            app,
        }),
        Some(Target::App(app)) => Some(Place::Others {
            scope: Scope::App(app.clone()),
            app,
        }),
        None => None,
    };
    if let (Some(Place::Others { .. }), Some(_)) = (&place, scope) {
        fields.take(Err::<(), _>(Invalid::new(
            scope_field,
            "must not be given with a user or an app; it applies to threads",
        )));
    }
    place
}

/// The scope of a query whose place is not known yet.
fn nothing() -> Scope {
    Scope::Thread(ThreadId::from(Uuid::nil()))
}

fn count(value: u32) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}
