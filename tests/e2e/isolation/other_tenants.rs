//! Ids and names of another tenant in every field that takes one.

use recollect_tests::{Dynamic, Key, PLAIN, Refused as _, app, apply, node, trial};
use serde_json::{Value, json};
use tonic::Code;

use crate::plain;

/// Requests of another tenant, what each names, and the reason that an unknown one gives.
const NAMING: &str = r#"
NodeMemoryService/AddNodeTurn {"node": {"thread": {"thread_id": "$THREAD"}, "node_id": "planner"}, "user": $SAID, "assistant": $SAID} $THREAD THREAD_NOT_FOUND
NodeMemoryService/FlushNodeMemory {"node": {"thread": {"thread_id": "$THREAD"}, "node_id": "planner"}} $THREAD THREAD_NOT_FOUND
NodeMemoryService/GetNodeHistory {"node": {"thread": {"thread_id": "$THREAD"}, "node_id": "planner"}} $THREAD THREAD_NOT_FOUND
NodeMemoryService/DeleteNodeMemory {"node": {"thread": {"thread_id": "$THREAD"}, "node_id": "planner"}} $THREAD THREAD_NOT_FOUND
NodeMemoryService/AddNodeTurn {"node": {"thread": {"session": $SESSION}, "node_id": "planner"}, "user": $SAID, "assistant": $SAID} $KEY THREAD_NOT_FOUND
NodeMemoryService/FlushNodeMemory {"node": {"thread": {"session": $SESSION}, "node_id": "planner"}} $KEY THREAD_NOT_FOUND
NodeMemoryService/GetNodeHistory {"node": {"thread": {"session": $SESSION}, "node_id": "planner"}} $KEY THREAD_NOT_FOUND
NodeMemoryService/DeleteNodeMemory {"node": {"thread": {"session": $SESSION}, "node_id": "planner"}} $KEY THREAD_NOT_FOUND
NodeMemoryService/ListNodeMemories {"thread": {"session": $SESSION}} $KEY THREAD_NOT_FOUND
ThreadService/GetThread {"thread": {"session": $SESSION}} $KEY THREAD_NOT_FOUND
MessageService/ListMessages {"target": {"thread": {"session": $SESSION}}} $KEY THREAD_NOT_FOUND
NodeMemoryService/GetNodeHistory {"node": {"thread": {"thread_id": "$OWN"}, "node_id": "planner"}, "current_message_id": "$TURN"} $TURN MESSAGE_NOT_FOUND
NodeMemoryService/GetNodeHistory {"node": {"thread": {"thread_id": "$OWN"}, "node_id": "planner"}, "current_message_id": "$MESSAGE"} $MESSAGE MESSAGE_NOT_FOUND
NodeMemoryService/AddNodeTurn {"node": {"thread": {"thread_id": "$OWN"}, "node_id": "planner"}, "user": $SAID, "assistant": $SAID, "parent_message_id": "$TURN"} $TURN INVALID_FIELD
ThreadService/SetHead {"thread": {"thread_id": "$OWN"}, "head_message_id": "$MESSAGE"} $MESSAGE MESSAGE_NOT_FOUND
MessageService/GetHistory {"thread": {"thread_id": "$OWN"}, "head_message_id": "$MESSAGE"} $MESSAGE MESSAGE_NOT_FOUND
MessageService/GetMessage {"thread": {"thread_id": "$OWN"}, "message_id": "$MESSAGE"} $MESSAGE MESSAGE_NOT_FOUND
MessageService/UpdateMessage {"thread": {"thread_id": "$OWN"}, "message_id": "$MESSAGE", "metadata": "{}"} $MESSAGE MESSAGE_NOT_FOUND
MemoryService/ExtractMemories {"thread": {"thread_id": "$THREAD"}} $THREAD THREAD_NOT_FOUND
MessageService/AppendMessages {"thread": {"thread_id": "$OWN"}, "messages": [{"role": 1, "parts": [{"text": "x"}], "parent_message_id": "$MESSAGE"}]} $MESSAGE INVALID_FIELD
ContextService/BuildContext {"thread": {"thread_id": "$OWN"}, "head_message_id": "$MESSAGE"} $MESSAGE MESSAGE_NOT_FOUND
ContextService/BuildContext {"thread": {"thread_id": "$OWN"}, "node_id": "planner", "current_message_id": "$MESSAGE", "policy": {"mode": 4}} $MESSAGE MESSAGE_NOT_FOUND
FileService/GetFile {"upload_file_id": "$NAME"} $NAME FILE_NOT_FOUND
SecretService/GetSecret {"name": "$NAME"} $NAME SECRET_NOT_FOUND
SubscriptionService/GetSubscription {"name": "$NAME"} $NAME SUBSCRIPTION_NOT_FOUND
SubscriptionService/RotateSubscriptionSecret {"name": "$NAME"} $NAME SUBSCRIPTION_NOT_FOUND
SubscriptionService/UpdateSubscription {"subscription": {"name": "$NAME"}, "update_mask": "enabled"} $NAME SUBSCRIPTION_NOT_FOUND
SubscriptionService/StreamEvents {"name": "$NAME"} $NAME SUBSCRIPTION_NOT_FOUND
SubscriptionService/AcknowledgeEvents {"name": "$NAME", "batch_id": "$MESSAGE"} $NAME SUBSCRIPTION_NOT_FOUND
"#;

