//! Users, apps and tenants are deleted everywhere, with a receipt.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base64::Engine as _;
use memory_contract::proto::{
    AppRef, AppendMessagesRequest, CreateApiKeyRequest, DeleteAppRequest, DeleteTenantRequest,
    DeleteUserRequest, Deletion, GetDeletionRequest, KeyScope, ListDeletionsRequest,
    ListTransactionsRequest, TransactionAction, delete_user_request,
};
use memory_testing::files_with;
use recollect_tests::{
    Client, Cluster, DataDir, Dynamic, Key, Options, Refused as _, SOON, Server, app, apply,
    by_session, erased, eventually, eventually_some, memory_search, memory_texts, node,
    recollect_at, search_request, session, trial_with_own_server, turn,
};
use serde_json::json;
use tonic::Code;
use uuid::Uuid;

use super::held::database;

const PLAIN: &str = "embedding.kind = \"none\"";
/// The tables that a user's data is planted in.
const PLANTED: [&str; 19] = [
    "agent_events",
    "branches",
    "checkpoint_chunks",
    "checkpoint_values",
    "checkpoint_writes",
    "checkpoints",
    "contents",
    "documents",
    "attempts",
    "memories",
    "messages",
    "node_memories",
    "node_messages",
    "plans",
    "requests",
    "subscription_events",
    "threads",
    "working_memories",
    "working_records",
];

/// How long a deletion may take.
const DELETION: Duration = Duration::from_secs(4 * SOON.as_secs());

/// Calls a method that has to succeed.
async fn call(client: &Client, method: &str, request: serde_json::Value) {
    if let Err(status) = Dynamic::call(client, method, request).await {
        panic!("{method}: {status:?}");
    }
}

/// Bytes as JSON has them.
fn base64(text: &str) -> String {
    base64::engine::general_purpose::STANDARD.encode(text)
}

/// Writes a mark wherever a user's data can be.
async fn plant(client: &Client, app: &str, user: &str, mark: &str) {
    // No mark: events have no content.
    let subscription = json!({"name": "all"});
    let created = Dynamic::call(
        client,
        "SubscriptionService/CreateSubscription",
        subscription,
    );
    if let Err(status) = created.await {
        assert_eq!(status.code(), Code::AlreadyExists, "{status:?}");
    }
    let names = json!({"app_id": app, "user_id": user, "session_key": format!("thread:{mark}")});
    let thread = json!({"session": names, "title": mark,
        "metadata": json!({"title": mark}).to_string()});
    call(client, "ThreadService/CreateThread", thread).await;
    let url = format!("data:text/plain,{mark}");
    let said = json!({
        "thread": {"session": names}, "request_id": Uuid::new_v4(),
        "messages": [
            {"role": "ROLE_USER", "name": mark, "external_id": mark,
             "metadata": json!({"color": mark}).to_string(),
             "parts": [{"text": format!("My {mark} is blue.")},
                       {"file": {"type": "FILE_TYPE_DOCUMENT", "url": url, "caption": mark}}]},
            {"role": "ROLE_ASSISTANT", "parts": [{"json": json!({"found": mark}).to_string()}]},
        ],
    });
    let stored = Dynamic::call(client, "MessageService/AppendMessages", said).await;
    let stored = stored.unwrap().into_inner().remove(0);
    let thread_id = stored["thread_id"].as_str().unwrap();
    let message_id = stored["messages"][0]["message_id"].as_str().unwrap();
    let memory = json!({
        "text": format!("Likes {mark}."), "external_id": mark, "topics": [mark], "entities": [mark],
        "metadata": json!({"color": mark}).to_string(), "source_message_ids": [message_id],
    });
    let owner = json!({"app_id": app, "user_id": user});
    let memories = json!({"user": owner, "memories": [memory]});
    call(client, "MemoryService/AddMemories", memories).await;
    let named = json!({"thread_id": thread_id});
    let working = json!({
        "thread": named, "summary": mark, "data": json!({"note": mark}).to_string(),
        "messages": [{"role": "ROLE_USER", "parts": [{"text": mark}],
                      "create_time": "2024-01-01T00:00:00Z"}],
        "memories": [{"text": format!("Has {mark}."), "external_id": format!("{mark}-2")}],
    });
    call(client, "WorkingMemoryService/PutWorkingMemory", working).await;
    let plan = json!({"goal": mark, "steps": [{"step_id": "1", "title": mark, "status": 2}],
                      "data": json!({"plan": mark}).to_string()});
    let plan = json!({"thread": named, "plan": plan});
    call(client, "PlanService/PutPlan", plan).await;
    let attempt = json!({"thread": named, "attempt": {"action": mark, "error": mark}});
    call(client, "PlanService/AppendAttempt", attempt).await;
    let events = json!({"thread": named,
                        "events": [{"type": "tried", "json": json!({"what": mark}).to_string()}]});
    call(client, "EventService/AppendEvents", events).await;
    let document = json!({"namespace": [mark], "key": mark, "json": json!({"is": mark}).to_string(),
                          "index_fields": ["is"]});
    let documents = json!({"user": owner, "documents": [document]});
    call(client, "DocumentService/PutDocuments", documents).await;
    // In chunks.
    let large: String = (0..2_000).map(|n| format!("{n} {mark} ")).collect();
    let checkpoint = json!({
        "thread": named, "namespace": mark, "checkpoint_id": "c", "data": base64(mark),
        "metadata": json!({"is": mark}).to_string(),
        "values": [{"channel": mark, "version": "1", "data": base64(mark)},
                   {"channel": "large", "version": "1", "data": base64(&large)}],
    });
    call(client, "CheckpointService/PutCheckpoint", checkpoint).await;
    let written = json!({"task_id": mark, "channel": mark, "data": base64(mark)});
    let writes = json!({"thread": named, "checkpoint_id": "c", "writes": [written]});
    call(client, "CheckpointService/PutCheckpointWrites", writes).await;
    let planner = node(thread_id, "planner");
    let waiting = node(thread_id, "waiting");
    for node in [&planner, &waiting] {
        client.add_node_turn(node, mark, mark).await;
    }
    client.flush_node(&planner).await;
}

