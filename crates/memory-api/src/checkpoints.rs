//! The checkpoint service.

use memory_agent_contract::convert::{
    checkpoint_from, checkpoint_id_from, checkpoint_namespace_from, checkpoint_writes_from,
    metadata_filter_from, optional_checkpoint_id_from,
};
use memory_contract::proto::checkpoint_service_server::CheckpointService;
use memory_contract::proto::{
    CopyCheckpointsRequest, CopyCheckpointsResponse, DeleteCheckpointsRequest,
    DeleteCheckpointsResponse, GetCheckpointRequest, GetCheckpointResponse, ListCheckpointsRequest,
    ListCheckpointsResponse, PutCheckpointRequest, PutCheckpointResponse,
    PutCheckpointWritesRequest, PutCheckpointWritesResponse,
};
use memory_contract::{Invalid, ThreadId, check, limits, page::PageToken, thread::Session};
use memory_grpc::request::{
    Fields, NamedConversation, Target, page_limit, required_conversation_at,
    required_conversation_from, required_target_from, required_user_from, resolve_session,
};
use memory_grpc::{ApiError, caller_of};
use memory_store::{
    Caller, CheckpointError, CheckpointPlace, CheckpointQuery, CheckpointScope,
    CheckpointSelection, NewThread, Store, StoreError,
};
use prost::Message as _;
use serde_json::{Map, Value, json};
use tonic::{Request, Response, Status, async_trait};

use crate::storage_quota::{Amount, StorageQuotas};

/// Implements `CheckpointService`.
#[derive(Clone)]
pub struct Checkpoints {
    pub(crate) store: Store,
    pub(crate) quotas: StorageQuotas,
}

#[async_trait]
impl CheckpointService for Checkpoints {
    async fn put_checkpoint(
        &self,
        request: Request<PutCheckpointRequest>,
    ) -> Result<Response<PutCheckpointResponse>, Status> {
        Ok(Response::new(self.put(request).await?))
    }

    async fn put_checkpoint_writes(
        &self,
        request: Request<PutCheckpointWritesRequest>,
    ) -> Result<Response<PutCheckpointWritesResponse>, Status> {
        Ok(Response::new(self.put_writes(request).await?))
    }

    async fn get_checkpoint(
        &self,
        request: Request<GetCheckpointRequest>,
    ) -> Result<Response<GetCheckpointResponse>, Status> {
        Ok(Response::new(self.get(request).await?))
    }

    async fn list_checkpoints(
        &self,
        request: Request<ListCheckpointsRequest>,
    ) -> Result<Response<ListCheckpointsResponse>, Status> {
        Ok(Response::new(self.list(request).await?))
    }

    async fn copy_checkpoints(
        &self,
        request: Request<CopyCheckpointsRequest>,
    ) -> Result<Response<CopyCheckpointsResponse>, Status> {
        Ok(Response::new(self.copy(request).await?))
    }

    async fn delete_checkpoints(
        &self,
        request: Request<DeleteCheckpointsRequest>,
    ) -> Result<Response<DeleteCheckpointsResponse>, Status> {
        Ok(Response::new(self.delete(request).await?))
    }
}

impl Checkpoints {
    /// Handles `PutCheckpoint`.
    pub async fn put(
        &self,
        request: Request<PutCheckpointRequest>,
    ) -> Result<PutCheckpointResponse, ApiError> {
        let caller = caller_of(&request)?;
        let (metadata, _, mut request) = request.into_parts();
        let bytes = request.encoded_len();
        let mut fields = Fields::default();
        let named = required_conversation_from(&metadata, request.thread.take());
        let named = fields.get(named);
        let checkpoint = fields.get_all(checkpoint_from(request));
        let (named, checkpoint) = fields.all(named.zip(checkpoint))?;
        let wanted = || Amount::of_request(0, bytes);
        let _admitted = self.quotas.admit(&caller, wanted).await?;
        let follows = !checkpoint.parent.is_empty() && !checkpoint.allow_missing_parent;
        let thread = match follows {
            true => self.found(&caller, named).await?,
            false => Some(self.opened(&caller, named).await?),
        };
        let thread = thread.ok_or(StoreError::from(CheckpointError::ParentNotFound))?;
        let checkpoints = self.store.checkpoints(&caller);
        let missing = checkpoints.put_checkpoint(thread, &checkpoint).await?;
        Ok(PutCheckpointResponse {
            thread_id: thread.to_string(),
            missing_value_count: missing,
        })
    }

