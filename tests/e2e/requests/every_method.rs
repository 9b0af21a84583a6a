//! Every method of the contract without a key, with an invalid value, and without a required
//! field. A new method fails here until it is in the table.

use std::collections::HashMap;

use recollect_tests::{Client, Dynamic, Key, PLAIN, Refused as _, VALID_REQUESTS, apply, trial};
use serde_json::{Value, json};
use tonic::Code;

use crate::plain;

#[apply(trial)]
async fn every_method_asks_for_a_key() {
    let addr = &PLAIN.ready().addr;
    let good = Key::Acme.secret();
    let long = "x".repeat(5_000);
    let headers = [
        None,
        Some(""),
        Some("Bearer"),
        Some("Bearer "),
        Some("Bearer wrong"),
        Some(good.as_str()),
        Some(long.as_str()),
    ];
    let prefixed = [
        format!("Basic {good}"),
        format!("Bearer {good}x"),
        format!("Bearer {}", &good[1..]),
    ];
    let headers = headers
        .into_iter()
        .chain(prefixed.iter().map(|header| Some(header.as_str())));
    let methods = Dynamic::methods();
    assert!(
        methods.len() >= 21,
        "the contract has {} methods",
        methods.len()
    );
    for header in headers {
        let client = Client::with_authorization(addr, header).await;
        for method in &methods {
            let answer = Dynamic::call_empty(&client, method).await;
            let failure = answer
                .refused()
                .is(Code::Unauthenticated, "UNAUTHENTICATED");
            assert!(
                !failure.message.contains(&good),
                "{} repeats the key",
                Dynamic::name(method)
            );
        }
    }
}

