//! The branches and the head of a thread.

use memory_contract::proto::{
    ListBranchesRequest, ListBranchesResponse, SetHeadRequest, SetHeadResponse,
};
use memory_contract::{check, page::PageToken};
use memory_grpc::request::{
    Fields, expected_head_from, next_token, page_limit, required_conversation_from,
};
use memory_grpc::{ApiError, caller_of};
use tonic::Request;

use super::Threads;

impl Threads {
    /// Handles `MoveHead`.
    pub async fn move_head(
        &self,
        request: Request<SetHeadRequest>,
    ) -> Result<SetHeadResponse, ApiError> {
        let caller = caller_of(&request)?;
        let (call, _, request) = request.into_parts();
        let SetHeadRequest {
            thread,
            head_message_id,
            expected_head,
        } = request;
        let mut fields = Fields::default();
        let named = fields.get(required_conversation_from(&call, thread));
        let head = fields.get(check::message_name("head_message_id", &head_message_id));
        let expected = fields.take(expected_head_from(expected_head.as_deref()));
        let (named, head) = fields.all(named.zip(head))?;
        let id = named.thread(&self.store, &caller).await?;
        let thread = self
            .store
            .threads(&caller)
            .set_head(id, head, expected)
            .await
            .map_err(|error| ApiError::from(error).naming("head_message_id"))?;
        Ok(SetHeadResponse {
            thread: Some(thread.into()),
        })
    }

    pub(super) async fn branches(
        &self,
        request: Request<ListBranchesRequest>,
    ) -> Result<ListBranchesResponse, ApiError> {
        let caller = caller_of(&request)?;
        let (call, _, request) = request.into_parts();
        let ListBranchesRequest {
            thread,
            page_size: size,
            page_token,
        } = request;
        let mut fields = Fields::default();
        let named = fields.get(required_conversation_from(&call, thread));
        let identity = ("branches", caller.tenant.as_str(), format!("{named:?}"));
        let limit = fields.take(page_limit(size));
        let after = fields.take(PageToken::key(&identity, &page_token));
        let id = fields.all(named)?.thread(&self.store, &caller).await?;
        let after = i32::try_from(after.unwrap_or_default()).unwrap_or(i32::MAX);
        let page = self
            .store
            .threads(&caller)
            .list_branches(id, after, limit)
            .await?;
        Ok(ListBranchesResponse {
            branches: page.items.into_iter().map(Into::into).collect(),
            next_page_token: next_token(&identity, page.next.map(i64::from)),
        })
    }
}