    /// Handles `PutCheckpointWrites`.
    pub async fn put_writes(
        &self,
        request: Request<PutCheckpointWritesRequest>,
    ) -> Result<PutCheckpointWritesResponse, ApiError> {
        let caller = caller_of(&request)?;
        let (metadata, _, request) = request.into_parts();
        let bytes = request.encoded_len();
        let PutCheckpointWritesRequest {
            thread,
            namespace,
            checkpoint_id,
            writes,
            replace,
        } = request;
        let mut fields = Fields::default();
        let named = fields.get(required_conversation_from(&metadata, thread));
        let namespace = fields.take(checkpoint_namespace_from(namespace));
        let id = fields.take(checkpoint_id_from(checkpoint_id));
        let writes = fields.get_all(checkpoint_writes_from("writes", writes));
        let (named, writes) = fields.all(named.zip(writes))?;
        let wanted = || Amount::of_request(0, bytes);
        let _admitted = self.quotas.admit(&caller, wanted).await?;
        // A write that comes after the deletion of its thread must not bring the thread back.
        let thread = self.found(&caller, named).await?;
        let thread = thread.ok_or(StoreError::ThreadNotFound)?;
        let stored = self
            .store
            .checkpoints(&caller)
            .put_writes(thread, &namespace, &id, &writes, replace);
        stored.await?;
        Ok(PutCheckpointWritesResponse {
            thread_id: thread.to_string(),
        })
    }

    /// Handles `GetCheckpoint`.
    pub async fn get(
        &self,
        request: Request<GetCheckpointRequest>,
    ) -> Result<GetCheckpointResponse, ApiError> {
        let caller = caller_of(&request)?;
        let (metadata, _, request) = request.into_parts();
        let GetCheckpointRequest {
            thread,
            namespace,
            checkpoint_id,
        } = request;
        let mut fields = Fields::default();
        let named = fields.get(required_conversation_from(&metadata, thread));
        let namespace = fields.take(checkpoint_namespace_from(namespace));
        let id = optional_checkpoint_id_from("checkpoint_id", checkpoint_id);
        let id = fields.take(id);
        let named = fields.all(named)?;
        let Some(thread) = self.found(&caller, named).await? else {
            return Ok(GetCheckpointResponse { checkpoint: None });
        };
        let query = CheckpointQuery {
            scope: CheckpointScope::Thread(thread),
            namespace: Some(namespace),
            id: (!id.is_empty()).then_some(id),
            before: None,
            metadata: None,
            after: None,
            limit: 1,
        };
        let page = self.store.checkpoints(&caller).read_checkpoints(&query);
        Ok(GetCheckpointResponse {
            checkpoint: page.await?.items.into_iter().next().map(Into::into),
        })
    }

