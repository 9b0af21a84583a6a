//! The thread service.

mod branches;
mod fields;
mod listing;
mod update;

use std::time::Duration;

use memory_contract::proto::thread_service_server::ThreadService;
use memory_contract::proto::{
    self, ClearThreadRequest, ClearThreadResponse, CreateThreadRequest, CreateThreadResponse,
    DeleteThreadRequest, DeleteThreadResponse, GetThreadRequest, GetThreadResponse,
    ListAppsRequest, ListAppsResponse, ListBranchesRequest, ListBranchesResponse,
    ListThreadsRequest, ListThreadsResponse, ListUsersRequest, ListUsersResponse,
    ResolveThreadRequest, ResolveThreadResponse, SessionRef, SetHeadRequest, SetHeadResponse,
    UpdateThreadRequest, UpdateThreadResponse, WatchThreadRequest,
};
use memory_contract::{
    InvalidFields,
    convert::metadata_from,
    json::JsonObject,
    policy::{MemoryPolicy, PolicyLevel},
    precondition::Precondition,
    thread::Session,
};
use memory_grpc::request::{
    Fields, SessionAt, check_thread_change, may_erase, policy_at, required_conversation_from,
    resolve_session, session_names_from,
};
use memory_grpc::{ApiError, caller_of};
use memory_index::IndexerHandle;
use memory_store::{Erased, NewThread, Store, StoreError};
use prost_types::Duration as ProtoDuration;
use tonic::metadata::MetadataMap;
use tonic::{Request, Response, Status, async_trait};

use super::watch::{Events, Watcher, Watching};
use fields::{title_from, ttl_from};
use update::Update;

/// How often a change of a thread is tried while others change it.
const TRIES: u32 = 3;

/// Implements `ThreadService`.
#[derive(Clone)]
pub struct Threads {
    pub(crate) store: Store,
    pub(crate) indexer: Option<IndexerHandle>,
    pub(crate) watching: Watching,
}

#[async_trait]
impl ThreadService for Threads {
    async fn create_thread(
        &self,
        request: Request<CreateThreadRequest>,
    ) -> Result<Response<CreateThreadResponse>, Status> {
        Ok(Response::new(self.create(request).await?))
    }

    async fn resolve_thread(
        &self,
        request: Request<ResolveThreadRequest>,
    ) -> Result<Response<ResolveThreadResponse>, Status> {
        Ok(Response::new(self.resolve(request).await?))
    }

    async fn get_thread(
        &self,
        request: Request<GetThreadRequest>,
    ) -> Result<Response<GetThreadResponse>, Status> {
        Ok(Response::new(self.get(request).await?))
    }

    async fn list_threads(
        &self,
        request: Request<ListThreadsRequest>,
    ) -> Result<Response<ListThreadsResponse>, Status> {
        Ok(Response::new(self.list(request).await?))
    }

    async fn list_users(
        &self,
        request: Request<ListUsersRequest>,
    ) -> Result<Response<ListUsersResponse>, Status> {
        Ok(Response::new(self.users(request).await?))
    }

    async fn list_apps(
        &self,
        request: Request<ListAppsRequest>,
    ) -> Result<Response<ListAppsResponse>, Status> {
        Ok(Response::new(self.apps(request).await?))
    }

    async fn update_thread(
        &self,
        request: Request<UpdateThreadRequest>,
    ) -> Result<Response<UpdateThreadResponse>, Status> {
        Ok(Response::new(self.update(request).await?))
    }

    async fn clear_thread(
        &self,
        request: Request<ClearThreadRequest>,
    ) -> Result<Response<ClearThreadResponse>, Status> {
        Ok(Response::new(self.clear(request).await?))
    }

    async fn delete_thread(
        &self,
        request: Request<DeleteThreadRequest>,
    ) -> Result<Response<DeleteThreadResponse>, Status> {
        Ok(Response::new(self.delete(request).await?))
    }

    async fn set_head(
        &self,
        request: Request<SetHeadRequest>,
    ) -> Result<Response<SetHeadResponse>, Status> {
        Ok(Response::new(self.move_head(request).await?))
    }

    async fn list_branches(
        &self,
        request: Request<ListBranchesRequest>,
    ) -> Result<Response<ListBranchesResponse>, Status> {
        Ok(Response::new(self.branches(request).await?))
    }

    type WatchThreadStream = Events;

    async fn watch_thread(
        &self,
        request: Request<WatchThreadRequest>,
    ) -> Result<Response<Events>, Status> {
        let watcher = Watcher::begin(&self.store, &self.watching, request).await?;
        Ok(Response::new(watcher.run()))
    }
}

impl Threads {
    async fn create(
        &self,
        request: Request<CreateThreadRequest>,
    ) -> Result<CreateThreadResponse, ApiError> {
        let caller = caller_of(&request)?;
        let (call, _, request) = request.into_parts();
        let CreateThreadRequest {
            session,
            title,
            metadata,
            ttl,
            policy,
            ephemeral,
        } = request;
        let (names, properties) = new_thread(&call, session, title, metadata, ttl, policy)?;
        let (session, source) = resolve_session(&self.store, &caller, names.or_generated()).await?;
        let new = properties.of(session, ephemeral);
        let thread = self.store.threads(&caller).create_thread(&new).await?;
        Ok(CreateThreadResponse {
            thread: Some(thread.into()),
            session_key_source: source.into(),
        })
    }