/// A bad request of each method, and the field that is wrong in it.
const BAD_REQUESTS: &str = r#"
ThreadService/CreateThread {} session
ThreadService/ResolveThread {"session": {"app_id": "a"}} session.session_key
ThreadService/GetThread {} thread
ThreadService/ListThreads {"page_size": -1} page_size
ThreadService/ListUsers {} app_id
ThreadService/ListApps {"page_size": -1} page_size
ThreadService/UpdateThread {"thread": {"thread_id": "$ID"}} update_mask
ThreadService/ClearThread {"thread": {"thread_id": "x"}} thread.thread_id
ThreadService/DeleteThread {"thread": {"thread_id": "x"}} thread.thread_id
ThreadService/ListBranches {"thread": {"thread_id": "$ID"}, "page_size": -1} page_size
ThreadService/SetHead {"thread": {"thread_id": "$ID"}} head_message_id
ThreadService/WatchThread {"thread": {"thread_id": "$ID"}, "cursor": "x"} cursor
PolicyService/UpdateAppPolicy {"app_policy": {"app_id": "a", "policy": {"top_k": 101}}} app_policy.policy.top_k
PolicyService/GetAppPolicy {} app_id
PolicyService/ListAppPolicies {"page_size": -1} page_size
PolicyService/DeleteAppPolicy {} app_id
PolicyService/GetEffectivePolicy {} target
MessageService/AppendMessages {"thread": {"thread_id": "$ID"}} messages
MessageService/GetMessage {"thread": {"thread_id": "$ID"}} message_id
MessageService/ListMessages {"target": {"thread": {"thread_id": "$ID"}}, "page_size": -1} page_size
MessageService/GetHistory {"thread": {"thread_id": "$ID"}, "max_tokens": -1} max_tokens
MessageService/UpdateMessage {"thread": {"thread_id": "$ID"}, "message_id": "m"} metadata
MessageService/DeleteMessage {"thread": {"thread_id": "$ID"}} message_id
MessageService/ImportMessages {} thread
TransferService/ExportRecords {"target": {"thread": {"thread_id": "x"}}} target.thread.thread_id
TransferService/ImportRecords {} record
RecallService/Recall {"target": {"thread": {"thread_id": "$ID"}}, "policy": {"top_k": 101}} policy.top_k
RecallService/Search {"target": {"thread": {"thread_id": "$ID"}}} query
FileService/RegisterFile {"file": {"upload_file_id": "f", "type": "FILE_TYPE_IMAGE"}} file.storage_key
FileService/GetFile {} location
FileService/GetFileContent {} url
FileService/ListFiles {"page_size": -1} page_size
FileService/DeleteFile {"tool_file_id": ""} tool_file_id
ContextService/BuildContext {"thread": {"thread_id": "$ID"}, "max_tokens": -1} max_tokens
MemoryService/AddMemories {"user": {"app_id": "a"}, "memories": []} memories
MemoryService/ImportMemories {"user": {"app_id": "a"}, "memories": []} memories
MemoryService/GetMemory {} memory_id
MemoryService/ListMemories {"target": {"user": {"app_id": "a"}}, "page_size": -1} page_size
MemoryService/SearchMemories {"target": {"user": {"app_id": "a"}}} query
MemoryService/GetProfile {"user": {"app_id": "a"}, "max_tokens": 10001} max_tokens
MemoryService/UpdateMemory {"memory": {"memory_id": "$ID"}} update_mask
MemoryService/SupersedeMemory {"memory_id": "$ID"} replacement
MemoryService/DeleteMemory {"memory_id": "x"} memory_id
MemoryService/ExtractMemories {"thread": {"thread_id": "$ID"}, "max_wait": "31s"} max_wait
MemoryService/DeleteMemories {"target": {"user": {"app_id": "a"}}} max_age
NodeMemoryService/AddNodeTurn {"node": {"thread": {"thread_id": "$ID"}, "node_id": "n"}, "user": {"content": "x"}} assistant
NodeMemoryService/FlushNodeMemory {"node": {"thread": {"thread_id": "$ID"}}} node.node_id
NodeMemoryService/GetNodeHistory {"node": {"thread": {"thread_id": "$ID"}, "node_id": "n"}, "max_tokens": -1} max_tokens
NodeMemoryService/DeleteNodeMemory {"node": {"thread": {"thread_id": "x"}, "node_id": "n"}} node.thread.thread_id
NodeMemoryService/ListNodeMemories {"thread": {"thread_id": "$ID"}, "page_size": -1} page_size
PlanService/PutPlan {"thread": {"thread_id": "$ID"}, "plan": {"steps": []}} plan.goal
PlanService/GetPlan {} thread
PlanService/UpdatePlanStep {"thread": {"thread_id": "$ID"}, "step": {"status": 3}} step.step_id
PlanService/DeletePlan {"thread": {"thread_id": "x"}} thread.thread_id
PlanService/AppendAttempt {"thread": {"thread_id": "$ID"}} attempt
PlanService/ListAttempts {"thread": {"thread_id": "$ID"}, "page_size": -1} page_size
EventService/AppendEvents {"thread": {"thread_id": "$ID"}} events
EventService/ListEvents {"thread": {"thread_id": "$ID"}, "page_size": -1} page_size
PlanService/BuildBriefing {"thread": {"thread_id": "$ID"}} task
DocumentService/PutDocuments {"user": {"app_id": "a"}} documents
DocumentService/GetDocuments {"user": {"app_id": "a"}} documents
DocumentService/SearchDocuments {"user": {"app_id": "a"}, "page_size": -1} page_size
DocumentService/ListNamespaces {"user": {"app_id": "a"}, "max_depth": 17} max_depth
DocumentService/DeleteDocuments {"user": {"app_id": "a"}} documents
MemoryFileService/GetMemoryFile {"user": {"app_id": "a"}, "path": "/", "depth": 16} depth
MemoryFileService/PutMemoryFile {"user": {"app_id": "a"}, "path": "/a/../b"} path
MemoryFileService/ReplaceInMemoryFile {"user": {"app_id": "a"}, "path": "/a"} old_text
MemoryFileService/InsertIntoMemoryFile {"user": {"app_id": "a"}, "path": "/a", "text": "x", "line": -1} line
MemoryFileService/DeleteMemoryFile {"user": {"app_id": "a"}} path
MemoryFileService/RenameMemoryFile {"user": {"app_id": "a"}, "path": "/a"} new_path
MemoryFileService/SearchMemoryFiles {"user": {"app_id": "a"}} query
MemoryFileService/ListMemoryFileVersions {"user": {"app_id": "a"}, "path": "/"} path
MemoryFileService/CompareMemoryFileVersions {"user": {"app_id": "a"}, "path": "/a", "to_version": "-1"} to_version
MemoryFileService/RestoreMemoryFile {"user": {"app_id": "a"}, "path": "/a", "version": "-1"} version
CheckpointService/PutCheckpoint {"thread": {"thread_id": "$ID"}} checkpoint_id
CheckpointService/PutCheckpointWrites {"thread": {"thread_id": "$ID"}, "checkpoint_id": "c"} writes
CheckpointService/GetCheckpoint {} thread
CheckpointService/ListCheckpoints {"target": {"thread": {"thread_id": "$ID"}}, "metadata": "[]"} metadata
CheckpointService/CopyCheckpoints {"source": {"session": {"app_id": "a", "session_key": "k"}}} target
CheckpointService/DeleteCheckpoints {"user": {"app_id": "a"}} metadata
ObservationService/GetObservations {"thread": {"thread_id": "$ID"}, "head_message_id": "\u0007"} head_message_id
LedgerService/VerifyThread {} thread
LedgerService/ListLedger {"thread": {"thread_id": "$ID"}} kind
WorkingMemoryService/GetWorkingMemory {} thread
WorkingMemoryService/PutWorkingMemory {"thread": {"thread_id": "$ID"}, "messages": [{"parts": [{"text": "x"}]}]} messages[0].role
WorkingMemoryService/UpdateWorkingMemoryData {"thread": {"thread_id": "$ID"}} patch
WorkingMemoryService/DeleteWorkingMemory {"thread": {"thread_id": "x"}} thread.thread_id
AdminService/ListDeadLetters {"page_size": -1} page_size
AdminService/GetModelUsage {"days": -1} days
AdminService/Reindex {"thread": {"thread_id": "x"}} thread.thread_id
AdminService/DeleteUser {} user
AdminService/DeleteApp {"app": {"app_id": ""}} app.app_id
AdminService/DeleteTenant {"tenant": "another"} tenant
AdminService/GetDeletion {"deletion_id": "x"} deletion_id
AdminService/ListDeletions {"page_token": "x"} page_token
AdminService/CompareIndexes {} app_id
AdminService/ListTransactions {"page_size": -1} page_size
KeyService/CreateApiKey {"name": "worker"} name
KeyService/ListApiKeys {"page_size": -1} page_size
KeyService/RevokeApiKey {} name
SecretService/SetSecret {"name": "a/b", "value": "x"} name
SecretService/GetSecret {} name
SecretService/ListSecrets {"page_token": "x"} page_token
SecretService/DeleteSecret {"name": "é"} name
SubscriptionService/CreateSubscription {"name": "n", "url": "http://example.com"} url
SubscriptionService/GetSubscription {} name
SubscriptionService/UpdateSubscription {"subscription": {"name": "n"}, "update_mask": "name"} update_mask.paths[0]
SubscriptionService/RotateSubscriptionSecret {"name": "a/b"} name
SubscriptionService/DeleteSubscription {"name": ""} name
SubscriptionService/StreamEvents {"name": "é"} name
SubscriptionService/AcknowledgeEvents {"name": "n", "batch_id": "x"} batch_id
"#;

