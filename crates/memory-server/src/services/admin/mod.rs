//! The admin service: the state of the server, its index and its jobs.

mod deletions;
mod indexes;
mod models;

use std::sync::Arc;

use memory_api::{StorageQuotas, Usage};
use memory_contract::proto::admin_service_server::AdminService;
use memory_contract::proto::{
    self, CompareIndexesRequest, CompareIndexesResponse, DeleteAppRequest, DeleteAppResponse,
    DeleteTenantRequest, DeleteTenantResponse, DeleteUserRequest, DeleteUserResponse,
    GetDeletionRequest, GetDeletionResponse, GetDeletionStatusRequest, GetDeletionStatusResponse,
    GetDistillStatusRequest, GetDistillStatusResponse, GetIndexStatusRequest,
    GetIndexStatusResponse, GetModelUsageRequest, GetModelUsageResponse,
    GetNodeMemoryStatusRequest, GetNodeMemoryStatusResponse, GetServerInfoRequest,
    GetServerInfoResponse, ListDeadLettersRequest, ListDeadLettersResponse, ListDeletionsRequest,
    ListDeletionsResponse, ListTransactionsRequest, ListTransactionsResponse, ReindexRequest,
    ReindexResponse,
};
use memory_contract::{
    check,
    convert::{
        Outcome, action_from, actions_from, check_period, duration, outcome_from, timestamp,
        timestamp_of,
    },
    key::KeyScope,
    limits,
    page::PageToken,
};
use memory_distill::Distiller;
use memory_grpc::{ApiError, admin_of, caller_of};
use memory_index::{Backend, IndexState, IndexerHandle, Indexes, LastError};
use memory_objects::{Backend as ObjectsBackend, Objects};
use memory_recall::Recall;
use memory_store::{DeadLetter, DeadSubject, NodeStatus, Store, Transaction, TransactionQuery};
use time::OffsetDateTime;
use tonic::{Request, Response, Status, async_trait};

use memory_grpc::request::{Fields, conversation_from, next_token, page_limit};

/// Implements `AdminService`.
#[derive(Clone)]
pub(crate) struct Admin {
    pub(crate) store: Store,
    pub(crate) indexes: Indexes,
    pub(crate) indexer: Option<IndexerHandle>,
    pub(crate) recall: Recall,
    pub(crate) distiller: Arc<Distiller>,
    pub(crate) quotas: StorageQuotas,
    /// Tokens a day that models may use for a tenant; 0: unlimited.
    pub(crate) daily_token_budget: u64,
    /// When the server started.
    pub(crate) started: OffsetDateTime,
}

#[async_trait]
impl AdminService for Admin {
    async fn get_server_info(
        &self,
        request: Request<GetServerInfoRequest>,
    ) -> Result<Response<GetServerInfoResponse>, Status> {
        Ok(Response::new(self.info(request).await?))
    }

    async fn get_index_status(
        &self,
        request: Request<GetIndexStatusRequest>,
    ) -> Result<Response<GetIndexStatusResponse>, Status> {
        Ok(Response::new(self.index_status(request).await?))
    }

    async fn list_dead_letters(
        &self,
        request: Request<ListDeadLettersRequest>,
    ) -> Result<Response<ListDeadLettersResponse>, Status> {
        Ok(Response::new(self.dead_letters(request).await?))
    }

    async fn reindex(
        &self,
        request: Request<ReindexRequest>,
    ) -> Result<Response<ReindexResponse>, Status> {
        Ok(Response::new(self.queue(request).await?))
    }

    async fn compare_indexes(
        &self,
        request: Request<CompareIndexesRequest>,
    ) -> Result<Response<CompareIndexesResponse>, Status> {
        Ok(Response::new(self.comparison(request).await?))
    }

    async fn list_transactions(
        &self,
        request: Request<ListTransactionsRequest>,
    ) -> Result<Response<ListTransactionsResponse>, Status> {
        Ok(Response::new(self.transactions(request).await?))
    }