    /// Handles `ResolveThread`.
    pub async fn resolve(
        &self,
        request: Request<ResolveThreadRequest>,
    ) -> Result<ResolveThreadResponse, ApiError> {
        let caller = caller_of(&request)?;
        let (call, _, request) = request.into_parts();
        let ResolveThreadRequest {
            session,
            title,
            metadata,
            ttl,
            policy,
            ephemeral,
        } = request;
        let (names, properties) = new_thread(&call, session, title, metadata, ttl, policy)?;
        let (session, source) = resolve_session(&self.store, &caller, names).await?;
        let new = properties.of(session, ephemeral);
        let resolved = self.store.threads(&caller).resolve_thread(&new).await?;
        Ok(ResolveThreadResponse {
            thread: Some(resolved.thread.into()),
            created: resolved.created,
            session_key_source: source.into(),
        })
    }

    async fn get(&self, request: Request<GetThreadRequest>) -> Result<GetThreadResponse, ApiError> {
        let caller = caller_of(&request)?;
        let (call, _, GetThreadRequest { thread }) = request.into_parts();
        let named = required_conversation_from(&call, thread)?;
        let thread = named.stored_thread(&self.store, &caller).await?;
        Ok(GetThreadResponse {
            thread: Some(thread.into()),
        })
    }

    async fn update(
        &self,
        request: Request<UpdateThreadRequest>,
    ) -> Result<UpdateThreadResponse, ApiError> {
        let caller = caller_of(&request)?;
        let Update {
            named,
            precondition,
            change,
        } = Update::read(request.into_inner())?;
        let id = named.thread(&self.store, &caller).await?;
        let update = async |precondition: &Precondition| {
            let threads = self.store.threads(&caller);
            let thread = threads.update_thread(id, precondition, &change).await?;
            Ok(UpdateThreadResponse {
                thread: Some(thread.into()),
            })
        };
        if may_erase(&caller) {
            return Ok(update(&precondition).await?);
        }
        let mut tries = TRIES;
        loop {
            let policies = self.store.policies(&caller).policies(id).await?;
            check_thread_change(
                &self.store,
                &caller,
                (&policies.thread, &policies.app),
                ("thread.ttl", change.ttl.flatten()),
                ("thread.policy", &change.policy),
            )?;
            let etag = policies.thread.etag;
            if !precondition.holds(Some(&etag)) {
                return Ok(update(&precondition).await?);
            }
            // The thread that was checked is changed, or none.
            let updated = update(&Precondition::Etag(etag)).await;
            tries -= 1;
            if tries == 0 || !matches!(updated, Err(StoreError::EtagChanged { .. })) {
                return Ok(updated?);
            }
        }
    }

    async fn clear(
        &self,
        request: Request<ClearThreadRequest>,
    ) -> Result<ClearThreadResponse, ApiError> {
        let caller = caller_of(&request)?;
        let (call, _, ClearThreadRequest { thread }) = request.into_parts();
        let named = required_conversation_from(&call, thread)?;
        let id = named.thread(&self.store, &caller).await?;
        let Erased {
            message_count,
            revision,
        } = self.store.threads(&caller).clear_thread(id).await?;
        self.wake();
        Ok(ClearThreadResponse {
            deleted_message_count: message_count,
            revision: revision.to_string(),
        })
    }

    async fn delete(
        &self,
        request: Request<DeleteThreadRequest>,
    ) -> Result<DeleteThreadResponse, ApiError> {
        let caller = caller_of(&request)?;
        let (call, _, DeleteThreadRequest { thread }) = request.into_parts();
        let named = required_conversation_from(&call, thread)?;
        let deleted = async {
            let id = named.thread(&self.store, &caller).await?;
            Ok(self.store.threads(&caller).delete_thread(id).await?)
        };
        let Erased {
            message_count,
            revision: _,
        } = match deleted.await {
            Err(ApiError::Store(StoreError::ThreadNotFound)) => {
                return Ok(DeleteThreadResponse::default());
            }
            deleted => deleted?,
        };
        self.wake();
        Ok(DeleteThreadResponse {
            deleted: true,
            deleted_message_count: message_count,
        })
    }

    /// Wakes the indexer, so that erased messages leave the index soon.
    fn wake(&self) {
        if let Some(indexer) = &self.indexer {
            indexer.wake();
        }
    }
}

/// The properties of a new thread except its session.
struct Properties {
    title: String,
    metadata: JsonObject,
    ttl: Option<Duration>,
    policy: MemoryPolicy,
}

impl Properties {
    fn of(self, session: Session, ephemeral: bool) -> NewThread {
        let Self {
            title,
            metadata,
            ttl,
            policy,
        } = self;
        NewThread {
            session,
            title,
            metadata,
            ttl,
            policy,
            ephemeral,
        }
    }
}

fn new_thread(
    call: &MetadataMap,
    session: Option<SessionRef>,
    title: String,
    metadata: String,
    ttl: Option<ProtoDuration>,
    policy: Option<proto::MemoryPolicy>,
) -> Result<(SessionAt, Properties), InvalidFields> {
    let mut fields = Fields::default();
    let names = fields.get(session_names_from(call, session));
    let properties = Properties {
        title: fields.take(title_from(title)),
        metadata: fields.take(metadata_from("metadata", metadata)),
        ttl: fields.take(ttl_from(ttl)),
        policy: fields
            .get_all(policy_at(PolicyLevel::Thread, policy))
            .unwrap_or_default(),
    };
    Ok((fields.all(names)?, properties))
}
