//! The context service.

mod answer;
mod request;

use memory_context::{Context, KnownFiles, build_context};
use memory_contract::limits;
use memory_contract::proto::context_service_server::ContextService;
use memory_contract::proto::{BuildContextRequest, BuildContextResponse};
use memory_grpc::{ApiError, answered, caller_of};
use memory_recall::Recall;
use memory_store::Store;
use prost::Message as _;
use tonic::{Request, Response, Status, async_trait};

use memory_grpc::request::wait_deadline;

/// Implements `ContextService`.
#[derive(Clone)]
pub struct Contexts {
    pub(crate) store: Store,
    pub(crate) recall: Recall,
}

#[async_trait]
impl ContextService for Contexts {
    async fn build_context(
        &self,
        request: Request<BuildContextRequest>,
    ) -> Result<Response<BuildContextResponse>, Status> {
        Ok(answered(self.build(request).await?))
    }
}

impl Contexts {
    async fn build(
        &self,
        request: Request<BuildContextRequest>,
    ) -> Result<BuildContextResponse, ApiError> {
        let caller = caller_of(&request)?;
        let deadline = wait_deadline(&request);
        let (metadata, _, request) = request.into_parts();
        let request = request::read(&self.store, &caller, &metadata, request).await?;
        let explain = request.explain;
        let answer = move |context: Context, files: &KnownFiles| {
            let answer = answer::of(context, files, explain);
            (answer.encoded_len() <= limits::ANSWER_BYTES).then_some(answer)
        };
        let (store, recall) = (&self.store, &self.recall);
        Ok(build_context(store, recall, &caller, request, deadline, answer).await?)
    }
}