    async fn get_node_memory_status(
        &self,
        request: Request<GetNodeMemoryStatusRequest>,
    ) -> Result<Response<GetNodeMemoryStatusResponse>, Status> {
        Ok(Response::new(self.node_status(request).await?))
    }

    async fn get_distill_status(
        &self,
        request: Request<GetDistillStatusRequest>,
    ) -> Result<Response<GetDistillStatusResponse>, Status> {
        Ok(Response::new(self.distill_status(request).await?))
    }

    async fn get_model_usage(
        &self,
        request: Request<GetModelUsageRequest>,
    ) -> Result<Response<GetModelUsageResponse>, Status> {
        Ok(Response::new(self.model_usage(request).await?))
    }

    async fn delete_user(
        &self,
        request: Request<DeleteUserRequest>,
    ) -> Result<Response<DeleteUserResponse>, Status> {
        Ok(Response::new(self.user_deleted(request).await?))
    }

    async fn delete_app(
        &self,
        request: Request<DeleteAppRequest>,
    ) -> Result<Response<DeleteAppResponse>, Status> {
        Ok(Response::new(self.app_deleted(request).await?))
    }

    async fn delete_tenant(
        &self,
        request: Request<DeleteTenantRequest>,
    ) -> Result<Response<DeleteTenantResponse>, Status> {
        Ok(Response::new(self.tenant_deleted(request).await?))
    }

    async fn get_deletion(
        &self,
        request: Request<GetDeletionRequest>,
    ) -> Result<Response<GetDeletionResponse>, Status> {
        Ok(Response::new(self.deletion(request).await?))
    }

    async fn list_deletions(
        &self,
        request: Request<ListDeletionsRequest>,
    ) -> Result<Response<ListDeletionsResponse>, Status> {
        Ok(Response::new(self.deletions(request).await?))
    }

    async fn get_deletion_status(
        &self,
        request: Request<GetDeletionStatusRequest>,
    ) -> Result<Response<GetDeletionStatusResponse>, Status> {
        Ok(Response::new(self.deletion_status(request).await?))
    }
}

impl Admin {
    async fn info(
        &self,
        request: Request<GetServerInfoRequest>,
    ) -> Result<GetServerInfoResponse, ApiError> {
        let caller = caller_of(&request)?;
        let GetServerInfoRequest {} = request.into_inner();
        let storage = self.quotas.usage(&caller).await;
        let embedder = self.recall.embedder();
        let dimensions = embedder.map_or(0, |embedder| embedder.model().dimensions);
        Ok(GetServerInfoResponse {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            storage: storage.map(storage_usage),
            tenant: caller.tenant.into(),
            index_backend: index_backend(self.indexes.serving().backend()).into(),
            embedding_model: model_name(&self.recall),
            embedding_dimensions: i32::try_from(dimensions).unwrap_or(i32::MAX),
            embedding_languages: embedder
                .map_or("", |embedder| embedder.languages())
                .to_owned(),
            extraction_languages: self.distiller.extraction_languages().to_owned(),
            postgres_version: self.store.postgres_version().await?,
            start_time: Some(timestamp(self.started)),
        })
    }

    async fn index_status(
        &self,
        request: Request<GetIndexStatusRequest>,
    ) -> Result<GetIndexStatusResponse, ApiError> {
        let caller = caller_of(&request)?;
        let GetIndexStatusRequest {} = request.into_inner();
        let of_tenant = self.store.index(&caller);
        let (outbox, given_up, index) = tokio::join!(
            of_tenant.outbox_stats(),
            of_tenant.list_dead(None, 1),
            self.indexes.serving().status(&caller.tenant)
        );
        let outbox = outbox?;
        let given_up = given_up?.items.into_iter().map(|letter| LastError {
            message: letter.error,
            time: letter.failed,
        });
        let of_process = caller.scopes.allow(KeyScope::Admin);
        let of_process = of_process.then(|| self.indexing_error()).flatten();
        let last_error = given_up.chain(of_process).max_by_key(|error| error.time);
        let state = match index.state {
            IndexState::Ready => proto::IndexState::Ready,
            IndexState::Rebuilding => proto::IndexState::Rebuilding,
            IndexState::Unavailable => proto::IndexState::Unavailable,
        };
        Ok(GetIndexStatusResponse {
            state: state.into(),
            collection: index.collection,
            point_count: i64::try_from(index.points).unwrap_or(i64::MAX),
            pending_count: outbox.pending,
            lag: Some(duration(outbox.lag)),
            dead_letter_count: outbox.dead_letters,
            last_error_time: last_error.as_ref().map(|error| timestamp(error.time)),
            last_error: last_error.map(|error| error.message).unwrap_or_default(),
        })
    }

