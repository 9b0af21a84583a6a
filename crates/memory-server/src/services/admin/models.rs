//! The state of distilling, its models, and their token usage.

use memory_contract::proto::{
    self, GetDistillStatusRequest, GetDistillStatusResponse, GetModelUsageRequest,
    GetModelUsageResponse,
};
use memory_contract::{check, convert::duration, key::KeyScope, limits};
use memory_distill::{BreakerState, ModelReport, Provider, Purpose, RejectedCounts};
use memory_grpc::{ApiError, caller_of};
use memory_store::{DistillStats, ModelKind, ModelUsage};
use tonic::Request;

use super::Admin;

impl Admin {
    pub(super) async fn distill_status(
        &self,
        request: Request<GetDistillStatusRequest>,
    ) -> Result<GetDistillStatusResponse, ApiError> {
        let caller = caller_of(&request)?;
        let GetDistillStatusRequest {} = request.into_inner();
        let (stats, memories) = tokio::try_join!(
            self.store.distillates(&caller).distill_stats(),
            self.store.memories(&caller).waiting_memories()
        )?;
        let DistillStats {
            waiting,
            lag,
            failing,
            last_error,
        } = stats;
        let mut models = self.distiller.models().map(model);
        let mut rejected = self.distiller.rejected();
        if !caller.scopes.allow(KeyScope::Admin) {
            // These are about the calls for all tenants.
            models.iter_mut().for_each(|model| model.last_error.clear());
            rejected = RejectedCounts::default();
        }
        let RejectedCounts {
            dropped_facts,
            malformed_answers,
        } = rejected;
        Ok(GetDistillStatusResponse {
            models: models.into(),
            waiting_thread_count: waiting,
            lag: Some(duration(lag)),
            failing_thread_count: failing,
            last_error,
            waiting_memory_count: memories,
            dropped_fact_count: number(dropped_facts),
            malformed_answer_count: number(malformed_answers),
        })
    }

    pub(super) async fn model_usage(
        &self,
        request: Request<GetModelUsageRequest>,
    ) -> Result<GetModelUsageResponse, ApiError> {
        let caller = caller_of(&request)?;
        let GetModelUsageRequest { days } = request.into_inner();
        let (default, max) = (limits::USAGE_DAYS_DEFAULT, limits::USAGE_DAYS);
        let days = check::range_or("days", days, default, 1, max)?;
        let usage = self.store.usage(&caller).model_usage(days).await?;
        let today = usage
            .iter()
            .filter(|one| one.is_today && one.kind == ModelKind::Language);
        let tokens_today = today.fold(0_i64, |sum, one| {
            sum.saturating_add(one.input_tokens)
                .saturating_add(one.output_tokens)
        });
        Ok(GetModelUsageResponse {
            usage: usage.into_iter().map(used).collect(),
            daily_token_budget: number(self.daily_token_budget),
            tokens_today,
        })
    }
}

fn model(report: ModelReport) -> proto::ModelStatus {
    let ModelReport {
        purpose,
        provider,
        model,
        health,
    } = report;
    proto::ModelStatus {
        purpose: match purpose {
            Purpose::Generation => proto::ModelPurpose::Generation,
            Purpose::Observation => proto::ModelPurpose::Observation,
        }
        .into(),
        provider: match provider {
            Provider::None => proto::ModelProvider::Extractive,
            Provider::Openai => proto::ModelProvider::Openai,
            Provider::OpenaiCompatible => proto::ModelProvider::OpenaiCompatible,
            Provider::Anthropic => proto::ModelProvider::Anthropic,
            Provider::Bedrock => proto::ModelProvider::Bedrock,
        }
        .into(),
        model,
        breaker: match health.breaker {
            BreakerState::Closed => proto::BreakerState::Closed,
            BreakerState::Open => proto::BreakerState::Open,
            BreakerState::HalfOpen => proto::BreakerState::HalfOpen,
        }
        .into(),
        last_error: health
            .last_error
            .map(|error| error.to_string())
            .unwrap_or_default(),
    }
}

fn used(usage: ModelUsage) -> proto::ModelUsage {
    let ModelUsage {
        day,
        kind,
        model,
        calls,
        failed,
        input_tokens,
        output_tokens,
        is_today: _,
    } = usage;
    proto::ModelUsage {
        day,
        kind: match kind {
            ModelKind::Language => proto::ModelKind::Language,
            ModelKind::Embedding => proto::ModelKind::Embedding,
        }
        .into(),
        model,
        call_count: calls,
        failed_count: failed,
        input_tokens,
        output_tokens,
    }
}

fn number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
