//! Tenants, users and apps never see one another.

use memory_contract::proto::{
    ExportRecordsRequest, ListThreadsRequest, MemoryPolicy, RecallScope, Role,
};
use recollect_tests::{
    Client, Dynamic, Key, Refused as _, SHARED, app, apply, recall_request, say, search_request,
    session, target_app, target_user, texts, trial,
};
use serde_json::{Value, json};
use tonic::Code;

use crate::acme;

/// A good request of each method that names a thread by its id.
const REQUESTS: &str = r#"
ThreadService/GetThread {"thread": {"thread_id": "$THREAD"}}
ThreadService/UpdateThread {"thread": {"thread_id": "$THREAD", "title": "mine"}, "update_mask": "title"}
ThreadService/ClearThread {"thread": {"thread_id": "$THREAD"}}
ThreadService/DeleteThread {"thread": {"thread_id": "$THREAD"}}
ThreadService/ListBranches {"thread": {"thread_id": "$THREAD"}}
ThreadService/SetHead {"thread": {"thread_id": "$THREAD"}, "head_message_id": "$MESSAGE"}
ThreadService/WatchThread {"thread": {"thread_id": "$THREAD"}}
PolicyService/GetEffectivePolicy {"target": {"thread": {"thread_id": "$THREAD"}}}
MessageService/AppendMessages {"thread": {"thread_id": "$THREAD"}, "messages": [{"role": "ROLE_USER", "parts": [{"text": "hi"}]}]}
MessageService/GetMessage {"thread": {"thread_id": "$THREAD"}, "message_id": "$MESSAGE"}
MessageService/ListMessages {"target": {"thread": {"thread_id": "$THREAD"}}}
MessageService/GetHistory {"thread": {"thread_id": "$THREAD"}}
MessageService/UpdateMessage {"thread": {"thread_id": "$THREAD"}, "message_id": "$MESSAGE", "metadata": "{}"}
MessageService/DeleteMessage {"thread": {"thread_id": "$THREAD"}, "message_id": "$MESSAGE"}
MemoryService/ExtractMemories {"thread": {"thread_id": "$THREAD"}}
TransferService/ExportRecords {"target": {"thread": {"thread_id": "$THREAD"}}}
RecallService/Recall {"target": {"thread": {"thread_id": "$THREAD"}}, "query": "secret"}
RecallService/Search {"target": {"thread": {"thread_id": "$THREAD"}}, "query": "secret"}
ContextService/BuildContext {"thread": {"thread_id": "$THREAD"}}
NodeMemoryService/ListNodeMemories {"thread": {"thread_id": "$THREAD"}}
PlanService/PutPlan {"thread": {"thread_id": "$THREAD"}, "plan": {"goal": "g"}}
PlanService/GetPlan {"thread": {"thread_id": "$THREAD"}}
PlanService/UpdatePlanStep {"thread": {"thread_id": "$THREAD"}, "step": {"step_id": "1"}, "current_phase": "mine"}
PlanService/DeletePlan {"thread": {"thread_id": "$THREAD"}}
PlanService/AppendAttempt {"thread": {"thread_id": "$THREAD"}, "attempt": {"action": "a"}}
PlanService/ListAttempts {"thread": {"thread_id": "$THREAD"}}
EventService/AppendEvents {"thread": {"thread_id": "$THREAD"}, "events": [{"type": "t"}]}
EventService/ListEvents {"thread": {"thread_id": "$THREAD"}}
PlanService/BuildBriefing {"thread": {"thread_id": "$THREAD"}, "task": "Go on."}
CheckpointService/PutCheckpoint {"thread": {"thread_id": "$THREAD"}, "checkpoint_id": "mine"}
CheckpointService/PutCheckpointWrites {"thread": {"thread_id": "$THREAD"}, "checkpoint_id": "mine", "writes": [{"task_id": "t", "channel": "c"}]}
CheckpointService/GetCheckpoint {"thread": {"thread_id": "$THREAD"}}
CheckpointService/ListCheckpoints {"target": {"thread": {"thread_id": "$THREAD"}}}
LedgerService/ListLedger {"thread": {"thread_id": "$THREAD"}, "kind": "LEDGER_KIND_SUMMARY"}
LedgerService/VerifyThread {"thread": {"thread_id": "$THREAD"}}
ObservationService/GetObservations {"thread": {"thread_id": "$THREAD"}}
WorkingMemoryService/GetWorkingMemory {"thread": {"thread_id": "$THREAD"}}
WorkingMemoryService/PutWorkingMemory {"thread": {"thread_id": "$THREAD"}, "summary": "mine"}
WorkingMemoryService/UpdateWorkingMemoryData {"thread": {"thread_id": "$THREAD"}, "patch": "{\"mine\": true}"}
WorkingMemoryService/DeleteWorkingMemory {"thread": {"thread_id": "$THREAD"}}
AdminService/Reindex {"thread": {"thread_id": "$THREAD"}}
"#;

