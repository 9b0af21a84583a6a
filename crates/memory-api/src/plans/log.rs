//! The log of attempts.

use memory_agent_contract::convert::attempt_from;
use memory_contract::proto::{
    AppendAttemptRequest, AppendAttemptResponse, ListAttemptsRequest, ListAttemptsResponse,
};
use memory_contract::{Invalid, check, limits, page::PageToken};
use memory_grpc::request::{
    Fields, next_token, page_limit, request_id_from, required_conversation_from,
};
use memory_grpc::{ApiError, caller_of};
use memory_store::{AttemptQuery, LoggedAttempt};
use prost::Message as _;
use tonic::Request;

use super::Plans;
use crate::storage_quota::Amount;

impl Plans {
    /// Handles `AppendAttempt`.
    pub async fn append(
        &self,
        request: Request<AppendAttemptRequest>,
    ) -> Result<AppendAttemptResponse, ApiError> {
        let caller = caller_of(&request)?;
        let (metadata, _, request) = request.into_parts();
        let bytes = request.encoded_len();
        let AppendAttemptRequest {
            thread,
            attempt,
            request_id,
        } = request;
        let mut fields = Fields::default();
        let named = fields.get(required_conversation_from(&metadata, thread));
        let attempt = fields.get_all(attempt_from("attempt", attempt));
        let request_id = fields.take(request_id_from(&request_id));
        let (named, attempt) = fields.all(named.zip(attempt))?;
        let thread = named.thread(&self.store, &caller).await?;
        let _admitted = self
            .quotas
            .admit_request(
                &caller,
                Amount::of_request(0, bytes),
                ("attempt", request_id),
            )
            .await?;
        let LoggedAttempt { attempt, replayed } = self
            .store
            .plans(&caller)
            .append_attempt(thread, attempt, request_id)
            .await?;
        Ok(AppendAttemptResponse {
            attempt: Some(attempt.into()),
            replayed,
        })
    }

    pub(super) async fn list(
        &self,
        request: Request<ListAttemptsRequest>,
    ) -> Result<ListAttemptsResponse, ApiError> {
        let caller = caller_of(&request)?;
        let (metadata, _, request) = request.into_parts();
        let ListAttemptsRequest {
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
            "attempts",
            caller.tenant.as_str(),
            format!("{named:?}"),
            task.clone(),
            failed,
        );
        let after = fields.take(PageToken::key(&identity, &page_token));
        let named = fields.all(named)?;
        let query = AttemptQuery {
            thread: named.thread(&self.store, &caller).await?,
            task,
            failed,
            after,
            limit,
            max_bytes: u32::try_from(limits::PAGE_BYTES).unwrap_or(u32::MAX),
        };
        let page = self.store.plans(&caller).list_attempts(&query).await?;
        Ok(ListAttemptsResponse {
            attempts: page.items.into_iter().map(Into::into).collect(),
            next_page_token: next_token(&identity, page.next),
        })
    }
}

/// Reads the name of a task, which may be empty.
pub(super) fn task_name_from(field: &str, task: Option<String>) -> Result<Option<String>, Invalid> {
    task.map(|task| check::text(field, task, limits::TASK_NAME_CHARS))
        .transpose()
}
