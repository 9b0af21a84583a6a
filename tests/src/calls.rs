//! Calls of unary methods: the type of a request selects its method.

use std::fmt::Debug;
use std::panic::Location;

use memory_contract::proto;
use tonic::{Request, Response, Status};

use crate::failure::not_refused;
use crate::{Client, Failure};

/// A request of a unary method.
pub trait Call: Sized + Send {
    /// What the method answers.
    type Response: Debug + Send;

    /// Calls the method.
    fn send(
        self,
        client: &Client,
    ) -> impl Future<Output = Result<Response<Self::Response>, Status>> + Send;
}

macro_rules! calls {
    ($($service:ident { $($method:ident($request:ident) -> $response:ident,)+ })+) => {$($(
        impl Call for proto::$request {
            type Response = proto::$response;

            async fn send(self, client: &Client) -> Result<Response<Self::Response>, Status> {
                client.$service().$method(self).await
            }
        }

        // With metadata.
        impl Call for Request<proto::$request> {
            type Response = proto::$response;

            async fn send(self, client: &Client) -> Result<Response<Self::Response>, Status> {
                client.$service().$method(self).await
            }
        }
    )+)+};
}

calls! {
    admin {
        get_server_info(GetServerInfoRequest) -> GetServerInfoResponse,
        get_index_status(GetIndexStatusRequest) -> GetIndexStatusResponse,
        list_dead_letters(ListDeadLettersRequest) -> ListDeadLettersResponse,
        reindex(ReindexRequest) -> ReindexResponse,
        compare_indexes(CompareIndexesRequest) -> CompareIndexesResponse,
        list_transactions(ListTransactionsRequest) -> ListTransactionsResponse,
        get_node_memory_status(GetNodeMemoryStatusRequest) -> GetNodeMemoryStatusResponse,
        get_distill_status(GetDistillStatusRequest) -> GetDistillStatusResponse,
        get_model_usage(GetModelUsageRequest) -> GetModelUsageResponse,
        delete_user(DeleteUserRequest) -> DeleteUserResponse,
        delete_app(DeleteAppRequest) -> DeleteAppResponse,
        delete_tenant(DeleteTenantRequest) -> DeleteTenantResponse,
        get_deletion(GetDeletionRequest) -> GetDeletionResponse,
        list_deletions(ListDeletionsRequest) -> ListDeletionsResponse,
        get_deletion_status(GetDeletionStatusRequest) -> GetDeletionStatusResponse,
    }
    checkpoints {
        put_checkpoint(PutCheckpointRequest) -> PutCheckpointResponse,
        put_checkpoint_writes(PutCheckpointWritesRequest) -> PutCheckpointWritesResponse,
        get_checkpoint(GetCheckpointRequest) -> GetCheckpointResponse,
        list_checkpoints(ListCheckpointsRequest) -> ListCheckpointsResponse,
        copy_checkpoints(CopyCheckpointsRequest) -> CopyCheckpointsResponse,
        delete_checkpoints(DeleteCheckpointsRequest) -> DeleteCheckpointsResponse,
    }
    contexts {
        build_context(BuildContextRequest) -> BuildContextResponse,
    }
    documents {
        put_documents(PutDocumentsRequest) -> PutDocumentsResponse,
        get_documents(GetDocumentsRequest) -> GetDocumentsResponse,
        search_documents(SearchDocumentsRequest) -> SearchDocumentsResponse,
        list_namespaces(ListNamespacesRequest) -> ListNamespacesResponse,
        delete_documents(DeleteDocumentsRequest) -> DeleteDocumentsResponse,
    }
    memory_files {
        get_memory_file(GetMemoryFileRequest) -> GetMemoryFileResponse,
        put_memory_file(PutMemoryFileRequest) -> PutMemoryFileResponse,
        replace_in_memory_file(ReplaceInMemoryFileRequest) -> ReplaceInMemoryFileResponse,
        insert_into_memory_file(InsertIntoMemoryFileRequest) -> InsertIntoMemoryFileResponse,
        delete_memory_file(DeleteMemoryFileRequest) -> DeleteMemoryFileResponse,
        rename_memory_file(RenameMemoryFileRequest) -> RenameMemoryFileResponse,
        search_memory_files(SearchMemoryFilesRequest) -> SearchMemoryFilesResponse,
        list_memory_file_versions(ListMemoryFileVersionsRequest) -> ListMemoryFileVersionsResponse,
        compare_memory_file_versions(CompareMemoryFileVersionsRequest) -> CompareMemoryFileVersionsResponse,
        restore_memory_file(RestoreMemoryFileRequest) -> RestoreMemoryFileResponse,
    }
    events {
        append_events(AppendEventsRequest) -> AppendEventsResponse,
        list_events(ListEventsRequest) -> ListEventsResponse,
    }
    files {
        register_file(RegisterFileRequest) -> RegisterFileResponse,
        get_file(GetFileRequest) -> GetFileResponse,
        get_file_content(GetFileContentRequest) -> GetFileContentResponse,
        list_files(ListFilesRequest) -> ListFilesResponse,
        delete_file(DeleteFileRequest) -> DeleteFileResponse,
    }
    keys {
        create_api_key(CreateApiKeyRequest) -> CreateApiKeyResponse,
        list_api_keys(ListApiKeysRequest) -> ListApiKeysResponse,
        revoke_api_key(RevokeApiKeyRequest) -> RevokeApiKeyResponse,
    }
    ledgers {
        verify_thread(VerifyThreadRequest) -> VerifyThreadResponse,
        list_ledger(ListLedgerRequest) -> ListLedgerResponse,
    }
    memories {
        add_memories(AddMemoriesRequest) -> AddMemoriesResponse,
        get_memory(GetMemoryRequest) -> GetMemoryResponse,
        list_memories(ListMemoriesRequest) -> ListMemoriesResponse,
        search_memories(SearchMemoriesRequest) -> SearchMemoriesResponse,
        get_profile(GetProfileRequest) -> GetProfileResponse,
        update_memory(UpdateMemoryRequest) -> UpdateMemoryResponse,
        supersede_memory(SupersedeMemoryRequest) -> SupersedeMemoryResponse,
        extract_memories(ExtractMemoriesRequest) -> ExtractMemoriesResponse,
        delete_memory(DeleteMemoryRequest) -> DeleteMemoryResponse,
        import_memories(ImportMemoriesRequest) -> ImportMemoriesResponse,
        delete_memories(DeleteMemoriesRequest) -> DeleteMemoriesResponse,
    }
    messages {
        append_messages(AppendMessagesRequest) -> AppendMessagesResponse,
        get_message(GetMessageRequest) -> GetMessageResponse,
        list_messages(ListMessagesRequest) -> ListMessagesResponse,
        get_history(GetHistoryRequest) -> GetHistoryResponse,
        update_message(UpdateMessageRequest) -> UpdateMessageResponse,
        delete_message(DeleteMessageRequest) -> DeleteMessageResponse,
    }
    nodes {
        add_node_turn(AddNodeTurnRequest) -> AddNodeTurnResponse,
        flush_node_memory(FlushNodeMemoryRequest) -> FlushNodeMemoryResponse,
        get_node_history(GetNodeHistoryRequest) -> GetNodeHistoryResponse,
        delete_node_memory(DeleteNodeMemoryRequest) -> DeleteNodeMemoryResponse,
        list_node_memories(ListNodeMemoriesRequest) -> ListNodeMemoriesResponse,
    }
    observations {
        get_observations(GetObservationsRequest) -> GetObservationsResponse,
    }
    plans {
        put_plan(PutPlanRequest) -> PutPlanResponse,
        get_plan(GetPlanRequest) -> GetPlanResponse,
        update_plan_step(UpdatePlanStepRequest) -> UpdatePlanStepResponse,
        delete_plan(DeletePlanRequest) -> DeletePlanResponse,
        append_attempt(AppendAttemptRequest) -> AppendAttemptResponse,
        list_attempts(ListAttemptsRequest) -> ListAttemptsResponse,
        build_briefing(BuildBriefingRequest) -> BuildBriefingResponse,
    }
    policies {
        update_app_policy(UpdateAppPolicyRequest) -> UpdateAppPolicyResponse,
        get_app_policy(GetAppPolicyRequest) -> GetAppPolicyResponse,
        list_app_policies(ListAppPoliciesRequest) -> ListAppPoliciesResponse,
        delete_app_policy(DeleteAppPolicyRequest) -> DeleteAppPolicyResponse,
        get_effective_policy(GetEffectivePolicyRequest) -> GetEffectivePolicyResponse,
    }
    recalls {
        recall(RecallRequest) -> RecallResponse,
        search(SearchRequest) -> SearchResponse,
    }
    secrets {
        set_secret(SetSecretRequest) -> SetSecretResponse,
        get_secret(GetSecretRequest) -> GetSecretResponse,
        list_secrets(ListSecretsRequest) -> ListSecretsResponse,
        delete_secret(DeleteSecretRequest) -> DeleteSecretResponse,
    }
    subscriptions {
        create_subscription(CreateSubscriptionRequest) -> CreateSubscriptionResponse,
        get_subscription(GetSubscriptionRequest) -> GetSubscriptionResponse,
        list_subscriptions(ListSubscriptionsRequest) -> ListSubscriptionsResponse,
        update_subscription(UpdateSubscriptionRequest) -> UpdateSubscriptionResponse,
        rotate_subscription_secret(RotateSubscriptionSecretRequest) -> RotateSubscriptionSecretResponse,
        delete_subscription(DeleteSubscriptionRequest) -> DeleteSubscriptionResponse,
        acknowledge_events(AcknowledgeEventsRequest) -> AcknowledgeEventsResponse,
    }
    threads {
        create_thread(CreateThreadRequest) -> CreateThreadResponse,
        resolve_thread(ResolveThreadRequest) -> ResolveThreadResponse,
        get_thread(GetThreadRequest) -> GetThreadResponse,
        list_threads(ListThreadsRequest) -> ListThreadsResponse,
        list_users(ListUsersRequest) -> ListUsersResponse,
        list_apps(ListAppsRequest) -> ListAppsResponse,
        update_thread(UpdateThreadRequest) -> UpdateThreadResponse,
        clear_thread(ClearThreadRequest) -> ClearThreadResponse,
        delete_thread(DeleteThreadRequest) -> DeleteThreadResponse,
        list_branches(ListBranchesRequest) -> ListBranchesResponse,
        set_head(SetHeadRequest) -> SetHeadResponse,
    }
    working_memories {
        get_working_memory(GetWorkingMemoryRequest) -> GetWorkingMemoryResponse,
        put_working_memory(PutWorkingMemoryRequest) -> PutWorkingMemoryResponse,
        update_working_memory_data(UpdateWorkingMemoryDataRequest) -> UpdateWorkingMemoryDataResponse,
        delete_working_memory(DeleteWorkingMemoryRequest) -> DeleteWorkingMemoryResponse,
    }
}

impl Client {
    /// Calls the method of a request.
    ///
    /// # Panics
    /// If the answer is an error.
    #[track_caller]
    pub fn call<R: Call>(&self, request: R) -> impl Future<Output = R::Response> + Send {
        let caller = Location::caller();
        async move {
            match request.send(self).await {
                Ok(response) => response.into_inner(),
                Err(status) => panic!("{caller}: {:?}", Failure::from(status)),
            }
        }
    }

    /// Calls the method of a request that the server has to refuse.
    ///
    /// # Panics
    /// If the call succeeds.
    #[track_caller]
    pub fn refused<R: Call>(&self, request: R) -> impl Future<Output = Failure> + Send {
        let caller = Location::caller();
        async move {
            match request.send(self).await {
                Ok(response) => panic!("{caller}: {}", not_refused(response)),
                Err(status) => status.into(),
            }
        }
    }
}
