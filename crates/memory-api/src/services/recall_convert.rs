//! Recall's requests and answers: between the wire and `memory-recall`.

use std::time::Duration;

use memory_budget::Tokenizer;
use memory_contract::proto::{self, RecallResponse, SearchMethod, SearchRequest, UserRef};
use memory_contract::{
    AppId, EffectivePolicy, Invalid, InvalidFields, MemoryScope, UserId, check, duration_in,
    filter_from, limits, optional_float, scope_from,
};
use memory_recall::{
    Degradation, DegradationReason, Method, Omission, OmissionReason, Reason, Recalled,
    RecalledMessage, SearchQuery, Target,
};
use memory_store::Revision;
use prost_types::Duration as ProtoDuration;

use super::fields::Fields;
use super::recall_request;
use super::threads::thread_id_from;

/// Reads a search.
pub(super) fn search_query(request: SearchRequest) -> Result<SearchQuery, InvalidFields> {
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
    let whose = target(&mut fields, &thread_id, user, scope);
    let query = fields.take(check::required_text("query", query, limits::QUERY_CHARS));
    let limit = fields.take(check::size(
        "limit",
        limit,
        limits::SEARCH_LIMIT,
        limits::TOP_K_MAX,
    ));
    let filter = fields.take(filter_from(filter));
    let method = fields.take(method_from(method));
    let min_score = fields.take(optional_float("min_score", min_score, 0.0, 1.0));
    let at_least_as_fresh = fields.take(revision_from(at_least_as_fresh));
    let max_wait = fields.take(wait_from(max_wait));
    let (target, scope) = fields.all(whose)?;
    let scope = scope.unwrap_or(match target {
        Target::Thread(_) => MemoryScope::Thread,
        Target::User { .. } => MemoryScope::User,
    });
    Ok(SearchQuery {
        target,
        scope: recall_request::scope(scope),
        query,
        limit,
        filter,
        method,
        min_score: min_score.unwrap_or_default(),
        at_least_as_fresh,
        max_wait: max_wait.unwrap_or(limits::DEFAULT_WAIT),
        all_branches,
    })
}

/// Sends what was recalled.
pub(super) fn recalled_response(
    recalled: Recalled,
    tokenizer: Tokenizer,
    effective: EffectivePolicy,
) -> RecallResponse {
    let Recalled {
        messages,
        total_tokens,
        degradations,
        omitted,
    } = recalled;
    RecallResponse {
        messages: messages.into_iter().map(recalled_message).collect(),
        total_tokens: i32::try_from(total_tokens).unwrap_or(i32::MAX),
        tokenizer: tokenizer.name().to_owned(),
        degradations: degradations.into_iter().map(degradation).collect(),
        omitted: omitted
            .into_iter()
            .take(limits::OMITTED)
            .map(omission)
            .collect(),
        effective_policy: Some(effective.into()),
    }
}

/// Sends a message and why it is there.
pub(super) fn recalled_message(recalled: RecalledMessage) -> proto::RecalledMessage {
    let RecalledMessage {
        message,
        reasons,
        rank,
        score,
        dense_score,
        lexical_score,
        neighbor_of,
    } = recalled;
    proto::RecalledMessage {
        message: Some(message.into()),
        reasons: reasons.into_iter().map(reason).collect(),
        rank: i32::try_from(rank).unwrap_or(i32::MAX),
        score,
        dense_score,
        lexical_score,
        neighbor_of: neighbor_of.into_iter().map(|id| id.to_string()).collect(),
    }
}

/// Sends why a message is there.
pub(super) fn reason(reason: Reason) -> i32 {
    match reason {
        Reason::Recent => proto::RecallReason::Recent,
        Reason::Match => proto::RecallReason::Match,
        Reason::Neighbor => proto::RecallReason::Neighbor,
    }
    .into()
}

