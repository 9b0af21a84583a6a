//! The memory service.

mod profile;
mod request;

use std::time::{Duration, Instant};

use memory_contract::proto::memory_service_server::MemoryService;
use memory_contract::proto::{
    self, AddMemoriesRequest, AddMemoriesResponse, DeleteMemoriesRequest, DeleteMemoriesResponse,
    DeleteMemoryRequest, DeleteMemoryResponse, ExtractMemoriesRequest, ExtractMemoriesResponse,
    GetMemoryRequest, GetMemoryResponse, GetProfileRequest, GetProfileResponse,
    ImportMemoriesRequest, ImportMemoriesResponse, ListMemoriesRequest, ListMemoriesResponse,
    SearchMemoriesRequest, SearchMemoriesResponse, SupersedeMemoryRequest, SupersedeMemoryResponse,
    UpdateMemoryRequest, UpdateMemoryResponse,
};
use memory_contract::{
    AppId, Invalid, MemoryId, ThreadId, check,
    convert::{duration_in, memories_from, memory_change_from, memory_from, precondition_from},
    limits,
    memory::{MemoryOrigin, MemoryOwner},
    page::PageToken,
    policy::{ExtractionStrategy, PolicyLevel, ResolvedPolicy},
    size::{fit_metadata, memory_bytes},
};
use memory_grpc::request::{
    Fields, NamedConversation, next_token, page_limit, required_conversation_from,
    required_owner_from, shortened_wait, wait_deadline,
};
use memory_grpc::{ApiError, caller_of};
use memory_index::IndexerHandle;
use memory_recall::{FoundMemory, Recall};
use memory_store::{
    AddedMemories, AddedMemory, Caller, ChangedMemory, DeletedMemory, Forgotten, ImportedMemories,
    ImportedMemory, MemoryError, MemoryOwners, MemoryWithHistory, Store, StoreError,
    SupersededMemory,
};
use prost::Message as _;
use tokio::time::sleep_until;
use tonic::{Request, Response, Status, async_trait};

use super::recall::{degradation, searched_by};
use crate::kinds::{check_change, check_new};
use crate::storage_quota::{Admitted, Amount, StorageQuotas};
use request::{Filter, filter_from, forget_from, memory_owner_from, query_from, stored_from};

/// How often a call that waits for extraction looks for its end.
const EXTRACTION_POLL: Duration = Duration::from_millis(100);

/// Answers for long-term memories.
#[derive(Clone)]
pub struct Memories {
    pub(crate) store: Store,
    pub(crate) recall: Recall,
    pub(crate) indexer: Option<IndexerHandle>,
    pub(crate) quotas: StorageQuotas,
    pub(crate) extraction_languages: &'static str,
}

#[async_trait]
impl MemoryService for Memories {
    async fn add_memories(
        &self,
        request: Request<AddMemoriesRequest>,
    ) -> Result<Response<AddMemoriesResponse>, Status> {
        Ok(Response::new(self.add(request).await?))
    }

    async fn get_memory(
        &self,
        request: Request<GetMemoryRequest>,
    ) -> Result<Response<GetMemoryResponse>, Status> {
        Ok(Response::new(self.get(request).await?))
    }

    async fn list_memories(
        &self,
        request: Request<ListMemoriesRequest>,
    ) -> Result<Response<ListMemoriesResponse>, Status> {
        Ok(Response::new(self.list(request).await?))
    }

    async fn search_memories(
        &self,
        request: Request<SearchMemoriesRequest>,
    ) -> Result<Response<SearchMemoriesResponse>, Status> {
        Ok(Response::new(self.search(request).await?))
    }

    async fn get_profile(
        &self,
        request: Request<GetProfileRequest>,
    ) -> Result<Response<GetProfileResponse>, Status> {
        Ok(Response::new(self.profile(request).await?))
    }

