//! Recall's requests and answers: between the wire and `memory-recall`.

use std::time::Duration;

use memory_budget::Tokenizer;
use memory_contract::proto::{
    self, RecallMode, RecallRequest, RecallResponse, RecallScope, SearchMethod, SearchRequest,
    UserRef,
};
use memory_contract::{
    AppId, Invalid, InvalidFields, UserId, check, duration_in, filter_from, limits, optional_float,
};
use memory_recall::{
    Degradation, DegradationReason, Method, Mode, Omission, OmissionReason, Reason, RecallQuery,
    Recalled, RecalledMessage, Scope, SearchQuery, Target,
};
use memory_store::Revision;
use prost_types::Duration as ProtoDuration;

use super::fields::Fields;
use super::history::tokenizer_from;
use super::threads::thread_id_from;

/// Reads a recall.
pub(super) fn recall_query(request: RecallRequest) -> Result<RecallQuery, InvalidFields> {
    let RecallRequest {
        thread_id,
        user,
        scope,
        query,
        mode,
        recent_window,
        top_k,
        neighbours_before,
        neighbours_after,
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
    let window = if mode == Mode::Window {
        limits::WINDOW_SIZE
    } else {
        limits::RECENT_WINDOW
    };
    let neighbours = limits::NEIGHBOURS_MAX;
    let mut number = |field: &str, value: Option<i32>, default: i32, max: i32| {
        let value = fields.take(check::range(field, value.unwrap_or(default), 0, max));
        usize::try_from(value).unwrap_or_default()
    };
    let recent_window = number("recent_window", recent_window, window, limits::WINDOW_MAX);
    let top_k = number("top_k", top_k, limits::TOP_K, limits::TOP_K_MAX);
    let neighbours_before = number(
        "neighbours_before",
        neighbours_before,
        limits::NEIGHBOURS_BEFORE,
        neighbours,
    );
    let neighbours_after = number(
        "neighbours_after",
        neighbours_after,
        limits::NEIGHBOURS_AFTER,
        neighbours,
    );
    let max_tokens = number("max_tokens", Some(max_tokens), 0, limits::BUDGET_TOKENS);
    let query = fields.take(check::text("query", query, limits::QUERY_CHARS));
    let filter = fields.take(filter_from(filter));
    let tokenizer = fields.take(tokenizer_from(model));
    let min_score = fields.take(optional_float("min_score", min_score, 0.0, 1.0));
    let method = fields.take(method_from(method));
    let at_least_as_fresh = fields.take(revision_from(at_least_as_fresh));
    let max_wait = fields.take(wait_from(max_wait));
    let (target, scope) = fields.all(whose)?;
    Ok(RecallQuery {
        target,
        scope,
        query,
        mode,
        recent_window,
        top_k,
        neighbours_before,
        neighbours_after,
        filter,
        max_tokens: (max_tokens > 0).then_some(max_tokens),
        tokenizer,
        min_score: min_score.unwrap_or_default(),
        method,
        at_least_as_fresh,
        max_wait: max_wait.unwrap_or(limits::DEFAULT_WAIT),
        all_branches,
        explain,
    })
}

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
    Ok(SearchQuery {
        target,
        scope,
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
pub(super) fn recalled_response(recalled: Recalled, tokenizer: Tokenizer) -> RecallResponse {
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
        effective_policy: None,
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
        neighbour_of,
    } = recalled;
    proto::RecalledMessage {
        message: Some(message.into()),
        reasons: reasons.into_iter().map(reason).collect(),
        rank: i32::try_from(rank).unwrap_or(i32::MAX),
        score,
        dense_score,
        lexical_score,
        neighbour_of: neighbour_of.into_iter().map(|id| id.to_string()).collect(),
    }
}

/// Sends why a message is there.
pub(super) fn reason(reason: Reason) -> i32 {
    match reason {
        Reason::Recent => proto::RecallReason::Recent,
        Reason::Match => proto::RecallReason::Match,
        Reason::Neighbour => proto::RecallReason::Neighbour,
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

/// Whose memory, and how much of it: a thread or a user, just one of the two.
fn target(
    fields: &mut Fields,
    thread_id: &str,
    user: Option<UserRef>,
    scope: i32,
) -> Option<(Target, Scope)> {
    let scope = fields.get(scope_from(scope))?;
    match (thread_id.is_empty(), user) {
        (false, None) => {
            let thread = fields.get(thread_id_from(thread_id))?;
            Some((Target::Thread(thread), scope.unwrap_or(Scope::Thread)))
        }
        (true, Some(UserRef { app_id, user_id })) => {
            let scope = scope.unwrap_or(Scope::User);
            let app = check::required_text("user.app_id", app_id, limits::APP_ID_CHARS);
            let user = match scope {
                Scope::App => check::text("user.user_id", user_id, limits::USER_ID_CHARS),
                Scope::User | Scope::Thread => {
                    check::required_text("user.user_id", user_id, limits::USER_ID_CHARS)
                }
            };
            if scope == Scope::Thread {
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

fn scope_from(scope: i32) -> Result<Option<Scope>, Invalid> {
    match RecallScope::try_from(scope) {
        Ok(RecallScope::Unspecified) => Ok(None),
        Ok(RecallScope::Thread) => Ok(Some(Scope::Thread)),
        Ok(RecallScope::User) => Ok(Some(Scope::User)),
        Ok(RecallScope::App) => Ok(Some(Scope::App)),
        Err(_) => Err(Invalid::new(
            "scope",
            "must be RECALL_SCOPE_THREAD, _USER or _APP",
        )),
    }
}

fn mode_from(mode: i32) -> Result<Mode, Invalid> {
    match RecallMode::try_from(mode) {
        Ok(RecallMode::Unspecified | RecallMode::Hybrid) => Ok(Mode::Hybrid),
        Ok(RecallMode::None) => Ok(Mode::None),
        Ok(RecallMode::Window) => Ok(Mode::Window),
        Err(_) => Err(Invalid::new(
            "mode",
            "must be RECALL_MODE_HYBRID, _WINDOW or _NONE",
        )),
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