/// Sends a degradation.
pub(super) fn degradation(degradation: Degradation) -> proto::Degradation {
    let Degradation { reason, message } = degradation;
    let reason = match reason {
        DegradationReason::IndexUnavailable => proto::DegradationReason::IndexUnavailable,
        DegradationReason::EmbedderUnavailable => proto::DegradationReason::EmbedderUnavailable,
        DegradationReason::IndexLagging => proto::DegradationReason::IndexLagging,
        DegradationReason::NotIndexed => proto::DegradationReason::NotIndexed,
        DegradationReason::IndexRebuilding => proto::DegradationReason::IndexRebuilding,
    };
    proto::Degradation {
        reason: reason.into(),
        message,
    }
}

/// Sends what was left out.
pub(super) fn omission(omission: Omission) -> proto::OmittedMessage {
    let Omission {
        message,
        reason,
        score,
    } = omission;
    let reason = match reason {
        OmissionReason::Budget => proto::OmissionReason::Budget,
        OmissionReason::Duplicate => proto::OmissionReason::Duplicate,
        OmissionReason::Threshold => proto::OmissionReason::Threshold,
        OmissionReason::Rank => proto::OmissionReason::Rank,
        OmissionReason::Branch => proto::OmissionReason::Branch,
    };
    proto::OmittedMessage {
        message_id: message.to_string(),
        reason: reason.into(),
        score,
    }
}

/// Whose memory, and how much of it: a thread or a user, just one of the two. A
/// user without a scope stands for all threads of the user.
pub(super) fn target(
    fields: &mut Fields,
    thread_id: &str,
    user: Option<UserRef>,
    scope: i32,
) -> Option<(Target, Option<MemoryScope>)> {
    let scope = fields.get(scope_from("scope", scope))?;
    match (thread_id.is_empty(), user) {
        (false, None) => {
            let thread = fields.get(thread_id_from(thread_id))?;
            Some((Target::Thread(thread), scope))
        }
        (true, Some(UserRef { app_id, user_id })) => {
            let app = check::required_text("user.app_id", app_id, limits::APP_ID_CHARS);
            let user = match scope {
                Some(MemoryScope::App) => {
                    check::text("user.user_id", user_id, limits::USER_ID_CHARS)
                }
                Some(MemoryScope::User | MemoryScope::Thread) | None => {
                    check::required_text("user.user_id", user_id, limits::USER_ID_CHARS)
                }
            };
            if scope == Some(MemoryScope::Thread) {
                fields.take(Err::<(), _>(Invalid::new(
                    "scope",
                    "RECALL_SCOPE_THREAD needs thread_id instead of user",
                )));
            }
            let (app, user) = (fields.get(app)?, fields.get(user)?);
            Some((
                Target::User {
                    app: AppId::new(app),
                    user: UserId::new(user),
                },
                scope,
            ))
        }
        (true, None) => fields.get(Err(Invalid::new("thread_id", "is required, or else user"))),
        (false, Some(_)) => fields.get(Err(Invalid::new(
            "user",
            "must not be given together with thread_id",
        ))),
    }
}

pub(super) fn method_from(method: i32) -> Result<Method, Invalid> {
    match SearchMethod::try_from(method) {
        Ok(SearchMethod::Unspecified | SearchMethod::Hybrid) => Ok(Method::Hybrid),
        Ok(SearchMethod::Dense) => Ok(Method::Dense),
        Ok(SearchMethod::Lexical) => Ok(Method::Lexical),
        Err(_) => Err(Invalid::new(
            "method",
            "must be SEARCH_METHOD_HYBRID, _DENSE or _LEXICAL",
        )),
    }
}

pub(super) fn wait_from(wait: Option<ProtoDuration>) -> Result<Option<Duration>, Invalid> {
    duration_in("max_wait", wait, Duration::ZERO, limits::MAX_WAIT)
}

pub(super) fn revision_from(token: String) -> Result<String, Invalid> {
    if token.is_empty() {
        return Ok(token);
    }
    match token.parse::<Revision>() {
        Ok(_) => Ok(token),
        Err(error) => Err(Invalid::new("at_least_as_fresh", error.to_string())),
    }
}