async fn count(database: &tokio_postgres::Client, sql: &str) -> i64 {
    database.query_one(sql, &[]).await.unwrap().get(0)
}

#[apply(trial_with_own_server)]
async fn b04_a_deleted_user_leaves_not_a_byte() {
    let options = Options::with(&[PLAIN, "worker.nodes.interval = \"100ms\""]);
    let (dir, server, client) = Server::start_own(&options).await;
    let url = server.ready().line["postgres"].as_str().unwrap();
    let database = database(url).await;
    let app = app();
    let mark = format!("zq{}", Uuid::new_v4().simple());
    let other = format!("zq{}", Uuid::new_v4().simple());
    for (user, mark) in [("ada", &mark), ("bob", &other)] {
        plant(&client, &app, user, mark).await;
    }
    // In the files of the index too, and in the statistics of the tables.
    eventually("all is indexed", SOON, async || {
        client.index_status().await.pending_count == 0
    })
    .await;
    let bob = session(&app, "bob", &format!("thread:{other}"));
    let bobs = client.resolve(bob).await;
    let known = client
        .search(search_request(&bobs.thread_id, &other, ""))
        .await;
    assert!(!known.matches.is_empty(), "before: {known:?}");
    database.batch_execute("ANALYZE").await.unwrap();
    assert!(!files_with(&dir.data().join("postgres"), mark.as_bytes()).is_empty());
    drop(database);

    let begun = client.delete_user(&app, "ada").await;
    assert_eq!(
        (begun.app_id.as_str(), begun.user_id()),
        (app.as_str(), "ada")
    );
    let receipt = client.finished(&begun, DELETION).await;
    assert!(receipt.storage_rewritten);
    for name in PLANTED {
        assert!(erased(&receipt, name) > 0, "{name} in {receipt:?}");
    }
    let shown = recollect_at(
        &server.ready().addr,
        Key::Acme,
        &["deletion", &receipt.deletion_id],
    )
    .ok();
    assert!(shown.stdout.contains("messages"), "{shown:?}");

    // The other user's data is all there.
    let memories = client.all_memories(&app, "bob").await;
    assert!(memories.len() >= 2, "{memories:?}");
    assert!(client.all_memories(&app, "ada").await.is_empty());
    let query = memory_search(&app, "bob", &other, "");
    let known = memory_texts(&client.search_memories(query).await);
    assert!(known.iter().any(|text| text.contains(&other)), "{known:?}");
    assert!(bobs.message_count >= 3, "{bobs:?}");
    let words = search_request(&bobs.thread_id, &other, "");
    let words = client.search(words).await;
    assert!(
        !words.matches.is_empty(),
        "the index has the other points: {words:?}"
    );

    // The deletion is in the record of changes.
    let listed = client.call(ListTransactionsRequest::default()).await;
    let noted = listed.transactions.iter().find(|one| {
        one.action() == TransactionAction::DeleteUser && one.subject == receipt.deletion_id
    });
    assert!(noted.is_some(), "{listed:?}");

    // A user of the same name begins with nothing.
    let afresh = client
        .resolve(session(&app, "ada", &format!("thread:{}", app)))
        .await;
    assert_eq!(afresh.message_count, 0);
    assert_eq!(client.deletion(&receipt.deletion_id).await, receipt);

    assert!(server.stop().await.success());
    let left = files_with(dir.path(), mark.as_bytes());
    assert!(left.is_empty(), "{left:?}");
    assert!(!files_with(&dir.data(), other.as_bytes()).is_empty());
}

