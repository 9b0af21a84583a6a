//! Whose changes a subscription delivers, and which keys may see it.

use std::collections::BTreeSet;

use memory_contract::convert::action_name;
use memory_contract::proto::{
    CreateApiKeyRequest, CreateSubscriptionRequest, GetSubscriptionRequest, KeyBounds, KeyScope,
    ListSubscriptionsRequest, StreamEventsRequest, SubscriptionEvent,
};
use recollect_tests::{Client, Dynamic, Key, Server, apply, eventually, trial_with_own_server};
use serde_json::{Value, json};
use tokio::time::timeout;
use tokio_postgres::NoTls;
use tonic::Code;

use super::{SOON, get, options};

/// A connection to the database of a server.
pub async fn database(url: &str) -> tokio_postgres::Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

async fn subscribe(client: &Client, name: &str, app: &str, user: &str) {
    let request = CreateSubscriptionRequest {
        name: name.to_owned(),
        app_id: app.to_owned(),
        user_id: user.to_owned(),
        ..Default::default()
    };
    client.call(request).await;
}

/// All events that wait, at most 100, without acknowledging them.
async fn waiting(client: &Client, name: &str) -> Vec<SubscriptionEvent> {
    let request = StreamEventsRequest {
        name: name.to_owned(),
    };
    let begun = client.subscriptions().stream_events(request).await;
    let mut events = begun.unwrap().into_inner();
    let batch = timeout(SOON, events.message()).await;
    batch.expect("an event waits").unwrap().unwrap().events
}

/// Actions and users.
fn shown(events: &[SubscriptionEvent]) -> Vec<(String, &str)> {
    let shown = events
        .iter()
        .map(|event| (action_name(event.action()), event.user_id.as_str()));
    shown.collect()
}

/// Changes of each kind of owner: a thread, memories, documents, an app, the tenant.
async fn change(client: &Client, app: &str, user: &str) {
    let thread_id = client.thread_of(app, user).await;
    client.append_text(&thread_id, "hello").await;
    let owner = json!({"app_id": app, "user_id": user});
    for (method, request) in [
        (
            "MemoryService/AddMemories",
            json!({"user": owner, "memories": [{"text": format!("Likes {user}.")}]}),
        ),
        (
            "DocumentService/PutDocuments",
            json!({"user": owner, "documents": [{"namespace": ["n"], "key": "k", "json": "{}"}]}),
        ),
        (
            "DocumentService/DeleteDocuments",
            json!({"user": owner, "documents": [
                {"namespace": ["n"], "key": "k"},
                {"namespace": ["n"], "key": "missing"},
            ]}),
        ),
        (
            "PolicyService/UpdateAppPolicy",
            json!({"app_policy": {"app_id": app, "policy": {"top_k": 9}}}),
        ),
        (
            "FileService/RegisterFile",
            json!({"file": {"upload_file_id": format!("{app}-{user}"), "type": 1, "storage_key": "k"}}),
        ),
    ] {
        Dynamic::call(client, method, request).await.unwrap();
    }
}

const OF_A_USER: [&str; 5] = [
    "create_thread",
    "append_messages",
    "add_memories",
    "put_documents",
    "delete_documents",
];

#[apply(trial_with_own_server)]
async fn f09_a_subscription_gets_the_changes_of_its_app_or_user_alone() {
    let (_dir, server, client) = Server::start_own(&options()).await;
    let globex = server.client(Key::Globex).await;
    subscribe(&client, "all", "", "").await;
    subscribe(&client, "shop", "shop", "").await;
    subscribe(&client, "ada", "shop", "ada").await;
    subscribe(&client, "ada-everywhere", "", "ada").await;
    subscribe(&globex, "all", "", "").await;
    for (app, user) in [("shop", "ada"), ("shop", "bob"), ("bank", "ada")] {
        change(&client, app, user).await;
    }
    let of = |user: &'static str| OF_A_USER.map(|action| (action.to_owned(), user));
    let ada = waiting(&client, "ada").await;
    assert_eq!(shown(&ada), of("ada"));
    assert!(ada.iter().all(|event| event.app_id == "shop"));
    let everywhere = waiting(&client, "ada-everywhere").await;
    assert_eq!(shown(&everywhere), [of("ada"), of("ada")].concat());
    let shop = waiting(&client, "shop").await;
    let policy = || ("update_app_policy".to_owned(), "");
    let expected = [of("ada").as_slice(), &[policy()], &of("bob"), &[policy()]].concat();
    assert_eq!(shown(&shop), expected);
    let all = waiting(&client, "all").await;
    let kinds: BTreeSet<String> = shown(&all).into_iter().map(|(action, _)| action).collect();
    assert!(
        kinds.contains("register_file") && kinds.contains("create_subscription"),
        "{kinds:?}"
    );
    // Another tenant's are its own.
    assert_eq!(get(&globex, "all").await.waiting_count, 0);
}

