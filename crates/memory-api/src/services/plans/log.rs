//! The log of attempts.

use memory_contract::proto::{
    AppendIterationRequest, AppendIterationResponse, ListIterationsRequest, ListIterationsResponse,
};
use memory_contract::{Invalid, PageToken, check, iteration_from, limits};
use memory_store::{IterationQuery, LoggedIteration};
use prost::Message as _;
use tonic::Request;

use super::Plans;
use crate::error::ApiError;
use crate::layers::caller_of;
use crate::services::request::{
    Fields, next_token, page_limit, request_id_from, required_conversation_from,
};
use crate::storage_quota::{Amount, is_remembered};

impl Plans {
    pub(super) async fn append(
        &self,
        request: Request<AppendIterationRequest>,
    ) -> Result<AppendIterationResponse, ApiError> {
        let caller = caller_of(&request)?;
        let (metadata, _, request) = request.into_parts();
        let bytes = request.encoded_len();
        let AppendIterationRequest {
            thread,
            iteration,
            request_id,
        } = request;
        let mut fields = Fields::default();
        let named = fields.get(required_conversation_from(&metadata, thread));
        let iteration = fields.get_all(iteration_from("iteration", iteration));
        let request_id = fields.take(request_id_from(&request_id));
        let (named, iteration) = fields.all(named.zip(iteration))?;
        let thread = named.thread(&self.store, &caller).await?;
        let _admitted = self
            .quotas
            .admit_or_retry(
                &caller,
                || Amount::of_request(0, bytes),
                is_remembered(&self.store, &caller, "iteration", request_id),
            )
            .await?;
        let LoggedIteration {
            iteration,
            replayed,
        } = self
            .store
            .plans(&caller)
            .append_iteration(thread, iteration, request_id)
            .await?;
        Ok(AppendIterationResponse {
            iteration: Some(iteration.into()),
            replayed,
        })
    }

    pub(super) async fn list(
        &self,
        request: Request<ListIterationsRequest>,
    ) -> Result<ListIterationsResponse, ApiError> {
        let caller = caller_of(&request)?;
        let (metadata, _, request) = request.into_parts();
        let ListIterationsRequest {
            thread,
            task,
            failed,
            page_size,
            page_token,
        } = request;
        let mut fields = Fields::default();
        let named = fields.get(required_conversation_from(&metadata, thread));
        let task = fields.take(task_name_from("task", task));
        let limit = fields.take(page_limit(page_size));
        let identity = (
            "iterations",
            caller.tenant.as_str(),
            format!("{named:?}"),
            task.clone(),
            failed,
        );
        let after = fields.take(PageToken::key(&identity, &page_token));
        let named = fields.all(named)?;
        let query = IterationQuery {
            thread: named.thread(&self.store, &caller).await?,
            task,
            failed,
            after,
            limit,
            max_bytes: u32::try_from(limits::PAGE_BYTES).unwrap_or(u32::MAX),
        };
        let page = self.store.plans(&caller).list_iterations(&query).await?;
        Ok(ListIterationsResponse {
            iterations: page.items.into_iter().map(Into::into).collect(),
            next_page_token: next_token(&identity, page.next),
        })
    }
}

/// Reads the name of a task, which may be empty.
pub(super) fn task_name_from(field: &str, task: Option<String>) -> Result<Option<String>, Invalid> {
    task.map(|task| check::text(field, task, limits::TASK_NAME_CHARS))
        .transpose()
}