#[apply(trial_with_own_server)]
async fn b04_a_user_is_deleted_in_all_apps_at_once() {
    let options = Options::with(&[PLAIN, "worker.nodes.interval = \"100ms\""]);
    let (_dir, server, client) = Server::start_own(&options).await;
    let database = database(server.ready().line["postgres"].as_str().unwrap()).await;
    let apps: Vec<String> = (0..3).map(|_| app()).collect();
    let mark = || format!("zq{}", Uuid::new_v4().simple());
    for app in &apps {
        plant(&client, app, "ada", &mark()).await;
    }
    plant(&client, &apps[0], "bob", &mark()).await;
    // An app in which the user has nothing but a document.
    let last = app();
    let document = json!({"namespace": ["n"], "key": "k", "json": "{}"});
    let documents = json!({"user": {"app_id": last, "user_id": "ada"}, "documents": [document]});
    call(&client, "DocumentService/PutDocuments", documents).await;
    let others = server.client(Key::Globex).await;
    plant(&others, &apps[0], "ada", &mark()).await;

    let nameless = DeleteUserRequest {
        target: Some(delete_user_request::Target::UserOfAllApps(String::new())),
    };
    let refused = client.refused(nameless).await;
    refused.names_field("user_of_all_apps");
    let begun = client.delete_user("", "ada").await;
    assert_eq!((begun.app_id.as_str(), begun.user_id()), ("", "ada"));
    let receipt = client.finished(&begun, DELETION).await;
    for name in PLANTED {
        assert!(erased(&receipt, name) >= 3, "{name} in {receipt:?}");
    }
    assert_eq!(erased(&receipt, "documents"), 4);
    let rows = |tenant: &str, user: &str| {
        format!(
            "SELECT (SELECT count(*) FROM recollect.threads t \
                WHERE t.tenant_id = '{tenant}' AND t.user_id = '{user}') \
             + (SELECT count(*) FROM recollect.memories m \
                WHERE m.tenant_id = '{tenant}' AND m.user_id = '{user}') \
             + (SELECT count(*) FROM recollect.documents d \
                WHERE d.tenant_id = '{tenant}' AND d.user_id = '{user}')"
        )
    };
    assert_eq!(count(&database, &rows("acme", "ada")).await, 0);
    assert!(count(&database, &rows("acme", "bob")).await > 0);
    assert!(count(&database, &rows("globex", "ada")).await > 0);
    let next = client.resolve(session(&apps[1], "ada", "chat")).await;
    assert_eq!(next.message_count, 0);
}

