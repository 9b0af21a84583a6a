//! The working memory service.

mod answer;
mod request;

use std::time::Duration;

use memory_context::Conversation;
use memory_context::working::{READ_BYTES, READ_MESSAGES};
use memory_context::{claim_contents, counting};
use memory_contract::proto::working_memory_service_server::WorkingMemoryService;
use memory_contract::proto::{
    DeleteWorkingMemoryRequest, DeleteWorkingMemoryResponse, GetWorkingMemoryRequest,
    GetWorkingMemoryResponse, PutWorkingMemoryRequest, PutWorkingMemoryResponse,
    UpdateWorkingMemoryDataRequest, UpdateWorkingMemoryDataResponse,
};
use memory_contract::{
    convert::{precondition_from, working_data_from},
    policy::{MemoryPolicy, PolicyChange},
};
use memory_grpc::request::{
    Fields, check_thread_change, may_erase, required_conversation_from, written,
};
use memory_grpc::{ApiError, caller_of};
use memory_index::IndexerHandle;
use memory_store::{Caller, NamedModel, Store, WorkingPut, WorkingTarget};
use prost::Message as _;
use tonic::{Request, Response, Status, async_trait};

use crate::kinds::check_listed;
use crate::storage_quota::{Amount, StorageQuotas};
use request::{Model, Put, model_from, patch_from};

/// Implements `WorkingMemoryService`.
#[derive(Clone)]
pub struct WorkingMemories {
    pub(crate) store: Store,
    pub(crate) indexer: Option<IndexerHandle>,
    pub(crate) quotas: StorageQuotas,
}

#[async_trait]
impl WorkingMemoryService for WorkingMemories {
    async fn get_working_memory(
        &self,
        request: Request<GetWorkingMemoryRequest>,
    ) -> Result<Response<GetWorkingMemoryResponse>, Status> {
        Ok(Response::new(self.get(request).await?))
    }

    async fn put_working_memory(
        &self,
        request: Request<PutWorkingMemoryRequest>,
    ) -> Result<Response<PutWorkingMemoryResponse>, Status> {
        Ok(Response::new(self.put(request).await?))
    }

    async fn update_working_memory_data(
        &self,
        request: Request<UpdateWorkingMemoryDataRequest>,
    ) -> Result<Response<UpdateWorkingMemoryDataResponse>, Status> {
        Ok(Response::new(self.update(request).await?))
    }

    async fn delete_working_memory(
        &self,
        request: Request<DeleteWorkingMemoryRequest>,
    ) -> Result<Response<DeleteWorkingMemoryResponse>, Status> {
        Ok(Response::new(self.delete(request).await?))
    }
}

impl WorkingMemories {
    async fn get(
        &self,
        request: Request<GetWorkingMemoryRequest>,
    ) -> Result<GetWorkingMemoryResponse, ApiError> {
        let caller = caller_of(&request)?;
        let (metadata, _, request) = request.into_parts();
        let GetWorkingMemoryRequest { thread, model } = request;
        let mut fields = Fields::default();
        let named = fields.get(required_conversation_from(&metadata, thread));
        let model = fields.take(model_from(model));
        let named = fields.all(named)?;
        let thread = named.thread(&self.store, &caller).await?;
        let found =
            self.store
                .working_memories(&caller)
                .working_memory(thread, READ_MESSAGES, READ_BYTES);
        let (mut memory, rebuilt) = found.await?;
        if !model.name.is_empty() {
            memory.model = model.name;
            memory.window = model.window;
        }
        Ok(GetWorkingMemoryResponse {
            working_memory: Some(answer::of(&self.store, &caller, memory).await?),
            rebuilt,
        })
    }

