//! The plan service.

mod briefing;
mod log;

use memory_agent_contract::convert::{plan_from, step_status_from};
use memory_contract::proto::plan_service_server::PlanService;
use memory_contract::proto::{
    self, AppendAttemptRequest, AppendAttemptResponse, BuildBriefingRequest, BuildBriefingResponse,
    DeletePlanRequest, DeletePlanResponse, GetPlanRequest, GetPlanResponse, ListAttemptsRequest,
    ListAttemptsResponse, PutPlanRequest, PutPlanResponse, UpdatePlanStepRequest,
    UpdatePlanStepResponse,
};
use memory_contract::{
    Invalid, InvalidFields, check,
    convert::{UpdateMask, nothing_to_change, precondition_from},
    limits,
};
use memory_grpc::request::{Fields, NamedConversation, required_conversation_from};
use memory_grpc::{ApiError, caller_of};
use memory_store::{PlanStepChange, Store};
use prost::Message as _;
use tonic::metadata::MetadataMap;
use tonic::{Request, Response, Status, async_trait};

use crate::storage_quota::{Amount, StorageQuotas};

/// Implements `PlanService`.
#[derive(Clone)]
pub struct Plans {
    pub(crate) store: Store,
    pub(crate) quotas: StorageQuotas,
}

#[async_trait]
impl PlanService for Plans {
    async fn put_plan(
        &self,
        request: Request<PutPlanRequest>,
    ) -> Result<Response<PutPlanResponse>, Status> {
        Ok(Response::new(self.put(request).await?))
    }

    async fn get_plan(
        &self,
        request: Request<GetPlanRequest>,
    ) -> Result<Response<GetPlanResponse>, Status> {
        Ok(Response::new(self.get(request).await?))
    }

    async fn update_plan_step(
        &self,
        request: Request<UpdatePlanStepRequest>,
    ) -> Result<Response<UpdatePlanStepResponse>, Status> {
        Ok(Response::new(self.update_step(request).await?))
    }

    async fn delete_plan(
        &self,
        request: Request<DeletePlanRequest>,
    ) -> Result<Response<DeletePlanResponse>, Status> {
        Ok(Response::new(self.delete(request).await?))
    }

    async fn append_attempt(
        &self,
        request: Request<AppendAttemptRequest>,
    ) -> Result<Response<AppendAttemptResponse>, Status> {
        Ok(Response::new(self.append(request).await?))
    }

    async fn list_attempts(
        &self,
        request: Request<ListAttemptsRequest>,
    ) -> Result<Response<ListAttemptsResponse>, Status> {
        Ok(Response::new(self.list(request).await?))
    }

    async fn build_briefing(
        &self,
        request: Request<BuildBriefingRequest>,
    ) -> Result<Response<BuildBriefingResponse>, Status> {
        Ok(Response::new(self.build(request).await?))
    }
}

impl Plans {
    /// Handles `PutPlan`.
    pub async fn put(&self, request: Request<PutPlanRequest>) -> Result<PutPlanResponse, ApiError> {
        let caller = caller_of(&request)?;
        let (metadata, _, request) = request.into_parts();
        let bytes = request.encoded_len();
        let PutPlanRequest {
            thread,
            plan,
            precondition,
        } = request;
        let mut fields = Fields::default();
        let named = fields.get(required_conversation_from(&metadata, thread));
        let plan = fields.get_all(plan_from("plan", plan));
        let precondition = fields.take(precondition_from(precondition, true));
        let (named, plan) = fields.all(named.zip(plan))?;
        let thread = named.thread(&self.store, &caller).await?;
        let wanted = || Amount::of_request(0, bytes);
        let _admitted = self.quotas.admit(&caller, wanted).await?;
        let plan = self
            .store
            .plans(&caller)
            .put_plan(thread, &precondition, &plan)
            .await?;
        Ok(PutPlanResponse {
            plan: Some(plan.into()),
        })
    }

    /// Handles `GetPlan`.
    pub async fn get(&self, request: Request<GetPlanRequest>) -> Result<GetPlanResponse, ApiError> {
        let caller = caller_of(&request)?;
        let (metadata, _, GetPlanRequest { thread }) = request.into_parts();
        let named = required_conversation_from(&metadata, thread)?;
        let thread = named.thread(&self.store, &caller).await?;
        let plan = self.store.plans(&caller).get_plan(thread).await?;
        Ok(GetPlanResponse {
            plan: Some(plan.into()),
        })
    }

    async fn update_step(
        &self,
        request: Request<UpdatePlanStepRequest>,
    ) -> Result<UpdatePlanStepResponse, ApiError> {
        let caller = caller_of(&request)?;
        let (metadata, _, request) = request.into_parts();
        let (named, change) = change_from(&metadata, request)?;
        let thread = named.thread(&self.store, &caller).await?;
        let plan = self
            .store
            .plans(&caller)
            .update_plan_step(thread, &change)
            .await?;
        Ok(UpdatePlanStepResponse {
            plan: Some(plan.into()),
        })
    }

    async fn delete(
        &self,
        request: Request<DeletePlanRequest>,
    ) -> Result<DeletePlanResponse, ApiError> {
        let caller = caller_of(&request)?;
        let (metadata, _, DeletePlanRequest { thread }) = request.into_parts();
        let named = required_conversation_from(&metadata, thread)?;
        let thread = named.thread(&self.store, &caller).await?;
        let deleted = self.store.plans(&caller).delete_plan(thread).await?;
        Ok(DeletePlanResponse { deleted })
    }
}

/// The fields of a step that an update can change.
const CHANGEABLE: &[&str] = &["title", "status", "result"];

fn change_from(
    metadata: &MetadataMap,
    request: UpdatePlanStepRequest,
) -> Result<(NamedConversation, PlanStepChange), InvalidFields> {
    let UpdatePlanStepRequest {
        thread,
        step,
        update_mask,
        current_phase,
        precondition,
    } = request;
    let proto::PlanStep {
        step_id,
        title,
        status,
        result,
    } = step.ok_or_else(|| Invalid::missing("step"))?;
    let mut fields = Fields::default();
    let named = fields.get(required_conversation_from(metadata, thread));
    let step = check::required_text("step.step_id", step_id, limits::STEP_ID_CHARS);
    let step = fields.take(step);
    let mask = UpdateMask::read(&mut fields, update_mask, CHANGEABLE, |field| match field {
        "title" => !title.is_empty(),
        "status" => status != 0,
        _ => !result.is_empty(),
    })?;
    if mask.is_empty() && !mask.is_given() && current_phase.is_none() {
        fields.take(Err::<(), _>(nothing_to_change(CHANGEABLE)));
    }
    let phase = current_phase.map(|text| check::text("current_phase", text, limits::PHASE_CHARS));
    let change = PlanStepChange {
        step,
        title: mask.names("title").then(|| {
            let title = check::required_text("step.title", title, limits::TITLE_CHARS);
            fields.take(title)
        }),
        status: mask.names("status").then(|| {
            let status = fields.take(step_status_from("step.status", status));
            status.unwrap_or_default()
        }),
        result: mask
            .names("result")
            .then(|| fields.take(check::text("step.result", result, limits::PLAN_TEXT_CHARS))),
        current_phase: fields.take(phase.transpose()),
        precondition: fields.take(precondition_from(precondition, false)),
    };
    Ok((fields.all(named)?, change))
}