    async fn update_memory(
        &self,
        request: Request<UpdateMemoryRequest>,
    ) -> Result<Response<UpdateMemoryResponse>, Status> {
        Ok(Response::new(self.update(request).await?))
    }

    async fn supersede_memory(
        &self,
        request: Request<SupersedeMemoryRequest>,
    ) -> Result<Response<SupersedeMemoryResponse>, Status> {
        Ok(Response::new(self.supersede(request).await?))
    }

    async fn extract_memories(
        &self,
        request: Request<ExtractMemoriesRequest>,
    ) -> Result<Response<ExtractMemoriesResponse>, Status> {
        Ok(Response::new(self.extract(request).await?))
    }

    async fn delete_memory(
        &self,
        request: Request<DeleteMemoryRequest>,
    ) -> Result<Response<DeleteMemoryResponse>, Status> {
        Ok(Response::new(self.delete(request).await?))
    }

    async fn import_memories(
        &self,
        request: Request<ImportMemoriesRequest>,
    ) -> Result<Response<ImportMemoriesResponse>, Status> {
        Ok(Response::new(self.import(request).await?))
    }

    async fn delete_memories(
        &self,
        request: Request<DeleteMemoriesRequest>,
    ) -> Result<Response<DeleteMemoriesResponse>, Status> {
        Ok(Response::new(self.forget(request).await?))
    }
}

impl Memories {
    async fn add(
        &self,
        request: Request<AddMemoriesRequest>,
    ) -> Result<AddMemoriesResponse, ApiError> {
        let caller = caller_of(&request)?;
        self.store.require_long_term_memory()?;
        let request = request.into_inner();
        let bytes = request.encoded_len();
        let AddMemoriesRequest { user, memories } = request;
        let mut fields = Fields::default();
        let owner = memory_owner_from(&mut fields, user);
        let memories = fields.get_all(memories_from("memories", memories));
        let (owner, memories) = fields.all(owner.zip(memories))?;
        let path = |index| format!("memories[{index}]");
        check_new(&self.store, &caller, &owner.app, &memories, path).await?;
        let _admitted = self.admit(&caller, bytes).await?;
        let AddedMemories {
            mut memories,
            revision,
        } = self
            .store
            .memories(&caller)
            .add_memories(&owner, &memories, MemoryOrigin::Caller, None)
            .await?;
        self.wake();
        let stored = memories.iter_mut().map(|added| &mut added.memory);
        fit_metadata(stored, limits::ANSWER_BYTES);
        let added = |AddedMemory { memory, created }| proto::AddedMemory {
            memory: Some(memory.into()),
            created,
        };
        Ok(AddMemoriesResponse {
            memories: memories.into_iter().map(added).collect(),
            revision: revision.to_string(),
        })
    }

    async fn get(&self, request: Request<GetMemoryRequest>) -> Result<GetMemoryResponse, ApiError> {
        let caller = caller_of(&request)?;
        self.store.require_long_term_memory()?;
        let GetMemoryRequest { memory_id } = request.into_inner();
        let id = check::uuid("memory_id", &memory_id)?.into();
        let MemoryWithHistory { memory, superseded } =
            self.store.memories(&caller).get_memory(id).await?;
        Ok(GetMemoryResponse {
            memory: Some(memory.into()),
            superseded: superseded.into_iter().map(Into::into).collect(),
        })
    }