/// Methods that are not in the table. The audit log outlives a thread, so an unknown one is
/// not an error there; `access` tests that another tenant's list is empty. The errors of an
/// import are answers. The others take users and apps as their target and no thread, or two
/// threads.
const NOT_BY_ID: [&str; 7] = [
    "AdminService/ListTransactions",
    "CheckpointService/CopyCheckpoints",
    "MemoryService/DeleteMemories",
    "MemoryService/ListMemories",
    "MemoryService/SearchMemories",
    "MessageService/ImportMessages",
    "ThreadService/ListThreads",
];

/// The requests of the table for one thread and one message.
pub fn requests_for(thread_id: &str, message_id: &str) -> Vec<(&'static str, Value)> {
    let requests = Dynamic::requests(
        REQUESTS,
        &[("$THREAD", thread_id), ("$MESSAGE", message_id)],
    );
    requests
        .into_iter()
        .map(|(method, request, _)| (method, request))
        .collect()
}

/// No method finds the thread: each answers as for an id that no thread has.
pub async fn is_missing(client: &Client, thread_id: &str, message_id: &str) {
    let never = uuid::Uuid::new_v4().to_string();
    for (method, request) in requests_for(thread_id, message_id) {
        let text = request.to_string().replace(thread_id, &never);
        let unknown = Dynamic::call(client, method, serde_json::from_str(&text).unwrap()).await;
        let missing = Dynamic::call(client, method, request).await;
        if method == "ThreadService/DeleteThread" {
            let (missing, unknown) = (missing.unwrap().into_inner(), unknown.unwrap());
            assert_eq!(missing, unknown.into_inner());
            assert_ne!(missing[0]["deleted"], true);
            continue;
        }
        let (missing, unknown) = (missing.refused(), unknown.refused());
        assert_eq!(missing, unknown, "{method} answers the two differently");
        missing.is(Code::NotFound, "THREAD_NOT_FOUND");
    }
}

#[apply(trial)]
async fn n15_no_tenant_sees_another() {
    let (acme, globex) = (acme().await, SHARED.client(Key::Globex).await);
    let app = app();
    let thread_id = acme.thread(&app).await;
    let stored = acme
        .append_turn(&thread_id, "My secret is plugh.", "I keep it.")
        .await;
    let message_id = stored.messages[0].message_id.as_str();
    let before = acme.get_thread(&thread_id).await;

    // A method that takes a thread's id and is not in the table is a gap.
    let tried = requests_for(&thread_id, message_id);
    for method in Dynamic::methods() {
        let name = Dynamic::name(&method);
        let input = method.input();
        let takes_thread = ["target", "thread"]
            .into_iter()
            .any(|field| input.get_field_by_name(field).is_some());
        let listed =
            tried.iter().any(|(tried, _)| *tried == name) || NOT_BY_ID.contains(&name.as_str());
        assert_eq!(takes_thread, listed, "{name}");
    }

    is_missing(&globex, &thread_id, message_id).await;
    assert_eq!(acme.get_thread(&thread_id).await, before);
    assert_eq!(acme.all_messages(&thread_id).await.len(), 2);

    // The same names mean another thread there.
    let own = globex
        .resolve(session(&app, "ada", &before.session_key))
        .await;
    assert_ne!(own.thread_id, thread_id);
    let request = ListThreadsRequest {
        target: target_app(&app),
        ..Default::default()
    };
    let listed = globex.call(request).await;
    assert_eq!(listed.threads.len(), 1);
    let request = ExportRecordsRequest {
        target: target_app(&app),
        ..Default::default()
    };
    let export = globex.transfers().export_records(request).await.unwrap();
    let records: Vec<_> = tokio_stream::StreamExt::collect(export.into_inner()).await;
    assert_eq!(records.len(), 2, "its own thread, without messages");

    let mut search = search_request("", "secret plugh", &stored.revision);
    search.target = target_app(&app);
    assert_eq!(globex.search(search.clone()).await.matches, []);
    let found = acme.search(search).await;
    assert!(texts(&found.matches).contains(&"My secret is plugh.".to_owned()));
}