#[apply(trial)]
async fn every_method_refuses_a_wrong_value() {
    let client = plain().await;
    let id = "0198c1de-3e07-7a4b-9a56-0d6f3a5b8c11";
    let bad = Dynamic::requests(BAD_REQUESTS, &[("$ID", id)]).into_iter();
    let mut bad: HashMap<&str, (Value, Vec<String>)> = bad
        .map(|(method, request, field)| (method, (request, field)))
        .collect();
    for method in Dynamic::methods() {
        let name = Dynamic::name(&method);
        if method.input().fields().count() == 0 {
            // The request has no fields.
            Dynamic::call_empty(&client, &method).await.unwrap();
            continue;
        }
        let (request, field) = bad
            .remove(name.as_str())
            .unwrap_or_else(|| panic!("no invalid request of {name} is tested"));
        refuse(&client, &name, request, &field[0]).await;
    }
    assert!(bad.is_empty(), "not in the contract: {bad:?}");
}

/// Sends a request that has to be refused with the name of one field.
async fn refuse(client: &Client, name: &str, request: Value, field: &str) {
    eprintln!("{name} of {request}");
    let answer = Dynamic::call(client, name, request).await;
    // The errors of imports are answers.
    let of_import = match name {
        "MessageService/ImportMessages" => "/error",
        "TransferService/ImportRecords" => "/refused/error",
        _ => {
            answer.refused().names_field(field);
            return;
        }
    };
    let answers = answer.unwrap().into_inner();
    let error = answers[0].pointer(of_import).unwrap();
    assert_eq!(error["field"], json!(field), "{answers:?}");
    assert_eq!(error["reason"], json!("ERROR_REASON_INVALID_FIELD"));
}