    async fn list(
        &self,
        request: Request<ListMemoriesRequest>,
    ) -> Result<ListMemoriesResponse, ApiError> {
        let caller = caller_of(&request)?;
        self.store.require_long_term_memory()?;
        let (call, _, request) = request.into_parts();
        let ListMemoriesRequest {
            target,
            filter,
            page_size,
            page_token,
        } = request;
        let kept = filter.as_ref().map(|filter| filter.encode_to_vec());
        let mut fields = Fields::default();
        let owner = required_owner_from(&mut fields, &call, target);
        let names = format!("{owner:?}");
        let identity = ("memories", caller.tenant.as_str(), names, kept);
        let Filter { mut filter, thread } = filter_from(&mut fields, &call, filter);
        let limit = fields.take(page_limit(page_size));
        let after = fields.take(PageToken::key(&identity, &page_token));
        let (app, user) = fields.all(owner)?;
        filter.thread = self.thread(&caller, thread).await?;
        let page = self
            .store
            .memories(&caller)
            .list_memories(&app, user.as_ref(), &filter, after, limit)
            .await?;
        Ok(ListMemoriesResponse {
            memories: page.items.into_iter().map(Into::into).collect(),
            next_page_token: next_token(&identity, page.next),
        })
    }

    /// The policy of an app, over the server's and the defaults.
    async fn app_policy(&self, caller: &Caller, app: &AppId) -> Result<ResolvedPolicy, ApiError> {
        let of_app = self.store.policies(caller).app_policy(app).await?.policy;
        Ok(self.store.resolve_policy(&[(PolicyLevel::App, &of_app)]))
    }

    /// Whose memories a search for an owner reaches: a user's also in the apps of the memory space.
    async fn reached(
        &self,
        caller: &Caller,
        owner: &MemoryOwner,
        policy: &ResolvedPolicy,
    ) -> Result<MemoryOwners, ApiError> {
        let space = match owner.user.is_empty() {
            true => None,
            false => {
                let policies = self.store.policies(caller);
                policies.searched_space(&owner.app, policy).await?
            }
        };
        Ok(MemoryOwners::User(owner.clone()).within(space))
    }

    async fn search(
        &self,
        request: Request<SearchMemoriesRequest>,
    ) -> Result<SearchMemoriesResponse, ApiError> {
        let caller = caller_of(&request)?;
        self.store.require_long_term_memory()?;
        let deadline = wait_deadline(&request);
        let (call, _, request) = request.into_parts();
        let (mut query, thread) = query_from(&call, request)?;
        query.max_wait = shortened_wait(deadline, query.max_wait);
        query.filter.thread = self.thread(&caller, thread).await?;
        if let MemoryOwners::User(owner) = &query.owners
            && !owner.user.is_empty()
        {
            let policy = self.app_policy(&caller, &owner.app).await?;
            query.owners = self.reached(&caller, owner, &policy).await?;
        }
        let found = self.recall.memories(&caller, &query).await?;
        let mut room = limits::ANSWER_BYTES;
        let fits = |found: &FoundMemory| {
            room.checked_sub(memory_bytes(&found.memory))
                .map(|rest| room = rest)
                .is_some()
        };
        let memory = |FoundMemory { memory, score, .. }| proto::FoundMemory {
            memory: Some(memory.into()),
            score,
        };
        let matches = found.memories.into_iter().take_while(fits);
        Ok(SearchMemoriesResponse {
            memories: matches.map(memory).collect(),
            method: searched_by(found.method),
            degradations: found.degradations.into_iter().map(degradation).collect(),
        })
    }

    async fn update(
        &self,
        request: Request<UpdateMemoryRequest>,
    ) -> Result<UpdateMemoryResponse, ApiError> {
        let caller = caller_of(&request)?;
        self.store.require_long_term_memory()?;
        let UpdateMemoryRequest {
            memory,
            update_mask,
            precondition,
        } = request.into_inner();
        let memory = memory.ok_or_else(|| Invalid::missing("memory"))?;
        let mut fields = Fields::default();
        let id = fields.get(check::uuid("memory.memory_id", &memory.memory_id));
        let precondition = fields.take(precondition_from(precondition, false));
        let change = fields.get_all(memory_change_from(memory, update_mask));
        let (id, mut change) = fields.all(id.map(MemoryId::from).zip(change))?;
        check_change(&self.store, &caller, id, &mut change).await?;
        let changed = self
            .store
            .memories(&caller)
            .update_memory(id, &precondition, &change)
            .await;
        let ChangedMemory { memory, revision } =
            changed.map_err(|error| known_text("memory.text", error))?;
        self.wake();
        Ok(UpdateMemoryResponse {
            memory: Some(memory.into()),
            revision: revision.to_string(),
        })
    }

