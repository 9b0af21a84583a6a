//! Keys that are bound to apps or users reach nothing else.

use std::collections::BTreeSet;

use memory_contract::proto::{
    CreateApiKeyRequest, ExtractionStrategy, KeyBounds, KeyScope, MemoryPolicy,
};
use recollect_tests::{
    Client, Dynamic, Http, Mcp, PLAIN, SOON, VALID_REQUESTS, app, apply, eventually, recollect,
    trial, turn,
};
use serde_json::{Value, json};
use tonic::{Code, Status};

use super::caller;
use crate::plain;

/// Valid requests of the methods that `VALID_REQUESTS` leaves out.
const OTHERS: &str = r#"
AdminService/CompareIndexes {}
AdminService/DeleteUser {"user": {"app_id": "fuzz", "user_id": "ada"}}
AdminService/DeleteUser {"user_of_all_apps": "ada"}
AdminService/DeleteApp {"app": {"app_id": "fuzz"}}
AdminService/DeleteTenant {"tenant": "acme"}
AdminService/GetDeletion {"deletion_id": "$DELETION"}
AdminService/GetDeletionStatus {}
AdminService/GetDistillStatus {}
AdminService/GetIndexStatus {}
AdminService/GetNodeMemoryStatus {}
AdminService/GetServerInfo {}
AdminService/ListDeletions {}
"#;

/// What a user has, whose names and ids requests mention.
struct Person {
    app: String,
    user: String,
    names: Vec<(&'static str, String)>,
}

impl Person {
    /// A user with a thread and a memory, who was deleted before.
    async fn who_came_back(admin: &Client, app: &str, user: &str) -> Self {
        let deletion = admin.delete_user(app, user).await;
        admin.finished(&deletion, 4 * SOON).await;
        let mut person = Self::new(admin, app, user).await;
        person.names.push(("$DELETION", deletion.deletion_id));
        person
    }

    /// A user with a thread and a memory.
    async fn new(admin: &Client, app: &str, user: &str) -> Self {
        let owner = json!({ "app_id": app, "user_id": user });
        let session = json!({ "app_id": app, "user_id": user, "session_key": "k" });
        let text = |text: String| json!([{ "text": text }]);
        let image = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
        let stored = json!({
            "thread": { "session": session },
            "messages": [
                { "role": 1, "parts": text(format!("The vault code of {user} is 4471.")) },
                { "role": 2, "parts": [{ "text": "Noted." }, { "file": { "type": 1, "url": image } }] },
            ],
        });
        let stored = answer(admin, "MessageService/AppendMessages", stored).await;
        let memory = json!({ "user": owner, "memories": [{ "text": format!("Keeps code 4471 of {user}.") }] });
        let memory = answer(admin, "MemoryService/AddMemories", memory).await;
        let id = |value: &Value| value.as_str().unwrap().to_owned();
        let names = vec![
            ("$THREAD", id(&stored["thread_id"])),
            ("$MESSAGE", id(&stored["messages"][0]["message_id"])),
            ("$REPLY", id(&stored["messages"][1]["message_id"])),
            ("$MEMORY", id(&memory["memories"][0]["memory"]["memory_id"])),
            ("$KEY", "k".to_owned()),
            ("$UUID", "0198c1de-3e07-7a4b-9a56-0d6f3a5b8c11".to_owned()),
            ("$NEW", format!("new-{user}")),
            ("\"fuzz\"", format!("{app:?}")),
            ("\"ada\"", format!("{user:?}")),
        ];
        let (app, user) = (app.to_owned(), user.to_owned());
        Self { app, user, names }
    }

    /// Valid requests about this user.
    fn requests(&self) -> Vec<(&'static str, Value)> {
        let names: Vec<_> = self
            .names
            .iter()
            .map(|(name, id)| (*name, id.as_str()))
            .collect();
        let tables = [VALID_REQUESTS, OTHERS];
        let requests = tables.map(|table| Dynamic::requests(table, &names));
        let requests = requests.into_iter().flatten();
        requests
            .map(|(method, request, _)| (method, request))
            .collect()
    }

