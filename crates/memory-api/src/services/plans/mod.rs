//! The plan service.

mod briefing;
mod events;
mod log;

use memory_contract::proto::plan_service_server::PlanService;
use memory_contract::proto::{
    AppendEventsRequest, AppendEventsResponse, AppendIterationRequest, AppendIterationResponse,
    BuildBriefingRequest, BuildBriefingResponse, DeletePlanRequest, DeletePlanResponse,
    GetPlanRequest, GetPlanResponse, ListEventsRequest, ListEventsResponse, ListIterationsRequest,
    ListIterationsResponse, PutPlanRequest, PutPlanResponse, UpdatePlanStepRequest,
    UpdatePlanStepResponse, put_plan_request,
};
use memory_contract::{
    Invalid, InvalidFields, Precondition, check, etag_from, limits, plan_from, step_status_from,
};
use memory_store::{PlanStepChange, Store};
use prost::Message as _;
use tonic::metadata::MetadataMap;
use tonic::{Request, Response, Status, async_trait};

use super::request::{Fields, NamedConversation, required_conversation_from};
use crate::error::ApiError;
use crate::layers::caller_of;
use crate::storage_quota::{Amount, StorageQuotas};

/// Implements `PlanService`.
#[derive(Clone)]
pub(crate) struct Plans {
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

    async fn append_iteration(
        &self,
        request: Request<AppendIterationRequest>,
    ) -> Result<Response<AppendIterationResponse>, Status> {
        Ok(Response::new(self.append(request).await?))
    }

    async fn list_iterations(
        &self,
        request: Request<ListIterationsRequest>,
    ) -> Result<Response<ListIterationsResponse>, Status> {
        Ok(Response::new(self.list(request).await?))
    }

    async fn append_events(
        &self,
        request: Request<AppendEventsRequest>,
    ) -> Result<Response<AppendEventsResponse>, Status> {
        Ok(Response::new(self.append_all(request).await?))
    }

    async fn list_events(
        &self,
        request: Request<ListEventsRequest>,
    ) -> Result<Response<ListEventsResponse>, Status> {
        Ok(Response::new(self.list_log(request).await?))
    }

    async fn build_briefing(
        &self,
        request: Request<BuildBriefingRequest>,
    ) -> Result<Response<BuildBriefingResponse>, Status> {
        Ok(Response::new(self.build(request).await?))
    }
}

impl Plans {
    async fn put(&self, request: Request<PutPlanRequest>) -> Result<PutPlanResponse, ApiError> {
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
        let precondition = match precondition {
            Some(put_plan_request::Precondition::Etag(etag)) => {
                fields.take(etag_from("etag", etag))
            }
            Some(put_plan_request::Precondition::Absent(())) => Precondition::Absent,
            None => Precondition::Unchecked,
        };
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

    async fn get(&self, request: Request<GetPlanRequest>) -> Result<GetPlanResponse, ApiError> {
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

fn change_from(
    metadata: &MetadataMap,
    request: UpdatePlanStepRequest,
) -> Result<(NamedConversation, PlanStepChange), InvalidFields> {
    let UpdatePlanStepRequest {
        thread,
        step_id,
        status,
        result,
        current_phase,
        etag,
    } = request;
    let mut fields = Fields::default();
    let named = fields.get(required_conversation_from(metadata, thread));
    let step = fields.take(check::required_text(
        "step_id",
        step_id,
        limits::STEP_ID_CHARS,
    ));
    if status == 0 && result.is_none() && current_phase.is_none() {
        let problem = "is required without result and current_phase";
        fields.take(Err::<(), _>(Invalid::new("status", problem)));
    }
    let status = fields.take(step_status_from("status", status));
    let optional = |field: &str, text: Option<String>, max: usize| {
        text.map(|text| check::text(field, text, max)).transpose()
    };
    let result = fields.take(optional("result", result, limits::PLAN_TEXT_CHARS));
    let current_phase = fields.take(optional(
        "current_phase",
        current_phase,
        limits::PHASE_CHARS,
    ));
    let precondition = fields.take(etag_from("etag", etag));
    let change = PlanStepChange {
        step,
        status,
        result,
        current_phase,
        precondition,
    };
    Ok((fields.all(named)?, change))
}