    async fn supersede(
        &self,
        request: Request<SupersedeMemoryRequest>,
    ) -> Result<SupersedeMemoryResponse, ApiError> {
        let caller = caller_of(&request)?;
        self.store.require_long_term_memory()?;
        let request = request.into_inner();
        let bytes = request.encoded_len();
        let SupersedeMemoryRequest {
            memory_id,
            replacement,
        } = request;
        let mut fields = Fields::default();
        let id = fields.get(check::uuid("memory_id", &memory_id));
        let replacement = fields.get_all(memory_from("replacement", replacement));
        let (id, replacement) = fields.all(id.map(MemoryId::from).zip(replacement))?;
        if !replacement.own_kind.is_empty()
            && let Some((app, _)) = self.store.memories(&caller).owner(id).await?
        {
            let replacement = std::slice::from_ref(&replacement);
            let path = |_| "replacement".to_owned();
            check_new(&self.store, &caller, &app, replacement, path).await?;
        }
        let _admitted = self.admit(&caller, bytes).await?;
        let done = self
            .store
            .memories(&caller)
            .supersede_memory(id, &replacement)
            .await;
        let SupersededMemory {
            memory,
            superseded,
            revision,
        } = done.map_err(|error| known_text("replacement.text", error))?;
        self.wake();
        Ok(SupersedeMemoryResponse {
            memory: Some(memory.into()),
            superseded: Some(superseded.into()),
            revision: revision.to_string(),
        })
    }

    async fn extract(
        &self,
        request: Request<ExtractMemoriesRequest>,
    ) -> Result<ExtractMemoriesResponse, ApiError> {
        let caller = caller_of(&request)?;
        self.store.require_long_term_memory()?;
        let deadline = wait_deadline(&request);
        let (call, _, ExtractMemoriesRequest { thread, max_wait }) = request.into_parts();
        let mut fields = Fields::default();
        let named = fields.get(required_conversation_from(&call, thread));
        let max_wait = duration_in("max_wait", max_wait, Duration::ZERO, limits::MAX_WAIT);
        let max_wait = fields.take(max_wait).unwrap_or_default();
        let named = fields.all(named)?;
        let thread = named.thread(&self.store, &caller).await?;
        let policies = self.store.policies(&caller).policies(thread).await?;
        let strategy = policies.resolve().extraction;
        let is_off = match strategy {
            ExtractionStrategy::None => true,
            _ if !policies.thread.session.user.is_empty() => false,
            // A summary belongs to the thread's user alone.
            ExtractionStrategy::Summary => true,
            _ => {
                let memories = self.store.memories(&caller);
                !memories.names_speakers(policies.thread.id).await?
            }
        };
        if is_off {
            return Err(ApiError::ExtractionOff);
        }
        let until = Instant::now() + shortened_wait(deadline, max_wait);
        let memories = self.store.memories(&caller);
        let mut wanted = None;
        loop {
            let left = memories.unextracted(thread, strategy).await?;
            let waiting = left.head_depth.saturating_sub(left.after_depth).max(0);
            if waiting > 0 && wanted.is_none() {
                memories.ask_extraction(thread).await?;
            }
            // What is appended meanwhile is not waited for: in a busy thread that would not end.
            let wanted = *wanted.get_or_insert(left.head_depth);
            let complete = waiting == 0 || left.after_depth >= wanted;
            if complete || Instant::now() >= until {
                return Ok(ExtractMemoriesResponse {
                    complete,
                    waiting_message_count: waiting,
                    last_error: left.last_error,
                    languages: self.extraction_languages.to_owned(),
                });
            }
            sleep_until((Instant::now() + EXTRACTION_POLL).min(until).into()).await;
        }
    }