#[apply(trial_with_own_server)]
async fn f22_the_erasure_of_what_deleted_files_leave_is_an_event() {
    let (_dir, _server, client) = Server::start_own(&options()).await;
    subscribe(&client, "ada", "shop", "ada").await;
    let file = json!({"user": {"app_id": "shop", "user_id": "ada"}, "path": "/notes.md"});
    let with = |name: &str, value: Value| {
        let mut request = file.clone();
        request[name] = value;
        request
    };
    for (method, request) in [
        ("MemoryFileService/PutMemoryFile", with("text", json!("x"))),
        ("MemoryFileService/DeleteMemoryFile", file.clone()),
        (
            "MemoryFileService/DeleteMemoryFile",
            with("erase_versions", json!(true)),
        ),
    ] {
        Dynamic::call(&client, method, request).await.unwrap();
    }
    let events = waiting(&client, "ada").await;
    let expected = [
        "put_memory_file",
        "delete_memory_file",
        "delete_memory_file",
    ];
    assert_eq!(
        shown(&events),
        expected.map(|action| (action.to_owned(), "ada"))
    );
    assert!(events.iter().all(|event| event.app_id == "shop"));
}

#[apply(trial_with_own_server)]
async fn f09_a_bound_key_reaches_subscriptions_within_its_bounds() {
    let (_dir, server, client) = Server::start_own(&options()).await;
    let request = CreateApiKeyRequest {
        name: "bound".to_owned(),
        scopes: vec![KeyScope::Read.into(), KeyScope::Write.into()],
        bounds: Some(KeyBounds {
            app_ids: vec!["shop".to_owned()],
            ..Default::default()
        }),
        ..Default::default()
    };
    let secret = client.call(request).await.secret;
    let header = format!("Bearer {secret}");
    let bound = Client::with_authorization(&server.ready().addr, Some(&header)).await;
    for (name, app, user) in [
        ("all", "", ""),
        ("shop", "shop", ""),
        ("ada", "shop", "ada"),
        ("bank", "bank", ""),
    ] {
        subscribe(&client, name, app, user).await;
    }
    // The changes of a bound caller are delivered to others.
    let thread_id = bound.thread_of("shop", "ada").await;
    bound.append_text(&thread_id, "hello").await;
    for name in ["all", "shop", "ada"] {
        let events = waiting(&client, name).await;
        let actions = shown(&events).into_iter().map(|(action, _)| action);
        assert!(
            actions
                .into_iter()
                .any(|action| action == "append_messages"),
            "{name}"
        );
    }
    let listed = bound.call(ListSubscriptionsRequest {}).await.subscriptions;
    let listed: Vec<&str> = listed.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(listed, ["ada", "shop"]);
    for name in ["all", "bank"] {
        let request = GetSubscriptionRequest {
            name: name.to_owned(),
        };
        let failure = bound.refused(request).await;
        failure.is(Code::NotFound, "SUBSCRIPTION_NOT_FOUND");
        let request = StreamEventsRequest {
            name: name.to_owned(),
        };
        let refused = bound.subscriptions().stream_events(request).await;
        assert_eq!(refused.unwrap_err().code(), Code::NotFound);
    }
    let ada = waiting(&bound, "ada").await;
    assert_eq!(
        shown(&ada).last().unwrap(),
        &("append_messages".to_owned(), "ada")
    );
}

#[apply(trial_with_own_server)]
async fn f09_the_deletion_of_a_user_leaves_only_its_own_event() {
    let (_dir, _server, client) = Server::start_own(&options()).await;
    subscribe(&client, "all", "", "").await;
    subscribe(&client, "ada", "shop", "ada").await;
    for user in ["ada", "bob"] {
        change(&client, "shop", user).await;
    }
    client.delete_user("shop", "ada").await;
    eventually("only the deletion is left", SOON, async || {
        let events = waiting(&client, "ada").await;
        shown(&events) == [("delete_user".to_owned(), "ada")]
    })
    .await;
    let all = waiting(&client, "all").await;
    let of_ada = shown(&all).into_iter().filter(|(_, user)| *user == "ada");
    assert_eq!(
        of_ada.collect::<Vec<_>>(),
        [("delete_user".to_owned(), "ada")]
    );
    assert!(shown(&all).iter().any(|(_, user)| *user == "bob"));
}
