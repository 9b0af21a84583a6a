//! The recall service.

mod answer;
mod request;

use memory_contract::proto::recall_service_server::RecallService;
use memory_contract::proto::{
    RecallRequest, RecallResponse, RecalledMessage, SearchRequest, SearchResponse,
};
use memory_contract::{MemoryPolicy, MemoryScope};
use memory_recall::Recall;
use memory_store::{Caller, Policies, Scope, Store};
use tonic::{Request, Response, Status, async_trait};

use super::files::{annotate, references};
use super::request::{shortened_wait, wait_deadline};
use crate::error::ApiError;
use crate::layers::caller_of;
use answer::{recalled_message, recalled_response};
use request::{recall_call, search_query};

pub(super) use answer::{degradation, omission_reason, reason};

/// Implements `RecallService`.
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
        let caller = caller_of(&request)?;
        let deadline = wait_deadline(&request);
        let call = recall_call(request.into_inner())?;
        // Policies are not cached: another process may have changed them.
        let (session, thread, app) = match (call.thread(), call.app()) {
            (Some(thread), _) => {
                let Policies { thread, app } =
                    self.store.policies(&caller).policies(thread).await?;
                (Some(thread.session), thread.policy, app)
            }
            (None, Some(app)) => {
                let app = self.store.policies(&caller).app_policy(app).await?.policy;
                (None, MemoryPolicy::default(), app)
            }
            (None, None) => Default::default(),
        };
        let policy = call.resolve(&app, &thread);
        let mut query = call.under(&policy, session.as_ref());
        query.max_wait = shortened_wait(deadline, query.max_wait);
        let tokenizer = query.tokenizer;
        let recalled = self.recall.recall(&caller, &query).await?;
        let mut response = recalled_response(recalled, tokenizer, policy);
        self.annotate(&caller, &mut response.messages).await?;
        Ok(response)
    }

    async fn answer_search(
        &self,
        request: Request<SearchRequest>,
    ) -> Result<SearchResponse, ApiError> {
        let caller = caller_of(&request)?;
        let deadline = wait_deadline(&request);
        let (mut query, scope) = search_query(request.into_inner())?;
        let found = match (query.thread, scope) {
            (Some(thread), MemoryScope::Thread) => {
                query.max_wait = shortened_wait(deadline, query.max_wait);
                let exists = async {
                    Ok::<_, ApiError>(self.store.threads(&caller).get_thread(thread).await?)
                };
                let search = async { Ok::<_, ApiError>(self.recall.search(&caller, query).await?) };
                tokio::try_join!(exists, search)?.1
            }
            (thread, scope) => {
                if let Some(thread) = thread {
                    let session = self
                        .store
                        .threads(&caller)
                        .get_thread(thread)
                        .await?
                        .session;
                    query.scope = Scope::of_thread(thread, &session, scope);
                }
                query.max_wait = shortened_wait(deadline, query.max_wait);
                self.recall.search(&caller, query).await?
            }
        };
        let mut matches: Vec<_> = found.matches.into_iter().map(recalled_message).collect();
        self.annotate(&caller, &mut matches).await?;
        Ok(SearchResponse {
            matches,
            degradations: found.degradations.into_iter().map(degradation).collect(),
        })
    }

    /// Adds what is known of the referenced files. Recall has reserved bytes for it.
    async fn annotate(
        &self,
        caller: &Caller,
        messages: &mut [RecalledMessage],
    ) -> Result<(), ApiError> {
        let messages = messages.iter_mut().filter_map(|hit| hit.message.as_mut());
        annotate(&self.store, caller, messages.flat_map(references).collect()).await
    }
}
