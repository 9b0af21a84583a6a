//! Converts between recall on the wire and `memory-recall`.

use std::time::Duration;

use memory_budget::Tokenizer;
use memory_contract::proto::{self, RecallResponse, SearchMethod};
use memory_contract::{Invalid, ResolvedPolicy, duration_in, limits};
use memory_recall::{
    Degradation, DegradationReason, Method, Omission, OmissionReason, Reason, Recalled,
    RecalledMessage,
};
use memory_store::Revision;
use prost_types::Duration as ProtoDuration;

pub(super) fn recalled_response(
    recalled: Recalled,
    tokenizer: Tokenizer,
    policy: ResolvedPolicy,
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
        omitted: omitted.into_iter().map(omission).collect(),
        effective_policy: Some(policy.into()),
    }
}

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

pub(super) fn reason(reason: Reason) -> i32 {
    match reason {
        Reason::Recent => proto::RecallReason::Recent,
        Reason::Match => proto::RecallReason::Match,
        Reason::Neighbor => proto::RecallReason::Neighbor,
    }
    .into()
}

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

/// The longest wait for `at_least_as_fresh`: 0 to [`limits::MAX_WAIT`].
pub(super) fn wait_from(wait: Option<ProtoDuration>) -> Result<Option<Duration>, Invalid> {
    duration_in("max_wait", wait, Duration::ZERO, limits::MAX_WAIT)
}

/// The revision that `at_least_as_fresh` names; `None` for an empty token.
pub(super) fn revision_from(token: String) -> Result<Option<Revision>, Invalid> {
    if token.is_empty() {
        return Ok(None);
    }
    let revision = token.parse::<Revision>();
    revision
        .map(Some)
        .map_err(|error| Invalid::new("at_least_as_fresh", error.to_string()))
}
