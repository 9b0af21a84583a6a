//! The calls that each scope of a key allows.

use memory_contract::proto::{CreateApiKeyRequest, KeyScope};
use recollect_tests::{Dynamic, PLAIN, Refused as _, app, apply, trial};
use tonic::Code;

use super::{caller, create_key};
use crate::plain;

/// The methods of each scope.
const METHODS: [(KeyScope, &str, &[&str]); 4] = [
    (
        KeyScope::Read,
        "read",
        &[
            "AdminService/GetDeletion",
            "AdminService/GetDeletionStatus",
            "AdminService/GetDistillStatus",
            "AdminService/GetIndexStatus",
            "AdminService/GetModelUsage",
            "AdminService/GetNodeMemoryStatus",
            "AdminService/GetServerInfo",
            "AdminService/ListDeadLetters",
            "AdminService/ListDeletions",
            "CheckpointService/GetCheckpoint",
            "CheckpointService/ListCheckpoints",
            "ContextService/BuildContext",
            "DocumentService/GetDocuments",
            "DocumentService/ListNamespaces",
            "DocumentService/SearchDocuments",
            "EventService/ListEvents",
            "FileService/GetFile",
            "FileService/GetFileContent",
            "FileService/ListFiles",
            "LedgerService/ListLedger",
            "LedgerService/VerifyThread",
            "MemoryFileService/CompareMemoryFileVersions",
            "MemoryFileService/GetMemoryFile",
            "MemoryFileService/ListMemoryFileVersions",
            "MemoryFileService/SearchMemoryFiles",
            "MemoryService/GetMemory",
            "MemoryService/GetProfile",
            "MemoryService/ListMemories",
            "MemoryService/SearchMemories",
            "MessageService/GetHistory",
            "MessageService/GetMessage",
            "MessageService/ListMessages",
            "NodeMemoryService/GetNodeHistory",
            "NodeMemoryService/ListNodeMemories",
            "ObservationService/GetObservations",
            "PlanService/BuildBriefing",
            "PlanService/GetPlan",
            "PlanService/ListAttempts",
            "PolicyService/GetAppPolicy",
            "PolicyService/GetEffectivePolicy",
            "PolicyService/ListAppPolicies",
            "RecallService/Recall",
            "RecallService/Search",
            "SubscriptionService/AcknowledgeEvents",
            "SubscriptionService/GetSubscription",
            "SubscriptionService/ListSubscriptions",
            "SubscriptionService/StreamEvents",
            "ThreadService/GetThread",
            "ThreadService/ListApps",
            "ThreadService/ListBranches",
            "ThreadService/ListThreads",
            "ThreadService/ListUsers",
            "ThreadService/WatchThread",
            "TransferService/ExportRecords",
            "WorkingMemoryService/GetWorkingMemory",
        ],
    ),
    (
        KeyScope::Write,
        "write",
        &[
            "AdminService/Reindex",
            "CheckpointService/CopyCheckpoints",
            "CheckpointService/PutCheckpoint",
            "CheckpointService/PutCheckpointWrites",
            "DocumentService/PutDocuments",
            "EventService/AppendEvents",
            "FileService/RegisterFile",
            "MemoryFileService/InsertIntoMemoryFile",
            "MemoryFileService/PutMemoryFile",
            "MemoryFileService/RenameMemoryFile",
            "MemoryFileService/ReplaceInMemoryFile",
            "MemoryFileService/RestoreMemoryFile",
            "MemoryService/AddMemories",
            "MemoryService/ExtractMemories",
            "MemoryService/ImportMemories",
            "MemoryService/SupersedeMemory",
            "MemoryService/UpdateMemory",
            "MessageService/AppendMessages",
            "MessageService/ImportMessages",
            "MessageService/UpdateMessage",
            "NodeMemoryService/AddNodeTurn",
            "NodeMemoryService/FlushNodeMemory",
            "PlanService/AppendAttempt",
            "PlanService/PutPlan",
            "PlanService/UpdatePlanStep",
            "PolicyService/UpdateAppPolicy",
            "ThreadService/CreateThread",
            "ThreadService/ResolveThread",
            "ThreadService/SetHead",
            "ThreadService/UpdateThread",
            "TransferService/ImportRecords",
            "WorkingMemoryService/PutWorkingMemory",
            "WorkingMemoryService/UpdateWorkingMemoryData",
        ],
    ),
    (
        KeyScope::Delete,
        "delete",
        &[
            "AdminService/DeleteApp",
            "AdminService/DeleteUser",
            "CheckpointService/DeleteCheckpoints",
            "DocumentService/DeleteDocuments",
            "FileService/DeleteFile",
            "MemoryFileService/DeleteMemoryFile",
            "MemoryService/DeleteMemories",
            "MemoryService/DeleteMemory",
            "MessageService/DeleteMessage",
            "NodeMemoryService/DeleteNodeMemory",
            "PlanService/DeletePlan",
            "PolicyService/DeleteAppPolicy",
            "ThreadService/ClearThread",
            "ThreadService/DeleteThread",
            "WorkingMemoryService/DeleteWorkingMemory",
        ],
    ),
    (
        KeyScope::Admin,
        "admin",
        &[
            "AdminService/CompareIndexes",
            "AdminService/DeleteTenant",
            "AdminService/ListTransactions",
            "KeyService/CreateApiKey",
            "KeyService/ListApiKeys",
            "KeyService/RevokeApiKey",
            "SecretService/DeleteSecret",
            "SecretService/GetSecret",
            "SecretService/ListSecrets",
            "SecretService/SetSecret",
            "SubscriptionService/CreateSubscription",
            "SubscriptionService/DeleteSubscription",
            "SubscriptionService/RotateSubscriptionSecret",
            "SubscriptionService/UpdateSubscription",
        ],
    ),
];