#[apply(trial)]
async fn n15_ids_of_another_tenant_fail_like_unknown_ids() {
    let (acme, globex) = (plain().await, PLAIN.client(Key::Globex).await);
    let app = app();
    let thread_id = acme.thread(&app).await;
    let stored = acme.append_turn(&thread_id, "Q", "A").await;
    let message_id = &stored.messages[1].message_id;
    let session_key = acme.get_thread(&thread_id).await.session_key;
    let planner = node(&thread_id, "planner");
    let added = acme.add_node_turn(&planner, "q", "a").await;
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
            "SubscriptionService/CreateSubscription",
            json!({"name": name}),
        ),
        (
            "PolicyService/UpdateAppPolicy",
            json!({"app_policy": {"app_id": app, "policy": {"top_k": 9}}}),
        ),
    ] {
        Dynamic::call(&acme, method, request).await.unwrap();
    }

    // In its own conversation the tenant names data of another tenant.
    let own = globex.thread(&app).await;
    let own_node = node(&own, "planner");
    globex.add_node_turn(&own_node, "q", "a").await;
    let never = uuid::Uuid::new_v4().to_string();
    let session = json!({"app_id": app, "user_id": "ada", "session_key": session_key});
    let session_text = session.to_string();
    let values: [(&str, &str); 8] = [
        ("$THREAD", &thread_id),
        ("$MESSAGE", message_id),
        ("$TURN", &added.user_message_id),
        ("$KEY", &session_key),
        ("$SESSION", &session_text),
        ("$NAME", &name),
        ("$SAID", r#"{"content": "x"}"#),
        ("$OWN", &own),
    ];
    for (method, request, named) in Dynamic::requests(NAMING, &values) {
        let (named, reason) = (named[0].as_str(), named[1].as_str());
        eprintln!("{method} of {request}");
        let text = request.to_string().replace(named, &never);
        let unknown: Value = serde_json::from_str(&text).unwrap();
        let others = Dynamic::call(&globex, method, request).await.refused();
        let unknown = Dynamic::call(&globex, method, unknown).await.refused();
        assert_eq!(others, unknown, "{method} answers the two differently");
        let code = match reason {
            "INVALID_FIELD" => Code::InvalidArgument,
            _ => Code::NotFound,
        };
        others.is(code, reason);
    }

    // Methods that do not fail return nothing.
    for (method, request) in [
        ("PolicyService/GetAppPolicy", json!({"app_id": app})),
        (
            "PolicyService/GetEffectivePolicy",
            json!({"target": {"app": {"app_id": app}}}),
        ),
        (
            "PolicyService/GetEffectivePolicy",
            json!({"target": {"thread": {"session": session}}}),
        ),
        ("PolicyService/DeleteAppPolicy", json!({"app_id": app})),
        (
            "ThreadService/DeleteThread",
            json!({"thread": {"thread_id": thread_id}}),
        ),
        (
            "ThreadService/DeleteThread",
            json!({"thread": {"session": session}}),
        ),
        (
            "MessageService/DeleteMessage",
            json!({"thread": {"thread_id": own}, "message_id": message_id}),
        ),
        ("FileService/DeleteFile", json!({"upload_file_id": name})),
        ("KeyService/RevokeApiKey", json!({"name": name})),
        ("SecretService/DeleteSecret", json!({"name": name})),
        (
            "SubscriptionService/DeleteSubscription",
            json!({"name": name}),
        ),
        ("SubscriptionService/ListSubscriptions", json!({})),
        (
            "AdminService/ListTransactions",
            json!({"thread": {"thread_id": thread_id}}),
        ),
        ("FileService/ListFiles", json!({"page_size": 500})),
        ("KeyService/ListApiKeys", json!({"page_size": 500})),
        ("SecretService/ListSecrets", json!({"page_size": 500})),
        ("PolicyService/ListAppPolicies", json!({"page_size": 500})),
    ] {
        let answer = Dynamic::call(&globex, method, request).await.unwrap();
        let answer = json!(answer.into_inner()).to_string();
        let reported = [
            name.as_str(),
            &thread_id,
            "POLICY_LEVEL_APP",
            "\"deleted\":true",
            "\"revoked\":true",
        ];
        for word in reported {
            assert!(!answer.contains(word), "{method} reveals {word}: {answer}");
        }
    }
    assert_eq!(acme.all_messages(&thread_id).await.len(), 2);
    assert_eq!(acme.node_dialogue(&planner, "").await, ["q", "a"]);
    let of_acme = Dynamic::call(&acme, "PolicyService/GetAppPolicy", json!({"app_id": app}));
    let of_acme = of_acme.await.unwrap().into_inner();
    assert_eq!(of_acme[0]["app_policy"]["policy"]["top_k"], 9);
    for (method, request) in [
        ("SecretService/GetSecret", json!({"name": name})),
        (
            "SubscriptionService/DeleteSubscription",
            json!({"name": name}),
        ),
        ("KeyService/RevokeApiKey", json!({"name": name})),
        ("FileService/GetFile", json!({"upload_file_id": name})),
    ] {
        Dynamic::call(&acme, method, request).await.unwrap();
    }
}
