//! Recall and search.

use std::time::{Duration, Instant};

use memory_contract::proto::recall_service_server::RecallService;
use memory_contract::proto::{
    RecallRequest, RecallResponse, RecalledMessage, SearchRequest, SearchResponse,
};
use memory_contract::{EffectivePolicy, MemoryPolicy, TenantId};
use memory_recall::{Recall, Target};
use memory_store::{Policies, Store};
use tonic::{Request, Response, Status, async_trait};

use super::files::{annotate, references};
use super::recall_convert::{degradation, recalled_message, recalled_response, search_query};
use super::recall_request::{RecallWanted, recall_request};
use crate::error::ApiError;
use crate::layers::{remaining, tenant_of};

/// What is left of a call's time for the answer, after waiting for the index: at
/// least this, or half of a time that is shorter than twice this.
const ANSWERING: Duration = Duration::from_millis(500);
/// The same as a part of the call's time, where that is longer: whoever waits long
/// waits for a busy machine.
const ANSWERING_PART: u32 = 10;

/// Answers questions to the memory.
#[derive(Clone)]
pub(crate) struct Recalls {
    pub(crate) store: Store,
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
        let wanted = recall_request(request.into_inner())?;
        let effective = self.policy_of(&tenant, &wanted).await?;
        let mut query = wanted.query(&effective);
        query.max_wait = wait_until(patience, query.max_wait);
        let tokenizer = query.tokenizer;
        let recalled = self.recall.recall(&tenant, query).await?;
        let mut response = recalled_response(recalled, tokenizer, effective);
        self.annotate(&tenant, &mut response.messages).await?;
        Ok(response)
    }

    /// The policy that holds, read just now: it may have been changed through
    /// another process.
    async fn policy_of(
        &self,
        tenant: &TenantId,
        wanted: &RecallWanted,
    ) -> Result<EffectivePolicy, ApiError> {
        let (app, thread) = match wanted.target() {
            Target::Thread(thread) => {
                let Policies { thread, app } = self.store.policies(tenant, *thread).await?;
                (app, thread.policy)
            }
            Target::User { app, user: _ } => {
                let app = self.store.app_policy(tenant, app).await?.policy;
                (app, MemoryPolicy::default())
            }
        };
        Ok(wanted.effective(&app, &thread))
    }

    async fn answer_search(
        &self,
        request: Request<SearchRequest>,
    ) -> Result<SearchResponse, ApiError> {
        let tenant = tenant_of(&request)?;
        let patience = patience(&request);
        let mut query = search_query(request.into_inner())?;
        query.max_wait = wait_until(patience, query.max_wait);
        let found = self.recall.search(&tenant, query).await?;
        let mut matches: Vec<_> = found.matches.into_iter().map(recalled_message).collect();
        self.annotate(&tenant, &mut matches).await?;
        Ok(SearchResponse {
            matches,
            degradations: found.degradations.into_iter().map(degradation).collect(),
        })
    }

    /// Looks up the files of what was found; recall has kept room for them.
    async fn annotate(
        &self,
        tenant: &TenantId,
        messages: &mut [RecalledMessage],
    ) -> Result<(), ApiError> {
        let messages = messages.iter_mut().filter_map(|hit| hit.message.as_mut());
        annotate(&self.store, tenant, messages.flat_map(references).collect()).await
    }
}

/// Until when a call can wait for the index and still answer in time. It is a
/// moment, because what is done before the waiting takes its time too.
pub(super) fn patience<T>(request: &Request<T>) -> Instant {
    let left = remaining(request, Duration::from_secs(3_600));
    let answering = ANSWERING.max(left / ANSWERING_PART).min(left / 2);
    Instant::now() + left.saturating_sub(answering)
}

/// How much of a wait is left until then.
pub(super) fn wait_until(until: Instant, max_wait: Duration) -> Duration {
    max_wait.min(until.saturating_duration_since(Instant::now()))
}