    async fn list(
        &self,
        request: Request<ListCheckpointsRequest>,
    ) -> Result<ListCheckpointsResponse, ApiError> {
        let caller = caller_of(&request)?;
        let (metadata, _, request) = request.into_parts();
        let kept = ListCheckpointsRequest {
            page_size: 0,
            page_token: String::new(),
            ..request.clone()
        };
        let identity = (
            "checkpoints",
            caller.tenant.as_str().to_owned(),
            kept.encode_to_vec(),
        );
        let ListCheckpointsRequest {
            target,
            namespace,
            checkpoint_id,
            before,
            metadata: filter,
            page_size,
            page_token,
        } = request;
        let mut fields = Fields::default();
        let target = fields.get_all(required_target_from(&metadata, target));
        let scope = target.and_then(|target| match target {
            Target::Thread(named) => Some(Wanted::Thread(named)),
            Target::User(app, user) => Some(Wanted::User(CheckpointScope::User(app, user))),
            Target::App(_) => {
                let problem = "must be a thread or a user: target.thread or target.user";
                fields.get(Err(Invalid::new("target.app", problem)))
            }
        });
        let namespace = namespace.map(checkpoint_namespace_from).transpose();
        let namespace = fields.take(namespace);
        let id = optional_checkpoint_id_from("checkpoint_id", checkpoint_id);
        let id = fields.take(id);
        let before = fields.take(optional_checkpoint_id_from("before", before));
        let filter = match filter.is_empty() {
            true => None,
            false => fields.get(metadata_filter_from("metadata", filter)),
        };
        let limit = fields.take(page_limit(page_size));
        let after = PageToken::name(&identity, &page_token);
        let after =
            fields.take(after.and_then(|name| name.map(|name| place_of(&name)).transpose()));
        let scope = match fields.all(scope)? {
            Wanted::User(scope) => scope,
            Wanted::Thread(named) => match self.found(&caller, named).await? {
                Some(thread) => CheckpointScope::Thread(thread),
                None => return Ok(ListCheckpointsResponse::default()),
            },
        };
        let query = CheckpointQuery {
            scope,
            namespace,
            id: (!id.is_empty()).then_some(id),
            before: (!before.is_empty()).then_some(before),
            metadata: filter,
            after,
            limit,
        };
        let page = self.store.checkpoints(&caller).read_checkpoints(&query);
        let page = page.await?;
        let next = page
            .next
            .map(|place| PageToken::after_name(&identity, &text_of(&place)));
        Ok(ListCheckpointsResponse {
            checkpoints: page.items.into_iter().map(Into::into).collect(),
            next_page_token: next.unwrap_or_default(),
        })
    }

    async fn copy(
        &self,
        request: Request<CopyCheckpointsRequest>,
    ) -> Result<CopyCheckpointsResponse, ApiError> {
        let caller = caller_of(&request)?;
        let (metadata, _, CopyCheckpointsRequest { source, target }) = request.into_parts();
        let mut fields = Fields::default();
        let source = fields.get(required_conversation_at(&metadata, "source", source));
        let target = fields.get(required_conversation_at(&metadata, "target", target));
        let (source, target) = fields.all(source.zip(target))?;
        let Some(source) = self.found(&caller, source).await? else {
            return Ok(CopyCheckpointsResponse { copied_count: 0 });
        };
        let bytes = self.store.checkpoints(&caller).checkpoint_bytes(source);
        let bytes = usize::try_from(bytes.await?).unwrap_or(usize::MAX);
        let wanted = || Amount::of_request(0, bytes);
        let _admitted = self.quotas.admit(&caller, wanted).await?;
        let target = self.opened(&caller, target).await?;
        let copied = self.store.checkpoints(&caller);
        Ok(CopyCheckpointsResponse {
            copied_count: copied.copy_checkpoints(source, target).await?,
        })
    }

