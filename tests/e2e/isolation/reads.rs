//! Tenants, users and apps never see one another.

use memory_contract::proto::{
    ExportMessagesRequest, ListThreadsRequest, RecallScope, Role, UserRef,
};
use recollect_tests::{
    Dynamic, Key, Refused as _, SHARED, app, apply, recall_request, say, search_request, session,
    texts, trial, turn,
};
use serde_json::{Value, json};
use tonic::Code;

use crate::acme;

/// A good request of each method that names a thread by its id.
pub fn requests_for(thread_id: &str, message_id: &str) -> Vec<(&'static str, Value)> {
    let with = |more: Value| {
        let mut request = json!({"thread_id": thread_id});
        let fields = request.as_object_mut().unwrap();
        fields.extend(more.as_object().unwrap().clone());
        request
    };
    let mask = json!({"title": "mine", "update_mask": "title"});
    let said = json!({"messages": [{"role": "ROLE_USER", "parts": [{"text": "hi"}]}]});
    let message = json!({"message_id": message_id});
    let query = json!({"query": "secret"});
    vec![
        ("ThreadService/GetThread", with(json!({}))),
        ("ThreadService/UpdateThread", with(mask)),
        ("ThreadService/ClearThread", with(json!({}))),
        ("ThreadService/DeleteThread", with(json!({}))),
        ("ThreadService/ListBranches", with(json!({}))),
        (
            "ThreadService/SetHead",
            with(json!({"head_message_id": message_id})),
        ),
        ("ThreadService/WatchThread", with(json!({}))),
        ("PolicyService/GetEffectivePolicy", with(json!({}))),
        ("MessageService/AppendMessages", with(said)),
        ("MessageService/GetMessage", with(message.clone())),
        ("MessageService/ListMessages", with(json!({}))),
        ("MessageService/GetHistory", with(json!({}))),
        ("MessageService/DeleteMessage", with(message)),
        ("MessageService/ExportMessages", with(json!({}))),
        ("RecallService/Recall", with(query.clone())),
        ("RecallService/Search", with(query)),
        ("ContextService/BuildContext", with(json!({}))),
        ("NodeMemoryService/ListNodeMemories", with(json!({}))),
        (
            "PlanService/PutPlan",
            with(json!({"plan": {"goal": "g"}, "etag": "*"})),
        ),
        ("PlanService/GetPlan", with(json!({}))),
        (
            "PlanService/UpdatePlanStep",
            with(json!({"step_id": "1", "current_phase": "mine"})),
        ),
        ("PlanService/DeletePlan", with(json!({}))),
        (
            "PlanService/AppendIteration",
            with(json!({"iteration": {"action": "a"}})),
        ),
        ("PlanService/ListIterations", with(json!({}))),
        ("PlanService/BuildBriefing", with(json!({"task": "Go on."}))),
        (
            "LedgerService/ListLedger",
            with(json!({"kind": "LEDGER_KIND_SUMMARY"})),
        ),
        ("LedgerService/VerifyThread", with(json!({}))),
        ("ObservationService/GetObservations", with(json!({}))),
        ("WorkingMemoryService/GetWorkingMemory", with(json!({}))),
        (
            "WorkingMemoryService/PutWorkingMemory",
            with(json!({"context": "mine", "etag": "*"})),
        ),
        (
            "WorkingMemoryService/UpdateWorkingMemoryData",
            with(json!({"patch": {"mine": true}})),
        ),
        ("WorkingMemoryService/DeleteWorkingMemory", with(json!({}))),
        ("AdminService/Reindex", with(json!({}))),
    ]
}

