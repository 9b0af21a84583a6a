//! What belongs to another tenant, named in every field that can name something.

use recollect_tests::{
    Dynamic, Key, PLAIN, Refused as _, app, apply, node, node_turn, trial, turn,
};
use serde_json::{Value, json};
use tonic::Code;

use crate::plain;

#[apply(trial)]
async fn n15_what_another_tenant_has_is_as_unknown_as_what_nobody_has() {
    let (acme, globex) = (plain().await, PLAIN.client(Key::Globex).await);
    let app = app();
    let thread_id = acme.thread(&app).await;
    let stored = acme.append(&thread_id, turn("Q", "A")).await;
    let message_id = &stored.messages[1].message_id;
    let session_key = acme.get_thread(&thread_id).await.session_key;
    let planner = node(&thread_id, "planner");
    let added = acme.add_turn(node_turn(&planner, "q", "a")).await;
    let name = format!("n15-{app}");
    for (method, request) in [
        (
            "FileService/RegisterFile",
            json!({"file": {"upload_file_id": name, "type": 1, "storage_key": "k"}}),
        ),
        ("KeyService/CreateApiKey", json!({"name": name})),
        (
            "SecretService/SetSecret",
            json!({"name": name, "value": "v"}),
        ),
        (
            "PolicyService/SetAppPolicy",
            json!({"app_id": app, "policy": {"top_k": 9}}),
        ),
    ] {
        Dynamic::call(&acme, method, request).await.unwrap();
    }

    // In a conversation of its own it names what is another tenant's.
    let own = globex.thread(&app).await;
    let own_node = node(&own, "planner");
    globex.add_turn(node_turn(&own_node, "q", "a")).await;
    let never = uuid::Uuid::new_v4().to_string();
    let of_thread = |id: &str| json!({"thread_id": id, "node_id": "planner"});
    let said = json!({"content": "x"});
    let session = json!({"app_id": app, "user_id": "ada", "session_key": session_key});
    let of_session = json!({"session": session, "node_id": "planner"});
    let reply =
        |parent: &str| json!([{"role": 1, "parts": [{"text": "x"}], "parent_message_id": parent}]);
    // Each with what it names, and the error that nobody's would be.
    let cases = [
        (
            "NodeMemoryService/AddNodeTurn",
            json!({"node": of_thread(&thread_id), "user": said, "assistant": said}),
            &thread_id,
            "THREAD_NOT_FOUND",
        ),
        (
            "NodeMemoryService/FlushNodeMemory",
            json!({"node": of_thread(&thread_id)}),
            &thread_id,
            "THREAD_NOT_FOUND",
        ),
        (
            "NodeMemoryService/GetNodeHistory",
            json!({"node": of_thread(&thread_id)}),
            &thread_id,
            "THREAD_NOT_FOUND",
        ),
        (
            "NodeMemoryService/ClearNodeMemory",
            json!({"node": of_thread(&thread_id)}),
            &thread_id,
            "THREAD_NOT_FOUND",
        ),
        (
            "NodeMemoryService/AddNodeTurn",
            json!({"node": of_session, "user": said, "assistant": said}),
            &session_key,
            "THREAD_NOT_FOUND",
        ),
        (
            "NodeMemoryService/FlushNodeMemory",
            json!({"node": of_session}),
            &session_key,
            "THREAD_NOT_FOUND",
        ),
        (
            "NodeMemoryService/GetNodeHistory",
            json!({"node": of_session}),
            &session_key,
            "THREAD_NOT_FOUND",
        ),
        (
            "NodeMemoryService/ClearNodeMemory",
            json!({"node": of_session}),
            &session_key,
            "THREAD_NOT_FOUND",
        ),
        (
            "NodeMemoryService/ListNodeMemories",
            json!({"session": session}),
            &session_key,
            "THREAD_NOT_FOUND",
        ),
        (
            "ThreadService/GetThread",
            json!({"session": session}),
            &session_key,
            "THREAD_NOT_FOUND",
        ),
        (
            "MessageService/ListMessages",
            json!({"session": session}),
            &session_key,
            "THREAD_NOT_FOUND",
        ),
        (
            "NodeMemoryService/GetNodeHistory",
            json!({"node": of_thread(&own), "current_message_id": added.user_message_id}),
            &added.user_message_id,
            "MESSAGE_NOT_FOUND",
        ),
        (
            "NodeMemoryService/GetNodeHistory",
            json!({"node": of_thread(&own), "current_message_id": message_id}),
            message_id,
            "MESSAGE_NOT_FOUND",
        ),
        (
            "NodeMemoryService/AddNodeTurn",
            json!({"node": of_thread(&own), "user": said, "assistant": said, "parent_message_id": added.user_message_id}),
            &added.user_message_id,
            "INVALID_FIELD",
        ),
        (
            "ThreadService/SetHead",
            json!({"thread_id": own, "head_message_id": message_id}),
            message_id,
            "MESSAGE_NOT_FOUND",
        ),
        (
            "MessageService/GetHistory",
            json!({"thread_id": own, "head_message_id": message_id}),
            message_id,
            "MESSAGE_NOT_FOUND",
        ),
        (
            "MessageService/GetMessage",
            json!({"thread_id": own, "message_id": message_id}),
            message_id,
            "MESSAGE_NOT_FOUND",
        ),
        (
            "MessageService/DeleteMessage",
            json!({"thread_id": own, "message_id": message_id}),
            message_id,
            "MESSAGE_NOT_FOUND",
        ),
        (
            "MessageService/AppendMessages",
            json!({"thread_id": own, "messages": reply(message_id)}),
            message_id,
            "INVALID_FIELD",
        ),
        (
            "ContextService/BuildContext",
            json!({"thread_id": own, "head_message_id": message_id}),
            message_id,
            "MESSAGE_NOT_FOUND",
        ),
        (
            "ContextService/BuildContext",
            json!({"thread_id": own, "node_id": "planner", "current_message_id": message_id, "policy": {"mode": 4}}),
            message_id,
            "MESSAGE_NOT_FOUND",
        ),
        (
            "FileService/GetFile",
            json!({"upload_file_id": name}),
            &name,
            "FILE_NOT_FOUND",
        ),
        (
            "FileService/DeleteFile",
            json!({"upload_file_id": name}),
            &name,
            "FILE_NOT_FOUND",
        ),
        (
            "KeyService/RevokeApiKey",
            json!({"name": name}),
            &name,
            "API_KEY_NOT_FOUND",
        ),
        (
            "SecretService/GetSecret",
            json!({"name": name}),
            &name,
            "SECRET_NOT_FOUND",
        ),
        (
            "SecretService/DeleteSecret",
            json!({"name": name}),
            &name,
            "SECRET_NOT_FOUND",
        ),
    ];
    for (method, request, named, reason) in cases {
        eprintln!("{method} of {request}");
        let text = request.to_string().replace(named.as_str(), &never);
        let unknown: Value = serde_json::from_str(&text).unwrap();
        let foreign = Dynamic::call(&globex, method, request).await.refused();
        let unknown = Dynamic::call(&globex, method, unknown).await.refused();
        assert_eq!(foreign, unknown, "{method} tells the two apart");
        let code = match reason {
            "INVALID_FIELD" => Code::InvalidArgument,
            _ => Code::NotFound,
        };
        foreign.is(code, reason);
    }

    // Where there is no error, there is nothing either.
    for (method, request) in [
        ("PolicyService/GetAppPolicy", json!({"app_id": app})),
        ("PolicyService/GetEffectivePolicy", json!({"app_id": app})),
        (
            "PolicyService/GetEffectivePolicy",
            json!({"session": session}),
        ),
        ("PolicyService/DeleteAppPolicy", json!({"app_id": app})),
        (
            "AdminService/ListTransactions",
            json!({"thread_id": thread_id}),
        ),
        ("FileService/ListFiles", json!({"page_size": 500})),
        ("KeyService/ListApiKeys", json!({"page_size": 500})),
        ("SecretService/ListSecrets", json!({"page_size": 500})),
        ("PolicyService/ListAppPolicies", json!({"page_size": 500})),
    ] {
        let answer = Dynamic::call(&globex, method, request).await.unwrap();
        let answer = json!(answer.into_inner()).to_string();
        let told = [
            name.as_str(),
            &thread_id,
            "POLICY_LEVEL_APP",
            "\"deleted\":true",
        ];
        for word in told {
            assert!(!answer.contains(word), "{method} tells {word}: {answer}");
        }
    }
    assert_eq!(acme.all_messages(&thread_id).await.len(), 2);
    assert_eq!(acme.node_dialogue(&planner, "").await, ["q", "a"]);
    let of_acme = Dynamic::call(&acme, "PolicyService/GetAppPolicy", json!({"app_id": app}));
    let of_acme = of_acme.await.unwrap().into_inner();
    assert_eq!(of_acme[0]["app_policy"]["policy"]["top_k"], 9);
    for (method, request) in [
        ("SecretService/GetSecret", json!({"name": name})),
        ("KeyService/RevokeApiKey", json!({"name": name})),
        ("FileService/GetFile", json!({"upload_file_id": name})),
    ] {
        Dynamic::call(&acme, method, request).await.unwrap();
    }
}
