//! Converts the answers of recall to protobuf.

use memory_budget::Tokenizer;
use memory_contract::convert::timestamp;
use memory_contract::policy::ResolvedPolicy;
use memory_contract::proto::{self, RecallResponse};
use memory_recall::{
    Degradation, DegradationReason, Method, NamedTime, Omission, OmissionReason, Reason, RecallCut,
    Recalled, RecalledMessage,
};

pub(super) fn recalled_response(
    recalled: Recalled,
    tokenizer: Tokenizer,
    explained: Option<ResolvedPolicy>,
) -> RecallResponse {
    let Recalled {
        messages,
        total_tokens,
        method,
        named_times,
        pending: _,
        degradations,
        omitted,
        cuts,
    } = recalled;
    RecallResponse {
        messages: messages.into_iter().map(recalled_message).collect(),
        total_tokens: i32::try_from(total_tokens).unwrap_or(i32::MAX),
        tokenizer: tokenizer.name().to_owned(),
        method: searched_by(method),
        degradations: degradations.into_iter().map(degradation).collect(),
        omitted: omitted.into_iter().map(omission).collect(),
        effective_policy: explained.map(Into::into),
        cuts: cuts.into_iter().map(cut).collect(),
        named_times: named_times.into_iter().map(named_time).collect(),
    }
}

pub(crate) fn named_time(named: NamedTime) -> proto::NamedTime {
    let NamedTime {
        text, start, end, ..
    } = named;
    proto::NamedTime {
        text,
        start_time: Some(timestamp(start)),
        end_time: Some(timestamp(end)),
    }
}

pub(super) fn cut(cut: RecallCut) -> proto::RecallCut {
    let RecallCut {
        reason: of,
        omitted,
    } = cut;
    proto::RecallCut {
        reason: reason(of),
        message_count: omitted.count,
        token_count: omitted.tokens,
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
        passage: _,
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

pub(crate) fn reason(reason: Reason) -> i32 {
    match reason {
        Reason::Recent => proto::RecallReason::Recent,
        Reason::Match => proto::RecallReason::Match,
        Reason::Neighbor => proto::RecallReason::Neighbor,
    }
    .into()
}

/// How matches were found; unspecified where nothing was searched.
pub(crate) fn searched_by(method: Option<Method>) -> i32 {
    match method {
        Some(Method::Hybrid) => proto::SearchMethod::Hybrid,
        Some(Method::Dense) => proto::SearchMethod::Dense,
        Some(Method::Lexical) => proto::SearchMethod::Lexical,
        None => proto::SearchMethod::Unspecified,
    }
    .into()
}

pub(crate) fn degradation(degradation: Degradation) -> proto::Degradation {
    let Degradation { reason, message } = degradation;
    let reason = match reason {
        DegradationReason::IndexUnavailable => proto::DegradationReason::IndexUnavailable,
        DegradationReason::EmbedderUnavailable => proto::DegradationReason::EmbedderUnavailable,
        DegradationReason::IndexLagging => proto::DegradationReason::IndexLagging,
        DegradationReason::NotIndexed => proto::DegradationReason::NotIndexed,
        DegradationReason::IndexRebuilding => proto::DegradationReason::IndexRebuilding,
        DegradationReason::ListCut => proto::DegradationReason::ListCut,
    };
    proto::Degradation {
        reason: reason.into(),
        message,
    }
}

fn omission(omission: Omission) -> proto::OmittedMessage {
    let Omission {
        message,
        reason,
        score,
    } = omission;
    proto::OmittedMessage {
        message_id: message.to_string(),
        reason: omission_reason(reason).into(),
        score,
    }
}

pub(crate) fn omission_reason(reason: OmissionReason) -> proto::OmissionReason {
    match reason {
        OmissionReason::Budget => proto::OmissionReason::Budget,
        OmissionReason::Duplicate => proto::OmissionReason::Duplicate,
        OmissionReason::Threshold => proto::OmissionReason::Threshold,
        OmissionReason::Rank => proto::OmissionReason::Rank,
        OmissionReason::Branch => proto::OmissionReason::Branch,
    }
}