/// Valid requests of the methods that `VALID_REQUESTS` leaves out, because they delete much.
const DELETIONS: &str = r#"
AdminService/DeleteUser {"user": {"app_id": "a", "user_id": "u"}}
AdminService/DeleteApp {"app": {"app_id": "a"}}
AdminService/DeleteTenant {"tenant": "acme"}
AdminService/GetDeletion {"deletion_id": "$UUID"}
"#;

#[apply(trial)]
async fn every_method_refuses_a_request_without_a_required_field() {
    let client = plain().await;
    // A request is checked before anything is looked up, so what it names need not exist.
    let id = "0198c1de-3e07-7a4b-9a56-0d6f3a5b8c11";
    let names = [
        "$THREAD", "$KEY", "$MESSAGE", "$REPLY", "$MEMORY", "$UUID", "$NEW",
    ];
    let names = names.map(|name| (name, id));
    let mut valid = Dynamic::requests(VALID_REQUESTS, &names);
    valid.extend(Dynamic::requests(DELETIONS, &names));
    let mut refused = 0;
    for method in Dynamic::methods() {
        let name = Dynamic::name(&method);
        for field in Dynamic::required(&method) {
            let request = valid.iter().find(|(of, ..)| *of == name);
            let (_, request, _) =
                request.unwrap_or_else(|| panic!("no valid request of {name} is tested"));
            let mut request = request.clone();
            let value = request.as_object_mut().unwrap().remove(&field);
            assert!(
                value.is_some(),
                "the valid request of {name} has no {field}"
            );
            refuse(&client, &name, request, &field).await;
            refused += 1;
        }
    }
    assert!(refused > 90, "{refused} requests");
}

#[apply(trial)]
async fn an_unknown_method_is_unimplemented() {
    let client = plain().await;
    let mut grpc = tonic::client::Grpc::new(client.authorized());
    grpc.ready().await.unwrap();
    // Any codec will do where nothing is decoded.
    let codec = tonic_prost::ProstCodec::<(), ()>::default();
    let path = "/recollect.v1.ThreadService/NoSuchMethod".parse().unwrap();
    let answer: Result<tonic::Response<()>, tonic::Status> =
        grpc.unary(tonic::Request::new(()), path, codec).await;
    assert_eq!(answer.unwrap_err().code(), Code::Unimplemented);
}