#[apply(trial_with_own_server)]
async fn b04_appends_during_a_deletion_are_erased_or_refused() {
    let (_dir, server, client) = Server::start_own(&Options::with(&[PLAIN])).await;
    let database = database(server.ready().line["postgres"].as_str().unwrap()).await;
    let app = app();
    let began = AtomicBool::new(false);
    let write = async |writer: usize| {
        let (mut stored, mut number) = (0_i64, 0);
        loop {
            number += 1;
            let request = AppendMessagesRequest {
                thread: by_session(session(&app, "ada", &format!("thread:{writer}-{number}"))),
                messages: turn("Q", "A"),
                ..Default::default()
            };
            let answer = client.messages().append_messages(request).await;
            match answer {
                Ok(_) => stored += 2,
                Err(_) => {
                    let refused = answer.refused();
                    refused.is(Code::FailedPrecondition, "DELETION_IN_PROGRESS");
                    return stored;
                }
            }
            if stored >= 20 {
                began.store(true, Ordering::Relaxed);
            }
        }
    };
    let delete = async {
        eventually("messages are stored", SOON, async || {
            began.load(Ordering::Relaxed)
        })
        .await;
        client.delete_user(&app, "ada").await
    };
    let writers = futures::future::join_all((0..6).map(write));
    let (begun, stored) = futures::join!(delete, writers);
    let acknowledged: i64 = stored.iter().sum();
    assert!(acknowledged >= 20, "{stored:?}");

    let receipt = client.finished(&begun, DELETION).await;
    // Each acknowledged message was erased, and no other.
    assert_eq!(erased(&receipt, "messages"), acknowledged);
    for table in ["messages", "threads", "requests", "distill_jobs"] {
        let left = count(
            &database,
            &format!("SELECT count(*) FROM recollect.{table}"),
        )
        .await;
        assert_eq!(left, 0, "{table}");
    }
    // Nothing keeps the user from coming back.
    let next = client.resolve(session(&app, "ada", "thread:again")).await;
    assert_eq!(next.message_count, 0);
}

#[apply(trial_with_own_server)]
async fn b04_a_deletion_is_finished_by_servers_that_are_killed_in_between() {
    let (cluster, url) = Cluster::migrated().await;
    let database = cluster.superuser().await;
    let dir = DataDir::new();
    let options = Options::serve(&url, &[PLAIN, "worker.nodes.interval = \"100ms\""])
        .index(&dir, "index")
        .objects(&dir);
    let server = Server::start(&dir, &options);
    let client = server.client(Key::Acme).await;
    let app = app();
    let mark = format!("zq{}", Uuid::new_v4().simple());
    plant(&client, &app, "ada", &mark).await;
    plant(&client, &app, "bob", "other").await;
    eventually("all is indexed", SOON, async || {
        client.index_status().await.pending_count == 0
    })
    .await;
    // Each step takes a while, so that a kill meets it.
    let slow = "CREATE FUNCTION public.slow() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN PERFORM pg_sleep(1.5); RETURN NEW; END $$;
        CREATE TRIGGER slow BEFORE UPDATE OF step ON recollect.erasures
            FOR EACH ROW EXECUTE FUNCTION public.slow()";
    database.batch_execute(slow).await.unwrap();
    let begun = client.delete_user(&app, "ada").await;
    drop(client);

    let progress = async || {
        let state =
            "SELECT string_agg(step, ' ' ORDER BY kind, erasure_id) FROM recollect.erasures";
        let row = database.query_one(state, &[]).await.unwrap();
        row.get::<_, String>(0)
    };
    let mut server = server;
    let mut kills = 0;
    let mut seen = vec![progress().await];
    while !seen.last().unwrap().ends_with("done done") && kills < 20 {
        server.kill();
        kills += 1;
        server = Server::start(&dir, &options);
        let before = seen.last().unwrap().clone();
        let state = eventually_some("a step is done", SOON, async || {
            let now = progress().await;
            (now != before || now.ends_with("done done")).then_some(now)
        })
        .await;
        seen.push(state);
    }
    assert!(kills >= 3, "{seen:?}");
    let client = server.client(Key::Acme).await;
    let receipt = client.finished(&begun, DELETION).await;
    assert!(!receipt.storage_rewritten, "the cluster is not ours");
    for name in PLANTED {
        assert!(erased(&receipt, name) > 0, "{name} in {receipt:?}");
    }
    let tables = "SELECT c.relname::text FROM pg_class c
         WHERE c.relkind = 'r' AND c.relnamespace = 'recollect'::regnamespace";
    for row in database.query(tables, &[]).await.unwrap() {
        let table: String = row.get(0);
        let rows =
            format!("SELECT count(*) FROM recollect.{table} t WHERE strpos(t::text, '{mark}') > 0");
        assert_eq!(count(&database, &rows).await, 0, "{table}");
    }
    for place in ["index", "objects"] {
        let left = files_with(&dir.path().join(place), mark.as_bytes());
        assert!(left.is_empty(), "{left:?}");
    }
    assert!(client.all_memories(&app, "bob").await.len() >= 2);
}