    async fn delete(
        &self,
        request: Request<DeleteCheckpointsRequest>,
    ) -> Result<DeleteCheckpointsResponse, ApiError> {
        let caller = caller_of(&request)?;
        let (call, _, request) = request.into_parts();
        let DeleteCheckpointsRequest {
            threads,
            user,
            metadata,
            keep_latest,
        } = request;
        let mut fields = Fields::default();
        let most = limits::CHECKPOINT_SELECTIONS;
        let few = |field: &str, count: usize| match count <= most {
            true => Ok(()),
            false => {
                let problem = format!("must have at most {most} entries");
                Err(Invalid::new(field, problem))
            }
        };
        fields.take(few("threads", threads.len()));
        fields.take(few("metadata", metadata.len()));
        if threads.is_empty() == user.is_none() {
            let problem = "is required, or else user; not both";
            fields.take(Err::<(), _>(Invalid::new("threads", problem)));
        }
        if (user.is_some() && metadata.is_empty()) || (keep_latest && !metadata.is_empty()) {
            let problem = "is required with user, and excludes keep_latest";
            fields.take(Err::<(), _>(Invalid::new("metadata", problem)));
        }
        let owner = match user {
            Some(user) => fields.get_all(required_user_from(Some(user))),
            None => None,
        };
        let threads = threads.into_iter().take(most).enumerate();
        let threads: Vec<NamedConversation> = threads
            .filter_map(|(index, thread)| {
                let field = format!("threads[{index}]");
                fields.get(required_conversation_at(&call, &field, Some(thread)))
            })
            .collect();
        let metadata = metadata.into_iter().take(most).enumerate();
        let metadata: Vec<String> = metadata
            .filter_map(|(index, filter)| {
                let field = format!("metadata[{index}]");
                let read = metadata_filter_from(&field, filter).and_then(|filter| {
                    // It would select all checkpoints.
                    match serde_json::from_str::<Map<String, Value>>(&filter) {
                        Ok(object) if object.is_empty() => {
                            Err(Invalid::new(field.as_str(), "must have a field"))
                        }
                        _ => Ok(filter),
                    }
                });
                fields.get(read)
            })
            .collect();
        fields.end()?;
        let selection = match owner {
            Some((app, user)) => CheckpointSelection::User(app, user),
            None => {
                let mut named = Vec::with_capacity(threads.len());
                for thread in threads {
                    named.push(self.session(&caller, thread).await?);
                }
                CheckpointSelection::Sessions(named.into_iter().flatten().collect())
            }
        };
        let deleted =
            self.store
                .checkpoints(&caller)
                .delete_checkpoints(&selection, &metadata, keep_latest);
        Ok(DeleteCheckpointsResponse {
            deleted_count: deleted.await?,
        })
    }

    /// The thread, which is created for a session without one.
    async fn opened(
        &self,
        caller: &Caller,
        named: NamedConversation,
    ) -> Result<ThreadId, ApiError> {
        match self.session(caller, named.clone()).await? {
            None => named.thread(&self.store, caller).await,
            Some(session) => {
                let new = NewThread::of(session);
                let resolved = self.store.threads(caller).resolve_thread(&new).await?;
                Ok(resolved.thread.id)
            }
        }
    }

    /// The thread; `None` for a session without one. An id without a thread is an error.
    async fn found(
        &self,
        caller: &Caller,
        named: NamedConversation,
    ) -> Result<Option<ThreadId>, ApiError> {
        let threads = self.store.threads(caller);
        match self.session(caller, named.clone()).await? {
            None => Ok(Some(named.stored_thread(&self.store, caller).await?.id)),
            Some(session) => match threads.find_thread(&session).await {
                Ok(thread) => Ok(Some(thread.id)),
                Err(StoreError::ThreadNotFound) => Ok(None),
                Err(error) => Err(error.into()),
            },
        }
    }

    /// The session that is named; `None` if an id is.
    async fn session(
        &self,
        caller: &Caller,
        named: NamedConversation,
    ) -> Result<Option<Session>, ApiError> {
        match named {
            NamedConversation::Thread(_) => Ok(None),
            NamedConversation::Session(names) => {
                let (session, _) = resolve_session(&self.store, caller, names).await?;
                Ok(Some(session))
            }
        }
    }
}

/// Whose checkpoints a request lists.
enum Wanted {
    Thread(NamedConversation),
    User(CheckpointScope),
}

/// A place as a JSON list, for a page token.
fn text_of(place: &CheckpointPlace) -> String {
    let CheckpointPlace {
        id,
        thread,
        namespace,
    } = place;
    json!([thread.to_string(), id, namespace]).to_string()
}

fn place_of(text: &str) -> Result<CheckpointPlace, Invalid> {
    let field = "page_token";
    let parts: Result<(String, String, String), _> = serde_json::from_str(text);
    let (thread, id, namespace) =
        parts.map_err(|_| Invalid::new(field, "is not a token of this list"))?;
    Ok(CheckpointPlace {
        id,
        thread: check::uuid(field, &thread)?.into(),
        namespace,
    })
}