#[apply(trial)]
async fn n15_no_tenant_sees_another() {
    let (acme, globex) = (acme().await, SHARED.client(Key::Globex).await);
    let app = app();
    let thread_id = acme.thread(&app).await;
    let stored = acme
        .append(&thread_id, turn("My secret is plugh.", "I keep it."))
        .await;
    let message_id = stored.messages[0].message_id.as_str();
    let before = acme.get_thread(&thread_id).await;

    // A method that takes a thread's id and is not in the table is a gap.
    let tried = requests_for(&thread_id, message_id);
    for method in Dynamic::methods() {
        let name = Dynamic::name(&method);
        let takes_thread = method.input().get_field_by_name("thread_id").is_some();
        // What was done to a thread outlives it, so an unknown one is no error
        // there; `access` tests that another tenant's list is empty.
        let listed = tried.iter().any(|(tried, _)| *tried == name)
            || name == "AdminService/ListTransactions";
        assert_eq!(takes_thread, listed, "{name}");
    }

    let never = uuid::Uuid::new_v4().to_string();
    for (method, request) in tried {
        let text = request.to_string().replace(&thread_id, &never);
        let unknown: Value = serde_json::from_str(&text).unwrap();
        let foreign = Dynamic::call(&globex, method, request).await.refused();
        let unknown = Dynamic::call(&globex, method, unknown).await.refused();
        assert_eq!(foreign, unknown, "{method} tells the two apart");
        foreign.is(Code::NotFound, "THREAD_NOT_FOUND");
    }
    assert_eq!(acme.get_thread(&thread_id).await, before);
    assert_eq!(acme.all_messages(&thread_id).await.len(), 2);

    // The same names mean another thread there.
    let own = globex
        .resolve(session(&app, "ada", &before.session_key))
        .await;
    assert_ne!(own.thread_id, thread_id);
    let request = ListThreadsRequest {
        app_id: app.clone(),
        ..Default::default()
    };
    let listed = globex.threads().list_threads(request).await.unwrap();
    assert_eq!(listed.into_inner().threads.len(), 1);
    let request = ExportMessagesRequest {
        app_id: app.clone(),
        ..Default::default()
    };
    let export = globex.messages().export_messages(request).await.unwrap();
    let records: Vec<_> = tokio_stream::StreamExt::collect(export.into_inner()).await;
    assert_eq!(records.len(), 2, "its own thread, without messages");

    let mut search = search_request("", "secret plugh", &stored.revision);
    search.scope = RecallScope::App.into();
    search.user = Some(UserRef {
        app_id: app.clone(),
        user_id: String::new(),
    });
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
        .append(
            &bobs,
            turn("My blood type is AB negative.", "Understood, Bob."),
        )
        .await;
    let adas = client.thread_of(&app, "ada").await;
    let own = client
        .append(
            &adas,
            turn("My blood type is zero positive.", "Understood, Ada."),
        )
        .await;
    assert_ne!(said.revision, own.revision);

    let question = "What is my blood type?";
    let mut recall = recall_request(&adas, question, &own.revision);
    recall.scope = RecallScope::User.into();
    recall.recent_window = Some(0);
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
    search.user = Some(UserRef {
        app_id: app.clone(),
        user_id: "bob".to_owned(),
    });
    let found = client.search(search.clone()).await;
    assert_eq!(found.degradations, []);
    assert!(texts(&found.matches).contains(&"My blood type is AB negative.".to_owned()));
    assert!(
        found
            .matches
            .iter()
            .all(|hit| hit.message.as_ref().unwrap().thread_id == bobs)
    );

    search.user.as_mut().unwrap().user_id = "ada".to_owned();
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
    let global = client
        .resolve(session(&app, "bob", "global"))
        .await
        .thread_id;
    let said = client
        .append(
            &global,
            vec![say(Role::User, "The canteen closes at three.")],
        )
        .await;
    let nobodys = client
        .resolve(session(&app, "", "thread:1"))
        .await
        .thread_id;
    let own = client
        .append(
            &nobodys,
            vec![say(Role::User, "When does the canteen close?")],
        )
        .await;
    // Nobody is known in either thread, so neither may reach the other.
    for (thread_id, revision, text) in [
        (&global, &own.revision, "The canteen closes at three."),
        (&nobodys, &said.revision, "When does the canteen close?"),
    ] {
        let mut search = search_request(thread_id, "canteen", revision);
        search.scope = RecallScope::User.into();
        assert_eq!(texts(&client.search(search).await.matches), [text]);
    }
    let mut search = search_request("", "canteen", &said.revision);
    search.user = Some(UserRef {
        app_id: app,
        user_id: "bob".to_owned(),
    });
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
        .append(&first, vec![say(Role::User, "My locker number is 2203.")])
        .await;
    for scope in [RecallScope::Thread, RecallScope::User, RecallScope::App] {
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
    one.append(&thread_id, turn("Q", "A")).await;
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
        .append(
            &victim,
            vec![say(Role::User, "The vault opens with xyzzy.")],
        )
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
    message.metadata = Some(recollect_tests::metadata(Value::Object(claims.clone())));
    let own = globex.append(&thread, vec![message]).await;

    // A filter on such a key is one on the caller's own metadata.
    for (key, value) in &claims {
        let mut search = search_request(&thread, "vault opens with", &own.revision);
        search.scope = RecallScope::App.into();
        search.filter = Some(memory_contract::proto::MessageFilter {
            metadata: Some(recollect_tests::metadata(json!({ key: value }))),
            ..Default::default()
        });
        let found = texts(&globex.search(search).await.matches);
        assert_eq!(
            found,
            ["The vault opens with nothing of the kind."],
            "{key}"
        );
    }
    // And what mallory claims puts nothing into another's memory.
    for scope in [RecallScope::Thread, RecallScope::User, RecallScope::App] {
        let mut search = search_request(&victim, "vault opens with", &said.revision);
        search.scope = scope.into();
        let found = texts(&acme.search(search).await.matches);
        assert_eq!(found, ["The vault opens with xyzzy."], "{scope:?}");
    }
    // A path instead of a key is no key.
    for path in ["meta.tenant", "a[]", "a.b", "", "ключ", "a b", "\"tenant\""] {
        let mut search = search_request(&thread, "vault", "");
        search.filter = Some(memory_contract::proto::MessageFilter {
            metadata: Some(recollect_tests::metadata(json!({ path: "acme" }))),
            ..Default::default()
        });
        let refused = globex.recalls().search(search).await.refused();
        refused.names_field("filter.metadata");
    }
}