    /// The last error of indexing as a whole in this process.
    fn indexing_error(&self) -> Option<LastError> {
        let status = self.indexer.as_ref().map(IndexerHandle::status);
        status.and_then(|status| status.last_error).or_else(|| {
            // It was found at the start.
            Some(LastError {
                message: self.indexes.serving().permanent_error()?.to_owned(),
                time: self.started,
            })
        })
    }

    async fn dead_letters(
        &self,
        request: Request<ListDeadLettersRequest>,
    ) -> Result<ListDeadLettersResponse, ApiError> {
        let caller = caller_of(&request)?;
        let ListDeadLettersRequest {
            page_size,
            page_token,
        } = request.into_inner();
        let identity = ("dead letters", caller.tenant.as_str());
        let mut fields = Fields::default();
        let limit = fields.take(page_limit(page_size));
        let after = fields.take(PageToken::key(&identity, &page_token));
        fields.end()?;
        let page = self.store.index(&caller).list_dead(after, limit).await?;
        Ok(ListDeadLettersResponse {
            dead_letters: page.items.into_iter().map(dead_letter).collect(),
            next_page_token: next_token(&identity, page.next),
        })
    }

    async fn queue(&self, request: Request<ReindexRequest>) -> Result<ReindexResponse, ApiError> {
        let caller = caller_of(&request)?;
        let (call, _, request) = request.into_parts();
        let ReindexRequest {
            thread,
            dead_letters_only,
        } = request;
        let thread = match conversation_from(&call, thread)? {
            Some(named) => Some(named.stored_thread(&self.store, &caller).await?.id),
            None => None,
        };
        let queued_count = if dead_letters_only {
            self.store.index(&caller).requeue_dead(thread).await?
        } else {
            self.store.index(&caller).enqueue_all(thread).await?
        };
        if let Some(indexer) = &self.indexer {
            indexer.wake();
        }
        Ok(ReindexResponse { queued_count })
    }

    async fn transactions(
        &self,
        request: Request<ListTransactionsRequest>,
    ) -> Result<ListTransactionsResponse, ApiError> {
        let caller = admin_of(&request)?;
        let (call, _, request) = request.into_parts();
        let ListTransactionsRequest {
            thread,
            page_size,
            page_token,
            actor,
            actions,
            start_time,
            end_time,
        } = request;
        let mut fields = Fields::default();
        let named = fields.take(conversation_from(&call, thread));
        let identity = (
            "transactions",
            caller.tenant.as_str(),
            format!("{named:?}"),
            actor.clone(),
            actions.clone(),
            format!("{start_time:?} {end_time:?}"),
        );
        let limit = fields.take(page_limit(page_size));
        let after = fields.take(PageToken::key(&identity, &page_token));
        let actions = fields.take(actions_from("actions", &actions));
        let start = fields.take(timestamp_of("start_time", start_time));
        let end = fields.take(timestamp_of("end_time", end_time));
        fields.take(check_period(start, end));
        let actor = fields.take(check::text("actor", actor, limits::API_KEY_NAME_CHARS));
        fields.end()?;
        let thread = match named {
            Some(named) => Some(named.thread(&self.store, &caller).await?),
            None => None,
        };
        let query = TransactionQuery {
            thread,
            actor: (!actor.is_empty()).then_some(actor),
            actions,
            start,
            end,
            after,
            limit,
        };
        let page = self.store.audit(&caller).list_transactions(&query).await?;
        Ok(ListTransactionsResponse {
            transactions: page.items.into_iter().map(transaction).collect(),
            next_page_token: next_token(&identity, page.next),
        })
    }
}

