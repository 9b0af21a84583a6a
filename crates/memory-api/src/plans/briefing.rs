//! `BuildBriefing`.

use memory_context::{Briefing, BriefingCut, BriefingPart, BriefingRequest, build_briefing};
use memory_contract::proto::{self, BuildBriefingRequest, BuildBriefingResponse};
use memory_contract::{check, limits};
use memory_grpc::request::{Fields, required_conversation_from, tokenizer_from};
use memory_grpc::{ApiError, caller_of};
use tonic::Request;

use super::Plans;
use super::log::task_name_from;

impl Plans {
    pub(super) async fn build(
        &self,
        request: Request<BuildBriefingRequest>,
    ) -> Result<BuildBriefingResponse, ApiError> {
        let caller = caller_of(&request)?;
        let (metadata, _, request) = request.into_parts();
        let BuildBriefingRequest {
            thread,
            task,
            task_name,
            max_tokens,
            model,
        } = request;
        let mut fields = Fields::default();
        let named = fields.get(required_conversation_from(&metadata, thread));
        let task = fields.take(check::required_text(
            "task",
            task,
            limits::BRIEFING_TASK_CHARS,
        ));
        let task_name = fields.take(task_name_from("task_name", task_name));
        let max_tokens = fields.take(check::range_or(
            "max_tokens",
            max_tokens,
            limits::BRIEFING_TOKENS,
            limits::BRIEFING_TOKENS_MIN,
            limits::BRIEFING_TOKENS_MAX,
        ));
        let tokenizer = fields.take(tokenizer_from(model));
        let request = BriefingRequest {
            thread: fields.all(named)?.thread(&self.store, &caller).await?,
            task,
            task_name,
            max_tokens,
            tokenizer,
        };
        let Briefing {
            text,
            total_tokens,
            attempt,
            cuts,
        } = build_briefing(&self.store, &caller, request).await?;
        Ok(BuildBriefingResponse {
            text,
            total_tokens,
            tokenizer: tokenizer.name().to_owned(),
            attempt,
            truncated: !cuts.is_empty(),
            cuts: cuts.into_iter().map(cut).collect(),
        })
    }
}

fn cut(cut: BriefingCut) -> proto::BriefingCut {
    let BriefingCut { part, omitted } = cut;
    let part = match part {
        BriefingPart::Plan => proto::BriefingPart::Plan,
        BriefingPart::Failures => proto::BriefingPart::FailedAttempts,
        BriefingPart::Derived => proto::BriefingPart::Distilled,
        BriefingPart::Conversation => proto::BriefingPart::Conversation,
    };
    proto::BriefingCut {
        part: part.into(),
        item_count: omitted,
    }
}
