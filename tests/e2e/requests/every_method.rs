//! Every method of the contract: what it does without a key, and with a wrong
//! value. A method that is added to the contract is tested here at once, or
//! fails until it is in the table.

use std::collections::HashMap;

use recollect_tests::{Client, Dynamic, Key, PLAIN, Refused as _, apply, trial};
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
fn bad_requests() -> HashMap<&'static str, (Value, &'static str)> {
    let id = "0198c1de-3e07-7a4b-9a56-0d6f3a5b8c11";
    HashMap::from([
        ("ThreadService/CreateThread", (json!({}), "session")),
        (
            "ThreadService/ResolveThread",
            (json!({"session": {"app_id": "a"}}), "session.session_key"),
        ),
        ("ThreadService/GetThread", (json!({}), "thread_id")),
        (
            "ThreadService/ListThreads",
            (json!({"page_size": -1}), "page_size"),
        ),
        (
            "ThreadService/UpdateThread",
            (json!({"thread_id": id}), "update_mask"),
        ),
        (
            "ThreadService/ClearThread",
            (json!({"thread_id": "x"}), "thread_id"),
        ),
        (
            "ThreadService/DeleteThread",
            (json!({"thread_id": "x"}), "thread_id"),
        ),
        (
            "ThreadService/ListBranches",
            (json!({"thread_id": id, "page_size": -1}), "page_size"),
        ),
        (
            "ThreadService/SetHead",
            (json!({"thread_id": id}), "head_message_id"),
        ),
        (
            "ThreadService/WatchThread",
            (json!({"thread_id": id, "cursor": "x"}), "cursor"),
        ),
        (
            "PolicyService/SetAppPolicy",
            (
                json!({"app_id": "a", "policy": {"top_k": 101}}),
                "policy.top_k",
            ),
        ),
        ("PolicyService/GetAppPolicy", (json!({}), "app_id")),
        (
            "PolicyService/ListAppPolicies",
            (json!({"page_size": -1}), "page_size"),
        ),
        ("PolicyService/DeleteAppPolicy", (json!({}), "app_id")),
        ("PolicyService/GetEffectivePolicy", (json!({}), "thread_id")),
        (
            "MessageService/AppendMessages",
            (json!({"thread_id": id}), "messages"),
        ),
        (
            "MessageService/GetMessage",
            (json!({"thread_id": id}), "message_id"),
        ),
        (
            "MessageService/ListMessages",
            (json!({"thread_id": id, "page_size": -1}), "page_size"),
        ),
        (
            "MessageService/GetHistory",
            (json!({"thread_id": id, "max_tokens": -1}), "max_tokens"),
        ),
        (
            "MessageService/DeleteMessage",
            (json!({"thread_id": id}), "message_id"),
        ),
        ("MessageService/ImportMessages", (json!({}), "session")),
        (
            "MessageService/ExportMessages",
            (json!({"thread_id": "x"}), "thread_id"),
        ),
        (
            "RecallService/Recall",
            (json!({"thread_id": id, "top_k": 101}), "top_k"),
        ),
        ("RecallService/Search", (json!({"thread_id": id}), "query")),
        (
            "FileService/RegisterFile",
            (
                json!({"file": {"upload_file_id": "f", "type": "FILE_TYPE_IMAGE"}}),
                "file.storage_key",
            ),
        ),
        ("FileService/GetFile", (json!({}), "location")),
        (
            "FileService/ListFiles",
            (json!({"page_size": -1}), "page_size"),
        ),
        (
            "FileService/DeleteFile",
            (json!({"tool_file_id": ""}), "tool_file_id"),
        ),
        (
            "ContextService/BuildContext",
            (json!({"thread_id": id, "max_tokens": -1}), "max_tokens"),
        ),
        (
            "MemoryService/AddMemories",
            (json!({"app_id": "a", "memories": []}), "memories"),
        ),
        (
            "MemoryService/ImportMemories",
            (json!({"app_id": "a", "memories": []}), "memories"),
        ),
        ("MemoryService/GetMemory", (json!({}), "memory_id")),
        (
            "MemoryService/ListMemories",
            (json!({"app_id": "a", "page_size": -1}), "page_size"),
        ),
        (
            "MemoryService/SearchMemories",
            (json!({"app_id": "a"}), "query"),
        ),
        (
            "MemoryService/UpdateMemory",
            (json!({"memory": {"memory_id": id}}), "update_mask"),
        ),
        (
            "MemoryService/SupersedeMemory",
            (json!({"memory_id": id}), "replacement"),
        ),
        (
            "MemoryService/DeleteMemory",
            (json!({"memory_id": "x"}), "memory_id"),
        ),
        (
            "MemoryService/ForgetMemories",
            (json!({"app_id": "a"}), "max_age"),
        ),
        (
            "NodeMemoryService/AddNodeTurn",
            (
                json!({"node": {"thread_id": id, "node_id": "n"}, "user": {"content": "x"}}),
                "assistant",
            ),
        ),
        (
            "NodeMemoryService/FlushNodeMemory",
            (json!({"node": {"thread_id": id}}), "node.node_id"),
        ),
        (
            "NodeMemoryService/GetNodeHistory",
            (
                json!({"node": {"thread_id": id, "node_id": "n"}, "max_tokens": -1}),
                "max_tokens",
            ),
        ),
        (
            "NodeMemoryService/ClearNodeMemory",
            (
                json!({"node": {"thread_id": "x", "node_id": "n"}}),
                "node.thread_id",
            ),
        ),
        (
            "NodeMemoryService/ListNodeMemories",
            (json!({"thread_id": id, "page_size": -1}), "page_size"),
        ),
        (
            "PlanService/PutPlan",
            (json!({"thread_id": id, "plan": {"steps": []}}), "plan.goal"),
        ),
        ("PlanService/GetPlan", (json!({}), "thread_id")),
        (
            "PlanService/UpdatePlanStep",
            (json!({"thread_id": id, "status": 3}), "step_id"),
        ),
        (
            "PlanService/DeletePlan",
            (json!({"thread_id": "x"}), "thread_id"),
        ),
        (
            "PlanService/AppendIteration",
            (json!({"thread_id": id}), "iteration"),
        ),
        (
            "PlanService/ListIterations",
            (json!({"thread_id": id, "page_size": -1}), "page_size"),
        ),
        (
            "PlanService/BuildBriefing",
            (json!({"thread_id": id}), "task"),
        ),
        (
            "ObservationService/GetObservations",
            (
                json!({"thread_id": id, "head_message_id": "x"}),
                "head_message_id",
            ),
        ),
        ("LedgerService/VerifyThread", (json!({}), "thread_id")),
        (
            "LedgerService/ListLedger",
            (json!({"thread_id": id}), "kind"),
        ),
        (
            "WorkingMemoryService/GetWorkingMemory",
            (json!({}), "thread_id"),
        ),
        (
            "WorkingMemoryService/PutWorkingMemory",
            (
                json!({"thread_id": id, "messages": [{"parts": [{"text": "x"}]}]}),
                "messages[0].role",
            ),
        ),
        (
            "WorkingMemoryService/UpdateWorkingMemoryData",
            (json!({"thread_id": id}), "patch"),
        ),
        (
            "WorkingMemoryService/DeleteWorkingMemory",
            (json!({"thread_id": "x"}), "thread_id"),
        ),
        (
            "AdminService/ListDeadLetters",
            (json!({"page_size": -1}), "page_size"),
        ),
        ("AdminService/GetModelUsage", (json!({"days": -1}), "days")),
        (
            "AdminService/Reindex",
            (json!({"thread_id": "x"}), "thread_id"),
        ),
        (
            "AdminService/ListTransactions",
            (json!({"page_size": -1}), "page_size"),
        ),
        (
            "KeyService/CreateApiKey",
            (json!({"name": "worker"}), "name"),
        ),
        (
            "KeyService/ListApiKeys",
            (json!({"page_size": -1}), "page_size"),
        ),
        ("KeyService/RevokeApiKey", (json!({}), "name")),
        (
            "SecretService/SetSecret",
            (json!({"name": "a/b", "value": "x"}), "name"),
        ),
        ("SecretService/GetSecret", (json!({}), "name")),
        (
            "SecretService/ListSecrets",
            (json!({"page_token": "x"}), "page_token"),
        ),
        ("SecretService/DeleteSecret", (json!({"name": "é"}), "name")),
    ])
}

#[apply(trial)]
async fn every_method_refuses_a_wrong_value() {
    let client = plain().await;
    let mut bad = bad_requests();
    for method in Dynamic::methods() {
        let name = Dynamic::name(&method);
        if method.input().fields().count() == 0 {
            // There is no value that could be wrong.
            Dynamic::call_empty(&client, &method).await.unwrap();
            continue;
        }
        let (request, field) = bad
            .remove(name.as_str())
            .unwrap_or_else(|| panic!("no invalid request of {name} is tested"));
        let answer = Dynamic::call(&client, &name, request).await;
        if name == "MessageService/ImportMessages" {
            // Its errors are answers.
            let answers = answer.unwrap().into_inner();
            assert_eq!(answers.len(), 1);
            let error = &answers[0]["error"];
            assert_eq!(error["field"], json!(field), "{answers:?}");
            assert_eq!(error["reason"], json!("ERROR_REASON_INVALID_FIELD"));
            continue;
        }
        eprintln!("{name}");
        answer.refused().names_field(field);
    }
    assert!(bad.is_empty(), "not in the contract: {bad:?}");
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