    async fn put(
        &self,
        request: Request<PutWorkingMemoryRequest>,
    ) -> Result<PutWorkingMemoryResponse, ApiError> {
        let caller = caller_of(&request)?;
        let (metadata, _, request) = request.into_parts();
        let bytes = request.encoded_len();
        let Put {
            named,
            mut messages,
            summary,
            memories,
            data,
            ttl,
            ttl_deletes_thread,
            policy,
            model,
            precondition,
        } = Put::read(&metadata, request)?;
        let target = match named.resolve(&self.store, &caller).await? {
            Conversation::Thread(thread) => WorkingTarget::Thread(thread),
            Conversation::Session(session) => WorkingTarget::Session(session),
        };
        check_listed(
            &self.store,
            &caller,
            &target,
            memories.as_deref().unwrap_or_default(),
        )
        .await?;
        let thread_ttl = ttl.flatten().filter(|_| ttl_deletes_thread);
        self.check_lifetimes(&caller, &target, thread_ttl, &policy)
            .await?;
        // It may store few of its messages, or none, so that it announces none.
        let admitted = self.quotas.admit(&caller, Amount::default).await?;
        let given = messages.iter().flatten();
        let untimed: Vec<bool> = given.map(|one| one.created.is_none()).collect();
        let given = messages.as_deref_mut().unwrap_or_default();
        let (contents, hold) = claim_contents(&self.store, &caller, given).await?;
        let working_memories = self.store.working_memories(&caller);
        let put = async {
            let put = WorkingPut {
                messages: match messages {
                    Some(messages) => Some(counting::counted(messages).await?),
                    None => None,
                },
                contents,
                context: answer::counted(summary).await?,
                memories,
                data,
                ttl,
                ttl_erases_thread: ttl_deletes_thread,
                policy,
                model: model.as_ref().map(Model::named),
                precondition,
            };
            Ok(working_memories.put_working_memory(&target, &put).await?)
        };
        let done = written(&self.store, &caller, &hold, put.await, |_| true).await?;
        admitted.stored(Amount::of_request(done.appended.len(), bytes));
        if let Some(indexer) = &self.indexer {
            indexer.wake();
        }
        // As it was put, even if it has expired by now.
        let stored = self.store.working_memories(&caller).peek_working_memory(
            done.thread,
            READ_MESSAGES,
            READ_BYTES,
        );
        let memory = answer::of(&self.store, &caller, stored.await?).await?;
        Ok(PutWorkingMemoryResponse {
            working_memory: Some(memory),
            warnings: request::warnings(&done, &untimed),
            branched: done.branched,
            revision: done.revision.map(|one| one.to_string()).unwrap_or_default(),
        })
    }

    /// Checks what a put changes in a thread that is stored already.
    async fn check_lifetimes(
        &self,
        caller: &Caller,
        target: &WorkingTarget,
        ttl: Option<Duration>,
        policy: &Option<MemoryPolicy>,
    ) -> Result<(), ApiError> {
        if may_erase(caller) || (ttl.is_none() && policy.is_none()) {
            return Ok(());
        }
        let policies = self.store.policies(caller);
        let (thread, app) = match target {
            WorkingTarget::Thread(thread) => {
                let found = policies.policies(*thread).await?;
                (Some(found.thread), found.app)
            }
            WorkingTarget::Session(session) => {
                let (thread, app) = policies.session_policies(session).await?;
                (thread.map(|(thread, _)| thread), app)
            }
        };
        let Some(thread) = thread else { return Ok(()) };
        let change = PolicyChange {
            set: policy.clone().unwrap_or_default(),
            ..Default::default()
        };
        check_thread_change(
            &self.store,
            caller,
            (&thread, &app),
            ("ttl", ttl),
            ("policy", &change),
        )
    }

    async fn update(
        &self,
        request: Request<UpdateWorkingMemoryDataRequest>,
    ) -> Result<UpdateWorkingMemoryDataResponse, ApiError> {
        let caller = caller_of(&request)?;
        let (metadata, _, request) = request.into_parts();
        let bytes = request.encoded_len();
        let UpdateWorkingMemoryDataRequest {
            thread,
            patch,
            precondition,
        } = request;
        let mut fields = Fields::default();
        let named = fields.get(required_conversation_from(&metadata, thread));
        let patch = fields.take(patch_from(patch));
        let precondition = fields.take(precondition_from(precondition, false));
        let named = fields.all(named)?;
        let thread = named.thread(&self.store, &caller).await?;
        let wanted = || Amount::of_request(0, bytes);
        let _admitted = self.quotas.admit(&caller, wanted).await?;
        let patched = self.store.working_memories(&caller).update_working_data(
            thread,
            &precondition,
            |data| working_data_from("patch", data.patched(&patch).into_text()),
        );
        let (data, etag) = patched.await??;
        Ok(UpdateWorkingMemoryDataResponse {
            data: data.into_text(),
            etag,
        })
    }

    async fn delete(
        &self,
        request: Request<DeleteWorkingMemoryRequest>,
    ) -> Result<DeleteWorkingMemoryResponse, ApiError> {
        let caller = caller_of(&request)?;
        let (metadata, _, request) = request.into_parts();
        let DeleteWorkingMemoryRequest { thread } = request;
        let named = required_conversation_from(&metadata, thread)?;
        let thread = named.thread(&self.store, &caller).await?;
        let deleted = self
            .store
            .working_memories(&caller)
            .delete_working_memory(thread)
            .await?;
        Ok(DeleteWorkingMemoryResponse { deleted })
    }
}

impl Model {
    fn named(&self) -> NamedModel<'_> {
        NamedModel {
            name: &self.name,
            window: self.window,
        }
    }
}
