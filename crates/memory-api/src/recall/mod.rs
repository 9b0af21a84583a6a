//! The recall service.

mod answer;
mod request;

use memory_context::{Place, Resolved, Searched, resolve};
use memory_contract::policy::{MemoryMode, MemoryPolicy, MemoryScope};
use memory_contract::proto::recall_service_server::RecallService;
use memory_contract::proto::{
    RecallRequest, RecallResponse, RecalledMessage, SearchRequest, SearchResponse,
};
use memory_grpc::request::{NamedConversation, wait_deadline};
use memory_grpc::{ApiError, answered, caller_of};
use memory_recall::{FoundMessages, Method, Prefetch, Recall, Recalled};
use memory_store::{Caller, Scope, Store};
use tonic::{Request, Response, Status, async_trait};

use super::files::{annotate, references};
use answer::{cut, recalled_message, recalled_response};
use request::{NamedPlace, recall_call, search_call};

pub(super) use answer::{degradation, named_time, omission_reason, reason, searched_by};

/// Implements `RecallService`.
#[derive(Clone)]
pub struct Recalls {
    pub(crate) store: Store,
    pub(crate) recall: Recall,
}

#[async_trait]
impl RecallService for Recalls {
    async fn recall(
        &self,
        request: Request<RecallRequest>,
    ) -> Result<Response<RecallResponse>, Status> {
        Ok(answered(self.answer_recall(request).await?))
    }

    async fn search(
        &self,
        request: Request<SearchRequest>,
    ) -> Result<Response<SearchResponse>, Status> {
        Ok(answered(self.answer_search(request).await?))
    }
}

impl Recalls {
    async fn answer_recall(
        &self,
        request: Request<RecallRequest>,
    ) -> Result<RecallResponse, ApiError> {
        let caller = caller_of(&request)?;
        let deadline = wait_deadline(&request);
        let (metadata, _, request) = request.into_parts();
        let (place, call) = recall_call(&metadata, request)?;
        let mut prefetch =
            self.prefetch(&caller, &place, call.policy.mode, &call.text, call.method);
        let resolved = self.resolve(&caller, place, &call.policy).await?;
        let tokenizer = call.tokenizer;
        let explained = call.explain.then(|| resolved.policy.clone());
        let recalled = match call.query(resolved, deadline) {
            Some(query) => {
                match query.searches() {
                    true => prefetch.searches(&query.scope),
                    false => prefetch.searches_nothing(),
                }
                self.recall.recall(&caller, &query).await?
            }
            None => Recalled::default(),
        };
        let mut response = recalled_response(recalled, tokenizer, explained);
        self.annotate(&caller, &mut response.messages).await?;
        Ok(response)
    }

    async fn answer_search(
        &self,
        request: Request<SearchRequest>,
    ) -> Result<SearchResponse, ApiError> {
        let caller = caller_of(&request)?;
        let deadline = wait_deadline(&request);
        let (metadata, _, request) = request.into_parts();
        let (place, call) = search_call(&metadata, request)?;
        let found = match (place, call.scope) {
            (
                NamedPlace::Conversation(NamedConversation::Thread(thread)),
                Some(MemoryScope::Thread),
            ) => {
                let query = call.query(Some(thread), Scope::Thread(thread), deadline);
                let exists = async {
                    Ok::<_, ApiError>(self.store.threads(&caller).get_thread(thread).await?)
                };
                let search = async { Ok::<_, ApiError>(self.recall.search(&caller, query).await?) };
                tokio::try_join!(exists, search)?.1
            }
            (place, scope) => {
                let request = MemoryPolicy {
                    scope,
                    ..MemoryPolicy::default()
                };
                let mut prefetch = self.prefetch(&caller, &place, None, &call.text, call.method);
                let Resolved { thread, scope, .. } = self.resolve(&caller, place, &request).await?;
                match scope {
                    Some(scope) => {
                        prefetch.searches(&scope);
                        let query = call.query(thread, scope, deadline);
                        self.recall.search(&caller, query).await?
                    }
                    None => FoundMessages::default(),
                }
            }
        };
        let mut matches: Vec<_> = found.matches.into_iter().map(recalled_message).collect();
        self.annotate(&caller, &mut matches).await?;
        Ok(SearchResponse {
            matches,
            method: searched_by(found.method),
            degradations: found.degradations.into_iter().map(degradation).collect(),
            cuts: found.cuts.into_iter().map(cut).collect(),
            named_times: found.named_times.into_iter().map(named_time).collect(),
        })
    }

    /// Begins to embed the question of a request that names this mode, or none.
    fn prefetch(
        &self,
        caller: &Caller,
        place: &NamedPlace,
        mode: Option<MemoryMode>,
        text: &str,
        method: Method,
    ) -> Prefetch {
        let place = format!("{place:?}");
        self.recall.prefetch(caller, place, mode, text, method)
    }

    /// Reads what a search under the policy of a request may find.
    async fn resolve(
        &self,
        caller: &Caller,
        named: NamedPlace,
        request: &MemoryPolicy,
    ) -> Result<Resolved, ApiError> {
        let place = match named {
            NamedPlace::Conversation(named) => {
                Place::Conversation(named.resolve(&self.store, caller).await?)
            }
            NamedPlace::Others { app, scope } => Place::Others { app, scope },
        };
        Ok(resolve(&self.store, caller, &place, request, Searched::Messages).await?)
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