#[apply(trial_with_own_server)]
async fn b04_apps_and_tenants_are_deleted_and_others_stay() {
    let options = Options::with(&[PLAIN, "worker.nodes.interval = \"100ms\""]);
    let (_dir, server, client) = Server::start_own(&options).await;
    let globex = server.client(Key::Globex).await;
    let database = database(server.ready().line["postgres"].as_str().unwrap()).await;
    let (one, two) = (app(), app());
    for (client, app, user) in [
        (&client, &one, "ada"),
        (&client, &one, "bob"),
        (&client, &two, "ada"),
        (&globex, &one, "ada"),
    ] {
        plant(client, app, user, &format!("{app}-{user}")).await;
        client
            .set_policy(
                app,
                recollect_tests::mode(memory_contract::proto::MemoryMode::Window),
            )
            .await;
    }
    let of_app = |app: &str| {
        format!(
            "SELECT count(*) FROM recollect.messages WHERE tenant_id = 'acme' AND app_id = '{app}'"
        )
    };
    let (before, theirs) = (
        count(&database, &of_app(&two)).await,
        "SELECT count(*) FROM recollect.messages WHERE tenant_id = 'globex'",
    );
    let begun = client
        .call(DeleteAppRequest {
            app: Some(AppRef {
                app_id: one.clone(),
            }),
        })
        .await;
    let begun = begun.deletion.unwrap();
    assert_eq!(
        (begun.app_id.as_str(), &begun.user_id),
        (one.as_str(), &None)
    );
    let receipt = client.finished(&begun, DELETION).await;
    assert_eq!(erased(&receipt, "threads"), 2);
    assert_eq!(erased(&receipt, "app_policies"), 1);
    assert_eq!(count(&database, &of_app(&one)).await, 0);
    assert_eq!(count(&database, &of_app(&two)).await, before);
    // Nobody else's receipt.
    let unknown = GetDeletionRequest {
        deletion_id: receipt.deletion_id.clone(),
    };
    let unknown = globex.refused(unknown).await;
    unknown.is(Code::NotFound, "DELETION_NOT_FOUND");
    // It is listed, in pages, for its tenant alone.
    let listed = async |client: &Client| {
        let (mut deletions, mut page_token) = (Vec::new(), String::new());
        loop {
            let page_size = 1;
            let request = ListDeletionsRequest {
                page_size,
                page_token,
            };
            let page = client.call(request).await;
            assert!(page.deletions.len() <= 1);
            deletions.extend(page.deletions);
            page_token = page.next_page_token;
            if page_token.is_empty() {
                return deletions;
            }
        }
    };
    let deletions = listed(&client).await;
    let summary = Deletion {
        places: Vec::new(),
        ..receipt.clone()
    };
    assert!(deletions.contains(&summary), "{deletions:?}");
    assert!(deletions.is_sorted_by_key(|one| {
        let time = one.create_time.unwrap();
        std::cmp::Reverse((time.seconds, time.nanos))
    }));
    let others = listed(&globex).await;
    assert!(
        others
            .iter()
            .all(|one| one.deletion_id != receipt.deletion_id)
    );

    let wrong = DeleteTenantRequest {
        tenant: "globex".to_owned(),
    };
    client.refused(wrong).await.names_field("tenant");
    let key = CreateApiKeyRequest {
        name: "reports".to_owned(),
        scopes: vec![KeyScope::Read.into()],
        ..Default::default()
    };
    client.call(key).await;
    let all = DeleteTenantRequest {
        tenant: "acme".to_owned(),
    };
    let begun = client.call(all).await.deletion.unwrap();
    let receipt = client.finished(&begun, DELETION).await;
    for (name, expected) in [("threads", 1), ("api_keys", 1), ("app_policies", 1)] {
        assert_eq!(erased(&receipt, name), expected, "{name}");
    }
    let tables = "SELECT c.relname::text FROM pg_class c
         JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant_id'
         WHERE c.relkind = 'r' AND c.relnamespace = 'recollect'::regnamespace";
    for row in database.query(tables, &[]).await.unwrap() {
        let table: String = row.get(0);
        // The record of changes, and the receipts themselves.
        if table == "transactions" || table == "erasures" {
            continue;
        }
        let rows = format!("SELECT count(*) FROM recollect.{table} WHERE tenant_id = 'acme'");
        assert_eq!(count(&database, &rows).await, 0, "{table}");
    }
    assert!(
        count(&database, theirs).await > 0,
        "the other tenant's stay"
    );
    assert!(globex.all_memories(&one, "ada").await.len() >= 2);
}
