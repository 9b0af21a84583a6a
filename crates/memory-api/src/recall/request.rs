//! Validates recall and search requests.

use std::time::{Duration, Instant};

use memory_budget::Tokenizer;
use memory_context::Resolved;
use memory_contract::proto::{self, RecallRequest, SearchRequest, recall_request::Budget};
use memory_contract::{
    AppId, Invalid, InvalidFields, ThreadId, check,
    convert::{filter_from, optional_float, scope_from},
    limits,
    message::MessageFilter,
    policy::{MemoryPolicy, MemoryScope, PolicyLevel},
};
use memory_recall::{Clock, Freshness, Method, RecallQuery};
use memory_store::Scope;
use tonic::metadata::MetadataMap;

use memory_grpc::request::{
    Fields, NamedConversation, Target, clock_from, freshness_from, method_from, policy_at,
    required_target_from, search_top_k_from, shortened_wait, tokenizer_from,
};

/// A validated recall request, before its scope and the policy are read.
#[derive(Debug)]
pub(super) struct RecallCall {
    /// The text to search for.
    pub(super) text: String,
    pub(super) method: Method,
    pub(super) tokenizer: Tokenizer,
    /// The request's own level of the policy.
    pub(super) policy: MemoryPolicy,
    /// Whether the answer says which policy applied and what was left out.
    pub(super) explain: bool,
    clock: Clock,
    filter: MessageFilter,
    max_tokens: Option<usize>,
    freshness: Freshness,
    max_wait: Duration,
    all_branches: bool,
}

/// A validated search request, before its scope is read.
#[derive(Debug)]
pub(super) struct SearchCall {
    /// The text to search for.
    pub(super) text: String,
    pub(super) method: Method,
    /// How far beyond a conversation to search; `None`: as the policy says.
    pub(super) scope: Option<MemoryScope>,
    clock: Clock,
    top_k: usize,
    filter: MessageFilter,
    min_score: f32,
    freshness: Freshness,
    max_wait: Duration,
    all_branches: bool,
}

/// Validates a recall request.
///
/// # Errors
/// Every wrong field at once.
pub(super) fn recall_call(
    metadata: &MetadataMap,
    request: RecallRequest,
) -> Result<(NamedPlace, RecallCall), InvalidFields> {
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
        query_time,
    } = request;
    let mut fields = Fields::default();
    let policy = fields.get_all(policy_at(PolicyLevel::Request, policy));
    let scope = policy.as_ref().and_then(|policy| policy.scope);
    let place = place_from(&mut fields, metadata, target, ("policy.scope", scope));
    let query = fields.take(check::text("query", query, limits::QUERY_CHARS));
    let clock = fields.get(clock_from(query_time));
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
    let asked = clock.zip(freshness);
    let ((place, policy), (clock, (freshness, max_wait))) =
        fields.all(place.zip(policy).zip(asked))?;
    let call = RecallCall {
        text: query,
        method,
        tokenizer,
        policy,
        explain,
        clock,
        filter,
        max_tokens,
        freshness,
        max_wait,
        all_branches,
    };
    Ok((place, call))
}

/// Validates a search request.
///
/// # Errors
/// Every wrong field at once.
pub(super) fn search_call(
    metadata: &MetadataMap,
    request: SearchRequest,
) -> Result<(NamedPlace, SearchCall), InvalidFields> {
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
        query_time,
    } = request;
    let mut fields = Fields::default();
    let scope = fields.take(scope_from("scope", scope));
    let place = place_from(&mut fields, metadata, target, ("scope", scope));
    let query = fields.take(check::required_text("query", query, limits::QUERY_CHARS));
    let clock = fields.get(clock_from(query_time));
    let top_k = fields.take(search_top_k_from(top_k));
    let filter = fields.take(filter_from(filter));
    let method = fields.take(method_from(method));
    let min_score = fields.take(optional_float("min_score", min_score, 0.0, 1.0));
    let freshness = fields.get(freshness_from(freshness));
    let (place, (clock, (freshness, max_wait))) = fields.all(place.zip(clock.zip(freshness)))?;
    let call = SearchCall {
        text: query,
        method,
        scope,
        clock,
        top_k,
        filter,
        min_score: min_score.unwrap_or_default(),
        freshness,
        max_wait,
        all_branches,
    };
    Ok((place, call))
}

impl RecallCall {
    /// The query of what it may find, with waits that end at `deadline`; `None` if it may find
    /// nothing.
    pub(super) fn query(self, resolved: Resolved, deadline: Instant) -> Option<RecallQuery> {
        let Resolved {
            thread,
            thread_ordinal,
            policy,
            scope,
            space: _,
            owner: _,
        } = resolved;
        Some(RecallQuery {
            thread_ordinal,
            clock: Some(self.clock),
            filter: self.filter,
            max_tokens: self.max_tokens,
            tokenizer: self.tokenizer,
            method: self.method,
            freshness: self.freshness,
            max_wait: shortened_wait(deadline, self.max_wait),
            all_branches: self.all_branches,
            omissions: if self.explain { limits::OMITTED } else { 0 },
            ..RecallQuery::under(&policy, thread, scope?, self.text)
        })
    }
}

impl SearchCall {
    /// The query in a scope, with waits that end at `deadline`.
    pub(super) fn query(
        self,
        thread: Option<ThreadId>,
        scope: Scope,
        deadline: Instant,
    ) -> RecallQuery {
        RecallQuery {
            clock: Some(self.clock),
            top_k: self.top_k,
            filter: self.filter,
            method: self.method,
            min_score: self.min_score,
            freshness: self.freshness,
            max_wait: shortened_wait(deadline, self.max_wait),
            all_branches: self.all_branches,
            ..RecallQuery::new(thread, scope, self.text)
        }
    }
}

/// Where a request searches.
#[derive(Debug)]
pub(super) enum NamedPlace {
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
) -> Option<NamedPlace> {
    let place = match fields.get_all(required_target_from(metadata, target)) {
        Some(Target::Thread(named)) => Some(NamedPlace::Conversation(named)),
        Some(Target::User(_, user)) if user.is_empty() => {
            let problem = "is required; an app searches the threads of all users";
            fields.get(Err(Invalid::new("target.user.user_id", problem)))
        }
        Some(Target::User(app, user)) => Some(NamedPlace::Others {
            scope: Scope::User {
                app: app.clone(),
                user,
            },
            app,
        }),
        Some(Target::App(app)) => Some(NamedPlace::Others {
            scope: Scope::App(app.clone()),
            app,
        }),
        None => None,
    };
    if let (Some(NamedPlace::Others { .. }), Some(_)) = (&place, scope) {
        fields.take(Err::<(), _>(Invalid::new(
            scope_field,
            "must not be given with a user or an app; it applies to threads",
        )));
    }
    place
}

fn count(value: u32) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}