    /// All that the user has.
    async fn exported(&self, admin: &Client) -> Vec<Value> {
        let target = json!({ "user": { "app_id": self.app, "user_id": self.user } });
        let exported = Dynamic::call(
            admin,
            "TransferService/ExportRecords",
            json!({ "target": target }),
        );
        let mut records = exported.await.unwrap().into_inner();
        for record in &mut records {
            // The worker sets it.
            if let Some(memory) = record.pointer_mut("/record/memory") {
                memory.as_object_mut().unwrap().remove("persist_time");
            }
        }
        records
    }
}

async fn answer(client: &Client, method: &str, request: Value) -> Value {
    let answered = Dynamic::call(client, method, request).await;
    let mut answers = answered
        .unwrap_or_else(|error| panic!("{method}: {error}"))
        .into_inner();
    answers.remove(0)
}

/// The secret of a new key with these bounds.
async fn bound(admin: &Client, bounds: KeyBounds) -> String {
    let request = CreateApiKeyRequest {
        name: format!("bound-{}", app()),
        bounds: Some(bounds),
        ..Default::default()
    };
    admin.call(request).await.secret
}

fn to_user(app: &str, user: &str) -> KeyBounds {
    KeyBounds {
        app_ids: vec![app.to_owned()],
        user_ids: vec![user.to_owned()],
        ..Default::default()
    }
}

fn is_out_of_bounds(status: &Status) -> bool {
    let details = String::from_utf8_lossy(status.details());
    status.code() == Code::PermissionDenied && details.contains("OUT_OF_BOUNDS")
}

#[apply(trial)]
async fn a_key_of_one_user_reaches_nobody_else_by_any_method() {
    let admin = plain().await;
    let app = app();
    let ada = Person::who_came_back(&admin, &app, "ada").await;
    let before = ada.exported(&admin).await;
    assert!(format!("{before:?}").contains("4471"));
    let secret = bound(&admin, to_user(&app, "bea")).await;
    let bea = caller(&PLAIN.ready().addr, &secret).await;
    let mut called = BTreeSet::new();
    for (method, request) in ada.requests() {
        called.insert(method.to_owned());
        let refused = match Dynamic::call(&bea, method, request.clone()).await {
            // It lists what is within the key's bounds.
            Ok(answer) if method == "SubscriptionService/ListSubscriptions" => {
                assert_eq!(answer.into_inner(), [json!({})]);
                continue;
            }
            Ok(answer) => panic!("{method} {request} answered {:?}", answer.into_inner()),
            Err(refused) => refused,
        };
        // Content is named by its digest, and this URL has none.
        let by_digest = method == "FileService/GetFileContent";
        let code = refused.code();
        assert!(
            matches!(code, Code::PermissionDenied | Code::NotFound)
                || by_digest && code == Code::InvalidArgument,
            "{method} {request}: {refused}"
        );
        assert!(!refused.message().contains("4471"), "{refused}");
    }
    let all: BTreeSet<String> = Dynamic::methods().iter().map(Dynamic::name).collect();
    assert_eq!(called, all);
    let after = ada.exported(&admin).await;
    for (before, after) in before.iter().zip(&after) {
        assert_eq!(before, after);
    }
    assert_eq!(before.len(), after.len());
}

#[apply(trial)]
async fn a_key_of_one_user_makes_every_call_about_this_user() {
    let admin = plain().await;
    let app = app();
    let bea = Person::who_came_back(&admin, &app, "bea").await;
    let secret = bound(&admin, to_user(&app, "bea")).await;
    let client = caller(&PLAIN.ready().addr, &secret).await;
    let mut refused = BTreeSet::new();
    let mut answered = 0;
    let mut requests = bea.requests();
    requests.sort_by_key(|(method, _)| method.contains("/Delete") || method.contains("/Clear"));
    for (method, request) in requests {
        // Its answer has no end.
        if [
            "ThreadService/WatchThread",
            "SubscriptionService/StreamEvents",
        ]
        .contains(&method)
        {
            continue;
        }
        match Dynamic::call(&client, method, request.clone()).await {
            Ok(_) => answered += 1,
            Err(status) if is_out_of_bounds(&status) => drop(refused.insert(method)),
            // The key has no scope `admin`; an earlier request may have made or deleted what this one
            // names.
            Err(status) => assert!(
                [
                    Code::PermissionDenied,
                    Code::NotFound,
                    Code::InvalidArgument,
                    Code::FailedPrecondition,
                    Code::AlreadyExists,
                    Code::Aborted,
                ]
                .contains(&status.code()),
                "{method} {request}: {status}"
            ),
        }
    }
    assert!(answered > 50, "{answered}");
    let whole_tenant_or_app_or_import = [
        "AdminService/DeleteApp",
        "AdminService/DeleteUser",
        "AdminService/GetDeletionStatus",
        "AdminService/GetDistillStatus",
        "AdminService/GetIndexStatus",
        "AdminService/GetModelUsage",
        "AdminService/GetNodeMemoryStatus",
        "AdminService/GetServerInfo",
        "AdminService/ListDeadLetters",
        "AdminService/ListDeletions",
        "FileService/DeleteFile",
        "FileService/GetFile",
        "FileService/ListFiles",
        "FileService/RegisterFile",
        "MessageService/ImportMessages",
        "PolicyService/DeleteAppPolicy",
        "PolicyService/GetAppPolicy",
        "PolicyService/ListAppPolicies",
        "PolicyService/UpdateAppPolicy",
        "ThreadService/ListApps",
        "ThreadService/ListUsers",
        "TransferService/ImportRecords",
    ];
    assert_eq!(
        refused.into_iter().collect::<Vec<_>>(),
        whole_tenant_or_app_or_import
    );
}

#[apply(trial)]
async fn files_of_messages_are_read_within_the_bounds_only() {
    let admin = plain().await;
    let app = app();
    let ada = Person::new(&admin, &app, "ada").await;
    let thread = json!({ "thread": { "thread_id": ada.names[0].1 } });
    let history = answer(&admin, "MessageService/GetHistory", thread).await;
    let url = history["messages"][1]["parts"][1]["file"]["url"].clone();
    assert!(url.as_str().unwrap().starts_with("ni:"), "{history}");
    for (user, reads) in [("ada", true), ("bea", false)] {
        let secret = bound(&admin, to_user(&app, user)).await;
        let client = caller(&PLAIN.ready().addr, &secret).await;
        let read =
            Dynamic::call(&client, "FileService/GetFileContent", json!({ "url": url })).await;
        let code = read.err().map(|status| status.code());
        assert_eq!(code, (!reads).then_some(Code::NotFound), "{user}");
    }
}

#[apply(trial)]
async fn a_key_of_apps_by_prefix_reaches_all_their_users_and_no_other_app() {
    let admin = plain().await;
    let (prefix, other) = (app(), app());
    let shop = format!("{prefix}-shop");
    Person::new(&admin, &shop, "ada").await;
    Person::new(&admin, &shop, "").await;
    Person::new(&admin, &other, "ada").await;
    let bounds = KeyBounds {
        app_id_prefixes: vec![format!("{prefix}-")],
        ..Default::default()
    };
    let client = caller(&PLAIN.ready().addr, &bound(&admin, bounds).await).await;
    let listed = answer(
        &client,
        "ThreadService/ListUsers",
        json!({ "app_id": shop }),
    )
    .await;
    assert_eq!(listed["users"].as_array().unwrap().len(), 2);
    let target = |app: &str| json!({ "target": { "app": { "app_id": app } } });
    let threads = answer(&client, "ThreadService/ListThreads", target(&shop)).await;
    assert_eq!(threads["threads"].as_array().unwrap().len(), 2);
    let policy = json!({ "app_policy": { "app_id": shop, "policy": { "top_k": 3 } }, "update_mask": "policy" });
    answer(&client, "PolicyService/UpdateAppPolicy", policy).await;
    for (method, request) in [
        ("ThreadService/ListUsers", json!({ "app_id": other })),
        ("ThreadService/ListThreads", target(&other)),
        ("ThreadService/ListThreads", json!({})),
        ("ThreadService/ListApps", json!({})),
        (
            "AdminService/DeleteUser",
            json!({ "user_of_all_apps": "ada" }),
        ),
    ] {
        let refused = Dynamic::call(&client, method, request).await.unwrap_err();
        assert!(is_out_of_bounds(&refused), "{method}: {refused}");
    }
}

#[apply(trial)]
async fn shared_conversations_are_out_of_reach_of_a_key_of_one_user() {
    let admin = plain().await;
    let app = app();
    let policy = json!({ "app_policy": { "app_id": app, "policy": { "shared_session_default": true } }, "update_mask": "policy" });
    answer(&admin, "PolicyService/UpdateAppPolicy", policy).await;
    let client = caller(
        &PLAIN.ready().addr,
        &bound(&admin, to_user(&app, "bea")).await,
    )
    .await;
    let named = |session: Value| json!({ "thread": { "session": session }, "messages": [{ "role": 1, "parts": [{ "text": "x" }] }] });
    for session in [
        json!({ "app_id": app, "session_key": "global" }),
        json!({ "app_id": app, "session_key": "user:ada" }),
        // The app's policy makes it the conversation of all users.
        json!({ "app_id": app, "user_id": "bea" }),
    ] {
        let request = named(session.clone());
        let refused = Dynamic::call(&client, "MessageService/AppendMessages", request).await;
        let refused = refused.unwrap_err();
        assert!(is_out_of_bounds(&refused), "{session}: {refused}");
    }
    let own = named(json!({ "app_id": app, "user_id": "bea", "session_key": "user:bea" }));
    answer(&client, "MessageService/AppendMessages", own).await;
}

#[apply(trial)]
async fn bounds_hold_over_http_and_mcp() {
    let admin = plain().await;
    let app = app();
    Person::new(&admin, &app, "ada").await;
    let bearer = format!("Bearer {}", bound(&admin, to_user(&app, "bea")).await);
    let http = Http::with_authorization(&PLAIN.ready().addr, Some(bearer));
    let request = |user: &str| json!({ "target": { "user": { "appId": app, "userId": user } } });
    let list = "ThreadService/ListThreads";
    let refused = http.call(list, &request("ada")).await;
    assert_eq!(refused.status, 403, "{:?}", refused.json());
    assert!(refused.json().to_string().contains("OUT_OF_BOUNDS"));
    assert_eq!(http.call(list, &request("bea")).await.ok(), json!({}));
    let search = json!({ "query": "vault code" });
    let mcp = Mcp::http_as(http.clone(), Some(&app), Some("ada"));
    let refused = mcp.tool_error("recall", search.clone()).await;
    assert!(
        refused.contains("bound to other apps or users"),
        "{refused}"
    );
    let own = Mcp::http_as(http, Some(&app), Some("bea"));
    let found = own.tool("recall", search).await;
    assert!(!found.to_string().contains("4471"), "{found}");
}

#[apply(trial)]
async fn bounds_are_listed_and_never_hold_an_administrator() {
    let admin = plain().await;
    let bounds = KeyBounds {
        user_id_prefixes: vec!["eu-".to_owned()],
        ..Default::default()
    };
    let request = |scopes: &[KeyScope], bounds: KeyBounds| CreateApiKeyRequest {
        name: format!("bound-{}", app()),
        scopes: scopes.iter().map(|&scope| scope.into()).collect(),
        bounds: Some(bounds),
        ..Default::default()
    };
    let made = admin.call(request(&[KeyScope::Read], bounds.clone())).await;
    assert_eq!(made.api_key.unwrap().bounds, Some(bounds.clone()));
    let administrator = request(&[KeyScope::Admin], bounds.clone());
    admin.refused(administrator).await.names_field("scopes");
    let nobody = request(&[KeyScope::Read], KeyBounds::default());
    admin.refused(nobody).await.names_field("bounds");
    let empty = KeyBounds {
        user_ids: vec![String::new()],
        ..bounds
    };
    let empty = request(&[KeyScope::Read], empty);
    admin.refused(empty).await.names_field("bounds.user_ids[0]");
}

#[apply(trial)]
async fn a_key_of_one_user_extracts_and_lists_memories_of_this_user() {
    let admin = plain().await;
    let app = app();
    let policy = MemoryPolicy {
        extraction: ExtractionStrategy::Discrete.into(),
        ..Default::default()
    };
    admin.set_policy(&app, policy).await;
    let thread_id = admin.thread_of(&app, "bea").await;
    let said = turn("I live in Bergen.", "How nice.");
    admin.append(&thread_id, said).await;
    let secret = bound(&admin, to_user(&app, "bea")).await;
    let addr = format!("http://{}", PLAIN.ready().addr);
    let env = [
        ("RECOLLECT_ADDR", addr.as_str()),
        ("RECOLLECT_API_KEY", secret.as_str()),
    ];
    let args = ["memory", "extract", &thread_id, "--wait", "30s"];
    eventually("the fact is extracted", SOON, async || {
        recollect(&args, &env).ok().stdout.contains("Bergen")
    })
    .await;
}