#[apply(trial)]
async fn n15_no_user_sees_another_in_recall() {
    let client = acme().await;
    let app = app();
    let bobs = client.thread_of(&app, "bob").await;
    let said = client
        .append_turn(&bobs, "My blood type is AB negative.", "Understood, Bob.")
        .await;
    let adas = client.thread_of(&app, "ada").await;
    let own = client
        .append_turn(&adas, "My blood type is zero positive.", "Understood, Ada.")
        .await;
    assert_ne!(said.revision, own.revision);

    let question = "What is my blood type?";
    let mut recall = recall_request(&adas, question, &own.revision);
    recall.policy = Some(MemoryPolicy {
        recent_window: Some(0),
        ..Default::default()
    });
    let recalled = client.recall(recall).await;
    assert!(texts(&recalled.messages).contains(&"My blood type is zero positive.".to_owned()));
    assert!(
        recalled
            .messages
            .iter()
            .all(|hit| hit.message.as_ref().unwrap().thread_id == adas)
    );

    // Bob's is in the index by now, or else the test would prove nothing.
    let mut search = search_request("", question, &said.revision);
    search.target = target_user(&app, "bob");
    let found = client.search(search.clone()).await;
    assert_eq!(found.degradations, []);
    assert!(texts(&found.matches).contains(&"My blood type is AB negative.".to_owned()));
    assert!(
        found
            .matches
            .iter()
            .all(|hit| hit.message.as_ref().unwrap().thread_id == bobs)
    );

    search.target = target_user(&app, "ada");
    let found = client.search(search).await;
    assert!(
        found
            .matches
            .iter()
            .all(|hit| hit.message.as_ref().unwrap().thread_id == adas)
    );

    // Only a search over the app, asked for as such, sees both.
    let mut search = search_request(&adas, question, &said.revision);
    search.scope = RecallScope::App.into();
    let found = texts(&client.search(search).await.matches);
    assert!(found.contains(&"My blood type is AB negative.".to_owned()));
    assert!(found.contains(&"My blood type is zero positive.".to_owned()));
}

#[apply(trial)]
async fn n15_a_global_thread_is_in_no_users_memory() {
    let client = acme().await;
    let app = app();
    let global = client.resolve(session(&app, "", "global")).await.thread_id;
    let said = client
        .append_text(&global, "The canteen closes at three.")
        .await;
    let without_user = client
        .resolve(session(&app, "", "thread:1"))
        .await
        .thread_id;
    let own = client
        .append_text(&without_user, "When does the canteen close?")
        .await;
    // A revision waits for its own thread alone.
    for (thread_id, revision) in [(&global, &said.revision), (&without_user, &own.revision)] {
        client
            .search(search_request(thread_id, "canteen", revision))
            .await;
    }
    // Neither thread has a user, so neither may reach the other.
    for (thread_id, revision, text) in [
        (&global, &own.revision, "The canteen closes at three."),
        (
            &without_user,
            &said.revision,
            "When does the canteen close?",
        ),
    ] {
        let mut search = search_request(thread_id, "canteen", revision);
        for scope in [RecallScope::Unspecified, RecallScope::User] {
            search.scope = scope.into();
            let found = client.search(search.clone()).await;
            assert_eq!(texts(&found.matches), [text], "{scope:?}");
        }
    }
    let mut search = search_request("", "canteen", &said.revision);
    search.target = target_user(&app, "bob");
    assert_eq!(client.search(search).await.matches, []);
}