    async fn delete(
        &self,
        request: Request<DeleteMemoryRequest>,
    ) -> Result<DeleteMemoryResponse, ApiError> {
        let caller = caller_of(&request)?;
        self.store.require_long_term_memory()?;
        let DeleteMemoryRequest { memory_id } = request.into_inner();
        let id = check::uuid("memory_id", &memory_id)?.into();
        let DeletedMemory { deleted, revision } =
            self.store.memories(&caller).delete_memory(id).await?;
        self.wake();
        Ok(DeleteMemoryResponse {
            deleted,
            revision: match deleted {
                true => revision.to_string(),
                false => String::new(),
            },
        })
    }

    /// Handles `ImportMemories`.
    pub async fn import(
        &self,
        request: Request<ImportMemoriesRequest>,
    ) -> Result<ImportMemoriesResponse, ApiError> {
        let caller = caller_of(&request)?;
        self.store.require_long_term_memory()?;
        let request = request.into_inner();
        let bytes = request.encoded_len();
        let (owner, memories) = stored_from(request)?;
        let _admitted = self.admit(&caller, bytes).await?;
        let ImportedMemories {
            mut memories,
            revision,
        } = self
            .store
            .memories(&caller)
            .import_memories(&owner, &memories)
            .await?;
        self.wake();
        let stored = memories.iter_mut().map(|imported| &mut imported.memory);
        fit_metadata(stored, limits::ANSWER_BYTES);
        let imported = |ImportedMemory {
                            memory,
                            created,
                            missing_sources,
                        }| proto::ImportedMemory {
            memory: Some(memory.into()),
            created,
            missing_source_count: missing_sources,
        };
        Ok(ImportMemoriesResponse {
            memories: memories.into_iter().map(imported).collect(),
            revision: revision.to_string(),
        })
    }

    async fn forget(
        &self,
        request: Request<DeleteMemoriesRequest>,
    ) -> Result<DeleteMemoriesResponse, ApiError> {
        let caller = caller_of(&request)?;
        self.store.require_long_term_memory()?;
        let (call, _, request) = request.into_parts();
        let forget = forget_from(&call, request)?;
        let Forgotten {
            count,
            mut memories,
            more,
        } = self
            .store
            .memories(&caller)
            .forget_memories(&forget)
            .await?;
        self.wake();
        fit_metadata(&mut memories, limits::ANSWER_BYTES);
        Ok(DeleteMemoriesResponse {
            deleted_count: count,
            memories: memories.into_iter().map(Into::into).collect(),
            more,
        })
    }

    /// Compares new memories with the tenant's quotas, with the size of their request.
    async fn admit(&self, caller: &Caller, bytes: usize) -> Result<Admitted, ApiError> {
        let wanted = || Amount::of_request(0, bytes);
        self.quotas.admit(caller, wanted).await
    }

    /// The thread that a filter names, if it names one.
    async fn thread(
        &self,
        caller: &Caller,
        named: Option<NamedConversation>,
    ) -> Result<Option<ThreadId>, ApiError> {
        match named {
            Some(named) => Ok(Some(named.thread(&self.store, caller).await?)),
            None => Ok(None),
        }
    }

    fn wake(&self) {
        if let Some(indexer) = &self.indexer {
            indexer.wake();
        }
    }
}

/// Errors about a text that is stored already, or about its sources, name the field.
fn known_text(field: &str, error: StoreError) -> ApiError {
    match error {
        StoreError::Memory(MemoryError::Known { id }) => Invalid::new(
            field,
            format!("must be another text: the memory {id} says the same"),
        )
        .into(),
        StoreError::Memory(MemoryError::SourceNotFound { index: None, place }) => {
            let invalid = Invalid::new(
                format!("source_message_ids[{place}]"),
                "must be a message of the same app and user",
            );
            invalid.within("replacement").into()
        }
        other => other.into(),
    }
}