#[apply(trial)]
async fn l06_a_key_makes_the_calls_of_its_scopes_and_no_others() {
    let admin = plain().await;
    for (scope, ..) in METHODS {
        let name = format!("key-{}", app());
        let made = create_key(&admin, &name, &[scope]).await;
        let client = caller(&PLAIN.ready().addr, &made.secret).await;
        for method in Dynamic::methods() {
            let name = Dynamic::name(&method);
            let (needed, text, _) = METHODS
                .into_iter()
                .find(|(_, _, methods)| methods.contains(&name.as_str()))
                .unwrap_or_else(|| panic!("{name} has no scope"));
            let answer = Dynamic::call_empty(&client, &method).await;
            if scope == needed || scope == KeyScope::Admin {
                if let Err(status) = answer {
                    assert_ne!(status.code(), Code::PermissionDenied, "{scope:?} {name}");
                }
                continue;
            }
            let refused = answer.refused();
            let refused = refused.is(Code::PermissionDenied, "PERMISSION_DENIED");
            assert_eq!(refused.metadata["scope"], text, "{scope:?} {name}");
            assert!(refused.message.contains(text), "{refused:?}");
        }
    }
}

#[apply(trial)]
async fn l06_a_key_has_the_scopes_that_were_asked_for() {
    let admin = plain().await;
    let scopes = |response: memory_contract::proto::CreateApiKeyResponse| {
        let key = response.api_key.unwrap();
        key.scopes().collect::<Vec<_>>()
    };
    let name = || format!("key-{}", app());
    let made = create_key(&admin, &name(), &[]).await;
    let default = [KeyScope::Read, KeyScope::Write, KeyScope::Delete];
    assert_eq!(scopes(made), default);
    let asked = [KeyScope::Delete, KeyScope::Read, KeyScope::Delete];
    let made = create_key(&admin, &name(), &asked).await;
    let secret = made.secret.clone();
    assert_eq!(scopes(made), [KeyScope::Read, KeyScope::Delete]);

    let client = caller(&PLAIN.ready().addr, &secret).await;
    let call = async |method: &str| {
        let method = Dynamic::method(method);
        let answer = Dynamic::call_empty(&client, &method).await;
        answer.err().map(|status| status.code())
    };
    assert_eq!(call("AdminService/GetServerInfo").await, None);
    let cleared = call("ThreadService/ClearThread").await;
    assert_eq!(cleared, Some(Code::InvalidArgument));
    let set = call("PolicyService/UpdateAppPolicy").await;
    assert_eq!(set, Some(Code::PermissionDenied));

    for wrong in [KeyScope::Unspecified.into(), 5, -1] {
        let request = CreateApiKeyRequest {
            name: name(),
            scopes: vec![KeyScope::Read.into(), wrong],
            ..Default::default()
        };
        admin.refused(request).await.names_field("scopes");
    }
}
