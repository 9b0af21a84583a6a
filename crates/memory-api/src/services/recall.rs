//! Recall and search.

use std::time::Duration;

use memory_contract::proto::recall_service_server::RecallService;
use memory_contract::proto::{RecallRequest, RecallResponse, SearchRequest, SearchResponse};
use memory_recall::Recall;
use tonic::{Request, Response, Status, async_trait};

use super::recall_convert::{
    degradation, recall_query, recalled_message, recalled_response, search_query,
};
use crate::error::ApiError;
use crate::layers::{remaining, tenant_of};

/// What is left of a call's time for the answer, after waiting for the index.
const ANSWERING: Duration = Duration::from_millis(500);

/// Answers questions to the memory.
#[derive(Clone)]
pub(crate) struct Recalls {
    pub(crate) recall: Recall,
}

#[async_trait]
impl RecallService for Recalls {
    async fn recall(
        &self,
        request: Request<RecallRequest>,
    ) -> Result<Response<RecallResponse>, Status> {
        Ok(Response::new(self.answer_recall(request).await?))
    }

    async fn search(
        &self,
        request: Request<SearchRequest>,
    ) -> Result<Response<SearchResponse>, Status> {
        Ok(Response::new(self.answer_search(request).await?))
    }
}

impl Recalls {
    async fn answer_recall(
        &self,
        request: Request<RecallRequest>,
    ) -> Result<RecallResponse, ApiError> {
        let tenant = tenant_of(&request)?;
        let patience = patience(&request);
        let mut query = recall_query(request.into_inner())?;
        query.max_wait = query.max_wait.min(patience);
        let tokenizer = query.tokenizer;
        let recalled = self.recall.recall(&tenant, query).await?;
        Ok(recalled_response(recalled, tokenizer))
    }

    async fn answer_search(
        &self,
        request: Request<SearchRequest>,
    ) -> Result<SearchResponse, ApiError> {
        let tenant = tenant_of(&request)?;
        let patience = patience(&request);
        let mut query = search_query(request.into_inner())?;
        query.max_wait = query.max_wait.min(patience);
        let found = self.recall.search(&tenant, query).await?;
        Ok(SearchResponse {
            matches: found.matches.into_iter().map(recalled_message).collect(),
            degradations: found.degradations.into_iter().map(degradation).collect(),
        })
    }
}

/// How long a call can wait for the index and still answer in time.
pub(super) fn patience<T>(request: &Request<T>) -> Duration {
    let left = remaining(request, Duration::from_secs(3_600));
    left.saturating_sub(ANSWERING.min(left / 2))
}
