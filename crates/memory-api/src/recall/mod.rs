//! The recall service.

mod answer;
mod request;

use memory_contract::proto::recall_service_server::RecallService;
use memory_contract::proto::{
    RecallRequest, RecallResponse, RecalledMessage, SearchRequest, SearchResponse,
};
use memory_contract::{
    AppId, MemoryMode, MemoryPolicy, MemoryScope, PolicyLevel, ResolvedPolicy, Session, Thread,
    ThreadId,
};
use memory_grpc::request::{NamedConversation, resolve_session, wait_deadline};
use memory_grpc::{ApiError, caller_of};
use memory_recall::{FoundMessages, Method, Prefetch, Recall, Recalled};
use memory_store::{Caller, Policies, Scope, Store};
use tonic::{Request, Response, Status, async_trait};

use super::files::{annotate, references};
use answer::{cut, recalled_message, recalled_response};
use request::{Place, recall_call, search_call};

pub(super) use answer::{degradation, omission_reason, reason, searched_by};

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
        let (metadata, _, request) = request.into_parts();
        let (place, call) = recall_call(&metadata, request)?;
        let mut prefetch =
            self.prefetch(&caller, &place, call.policy.mode, &call.text, call.method);
        let (begin, policy) = self.begin(&caller, place, &call.policy).await?;
        let (thread, scope) = self.searched(&caller, begin, &policy).await?;
        let tokenizer = call.tokenizer;
        let explained = call.explain.then(|| policy.clone());
        let recalled = match scope {
            Some(scope) => {
                let query = call.query(&policy, thread, scope, deadline);
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
            (Place::Conversation(NamedConversation::Thread(thread)), Some(MemoryScope::Thread)) => {
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
                let (begin, policy) = self.begin(&caller, place, &request).await?;
                match self.searched(&caller, begin, &policy).await? {
                    (thread, Some(scope)) => {
                        prefetch.searches(&scope);
                        let query = call.query(thread.map(|(thread, _)| thread), scope, deadline);
                        self.recall.search(&caller, query).await?
                    }
                    (_, None) => FoundMessages::default(),
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
        })
    }

    /// Begins to embed the question of a request that names this mode, or none.
    fn prefetch(
        &self,
        caller: &Caller,
        place: &Place,
        mode: Option<MemoryMode>,
        text: &str,
        method: Method,
    ) -> Prefetch {
        let place = format!("{place:?}");
        self.recall.prefetch(caller, place, mode, text, method)
    }

    /// Reads where a search begins, and the policy that applies: `request` is its most
    /// specific level. Policies are not cached, because another process may have changed
    /// them.
    async fn begin(
        &self,
        caller: &Caller,
        place: Place,
        request: &MemoryPolicy,
    ) -> Result<(Begin, ResolvedPolicy), ApiError> {
        let policies = self.store.policies(caller);
        let (begin, own, app) = match place {
            Place::Others { app, scope } => {
                let stored = policies.app_policy(&app).await?.policy;
                let begin = Begin::Others { app, scope };
                (begin, MemoryPolicy::default(), stored)
            }
            Place::Conversation(NamedConversation::Thread(thread)) => {
                let Policies {
                    thread,
                    thread_ordinal,
                    app,
                    ..
                } = policies.policies(thread).await?;
                let policy = thread.policy.clone();
                (Begin::Thread(Box::new(thread), thread_ordinal), policy, app)
            }
            Place::Conversation(NamedConversation::Session(names)) => {
                let (session, _) = resolve_session(&self.store, caller, names).await?;
                let (thread, app) = policies.session_policies(&session).await?;
                match thread {
                    Some((thread, ordinal)) => {
                        let policy = thread.policy.clone();
                        (Begin::Thread(Box::new(thread), ordinal), policy, app)
                    }
                    None => (Begin::NewSession(session), MemoryPolicy::default(), app),
                }
            }
        };
        let resolve = |request: &MemoryPolicy| {
            self.store.resolve_policy(&[
                (PolicyLevel::App, &app),
                (PolicyLevel::Thread, &own),
                (PolicyLevel::Request, request),
            ])
        };
        let policy = resolve(request);
        let Begin::Others { scope, .. } = &begin else {
            return Ok((begin, policy));
        };
        // The target decides the scope, and the response reports it.
        let scope = match (scope, policy.scope) {
            (Scope::App(_), _) => MemoryScope::App,
            (_, MemoryScope::Space) => MemoryScope::Space,
            _ => MemoryScope::User,
        };
        let policy = resolve(&MemoryPolicy {
            scope: Some(scope),
            ..request.clone()
        });
        Ok((begin, policy))
    }

    /// The thread with its place in the order of creation of all threads, and the messages that a
    /// search may find: `None` if there are none.
    async fn searched(
        &self,
        caller: &Caller,
        begin: Begin,
        policy: &ResolvedPolicy,
    ) -> Result<(Option<(ThreadId, i64)>, Option<Scope>), ApiError> {
        let policies = self.store.policies(caller);
        let space = policies.searched_space(begin.app(), policy).await?;
        Ok(match begin {
            Begin::Thread(thread, ordinal) => {
                let scope = Scope::of_thread(thread.id, &thread.session, policy.scope, space);
                (Some((thread.id, ordinal)), Some(scope))
            }
            Begin::NewSession(session) => {
                (None, Scope::beyond_thread(&session, policy.scope, space))
            }
            Begin::Others { scope, .. } => (None, Some(scope.within(space))),
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

/// Where a search begins, as it is stored.
enum Begin {
    /// With the thread's place in the order of creation of all threads.
    Thread(Box<Thread>, i64),
    /// A session that has no thread yet.
    NewSession(Session),
    /// The threads of a user or an app, without a conversation.
    Others { app: AppId, scope: Scope },
}

impl Begin {
    fn app(&self) -> &AppId {
        match self {
            Self::Thread(thread, _) => &thread.session.app,
            Self::NewSession(session) => &session.app,
            Self::Others { app, .. } => app,
        }
    }
}