fn storage_usage(usage: Usage) -> proto::StorageUsage {
    let Usage { used, limits, age } = usage;
    proto::StorageUsage {
        message_count: used.messages,
        max_message_count: limits.messages.unwrap_or_default(),
        stored_bytes: used.bytes,
        max_stored_bytes: limits.bytes.unwrap_or_default(),
        measure_time: age.map(|age| timestamp(OffsetDateTime::now_utc() - age)),
    }
}

/// The name of the embedding model; empty without one.
fn model_name(recall: &Recall) -> String {
    let embedder = recall.embedder();
    embedder.map_or_else(String::new, |embedder| embedder.model().name.clone())
}

fn index_backend(backend: Backend) -> proto::IndexBackend {
    match backend {
        Backend::Qdrant => proto::IndexBackend::Qdrant,
        Backend::Edge => proto::IndexBackend::QdrantEdge,
    }
}

fn object_store_backend(backend: ObjectsBackend) -> proto::ObjectStoreBackend {
    match backend {
        ObjectsBackend::File => proto::ObjectStoreBackend::File,
        ObjectsBackend::S3 => proto::ObjectStoreBackend::S3,
        ObjectsBackend::Gcs => proto::ObjectStoreBackend::Gcs,
        ObjectsBackend::Azure => proto::ObjectStoreBackend::Azure,
        ObjectsBackend::Memory => proto::ObjectStoreBackend::Memory,
    }
}

fn transaction(transaction: Transaction) -> proto::Transaction {
    let Transaction {
        actor,
        action,
        thread,
        subject,
        item_count,
        result,
        created,
    } = transaction;
    let Outcome {
        result,
        reason,
        code,
    } = outcome_from(&result);
    proto::Transaction {
        actor,
        action: action_from(&action).into(),
        thread_id: thread.map(|id| id.to_string()).unwrap_or_default(),
        subject,
        item_count,
        result: result.into(),
        error_reason: reason.into(),
        grpc_code: code,
        create_time: Some(timestamp(created)),
    }
}

impl Admin {
    async fn node_status(
        &self,
        request: Request<GetNodeMemoryStatusRequest>,
    ) -> Result<GetNodeMemoryStatusResponse, ApiError> {
        let caller = caller_of(&request)?;
        let GetNodeMemoryStatusRequest {} = request.into_inner();
        let NodeStatus {
            waiting,
            lag,
            failing,
            deletions,
            last_error,
        } = self.store.nodes(&caller).node_status().await?;
        let backend = self.store.objects().map(Objects::backend);
        Ok(GetNodeMemoryStatusResponse {
            backend: backend.map(object_store_backend).unwrap_or_default().into(),
            waiting_turn_count: waiting,
            lag: Some(duration(lag)),
            pending_deletion_count: deletions,
            failing_node_count: failing,
            last_error,
        })
    }
}

fn dead_letter(letter: DeadLetter) -> proto::DeadLetter {
    let DeadLetter {
        subject,
        attempts,
        error,
        failed,
    } = letter;
    let (thread, message, memory) = match subject {
        DeadSubject::Message(thread, message) => (Some(thread), Some(message), None),
        DeadSubject::Thread(thread) => (Some(thread), None, None),
        DeadSubject::Memory(memory) => (None, None, Some(memory)),
    };
    proto::DeadLetter {
        thread_id: thread.map(|id| id.to_string()).unwrap_or_default(),
        message_id: message.map(|id| id.to_string()).unwrap_or_default(),
        memory_id: memory.map(|id| id.to_string()).unwrap_or_default(),
        attempts,
        last_error: error,
        fail_time: Some(timestamp(failed)),
    }
}