#[apply(trial)]
async fn t15_recall_stays_within_the_app() {
    let client = acme().await;
    let (one, other) = (app(), app());
    let first = client
        .resolve(session(&one, "ada", "thread:1"))
        .await
        .thread_id;
    let second = client
        .resolve(session(&other, "ada", "thread:1"))
        .await
        .thread_id;
    let said = client
        .append_text(&first, "My locker number is 2203.")
        .await;
    for scope in [
        RecallScope::Unspecified,
        RecallScope::Thread,
        RecallScope::User,
        RecallScope::App,
    ] {
        let mut search = search_request(&second, "locker number 2203", &said.revision);
        search.scope = scope.into();
        assert_eq!(client.search(search).await.matches, [], "{scope:?}");
        let mut search = search_request(&first, "locker number 2203", &said.revision);
        search.scope = scope.into();
        assert_eq!(client.search(search).await.matches.len(), 1, "{scope:?}");
    }
}

#[apply(trial)]
async fn two_keys_of_a_tenant_see_the_same() {
    let (one, other) = (acme().await, SHARED.client(Key::AcmeToo).await);
    let thread_id = one.thread(&app()).await;
    one.append_turn(&thread_id, "Q", "A").await;
    assert_eq!(other.all_messages(&thread_id).await.len(), 2);
    assert_eq!(
        other.get_thread(&thread_id).await,
        one.get_thread(&thread_id).await
    );
}

#[apply(trial)]
async fn metadata_named_like_an_index_field_opens_nothing() {
    let (acme, globex) = (acme().await, SHARED.client(Key::Globex).await);
    let app = app();
    let victim = acme.thread_of(&app, "ada").await;
    let said = acme
        .append_text(&victim, "The vault opens with xyzzy.")
        .await;
    let thread = globex.thread_of(&app, "mallory").await;
    let names = [
        "tenant",
        "tenant_id",
        "app",
        "app_id",
        "user",
        "user_id",
        "thread",
        "thread_id",
    ];
    let claims: serde_json::Map<String, Value> = names
        .iter()
        .zip(["acme", "acme", &app, &app, "ada", "ada", &victim, &victim])
        .map(|(&name, value)| (name.to_owned(), json!(value)))
        .collect();
    let mut message = say(Role::User, "The vault opens with nothing of the kind.");
    message.metadata = recollect_tests::metadata(Value::Object(claims.clone()));
    let own = globex.append(&thread, vec![message]).await;

    // A filter on such a key is one on the caller's own metadata.
    for (key, value) in &claims {
        let mut search = search_request(&thread, "vault opens with", &own.revision);
        search.scope = RecallScope::App.into();
        search.filter = Some(memory_contract::proto::MessageFilter {
            metadata: recollect_tests::metadata(json!({ key: value })),
            ..Default::default()
        });
        let found = texts(&globex.search(search).await.matches);
        assert_eq!(
            found,
            ["The vault opens with nothing of the kind."],
            "{key}"
        );
    }
    // Mallory's claims add nothing to another user's memory.
    for scope in [RecallScope::Thread, RecallScope::User, RecallScope::App] {
        let mut search = search_request(&victim, "vault opens with", &said.revision);
        search.scope = scope.into();
        let found = texts(&acme.search(search).await.matches);
        assert_eq!(found, ["The vault opens with xyzzy."], "{scope:?}");
    }
    // A path is a key like any other, and no message has one of these.
    for path in [
        "meta.tenant",
        "tenant[]",
        "a.b",
        "",
        "ключ",
        "a b",
        "\"tenant\"",
    ] {
        let mut search = search_request(&thread, "vault", &own.revision);
        search.filter = Some(memory_contract::proto::MessageFilter {
            metadata: recollect_tests::metadata(json!({ path: "acme" })),
            ..Default::default()
        });
        assert_eq!(globex.search(search).await.matches, [], "{path}");
    }
}
