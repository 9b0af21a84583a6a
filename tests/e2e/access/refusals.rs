//! Refused changes in the audit log.

use std::collections::BTreeMap;
use std::time::Duration;

use memory_contract::convert::action_name;
use memory_contract::proto::{
    AppendMessagesRequest, CreateApiKeyRequest, DeleteThreadRequest, ErrorReason, GetThreadRequest,
    KeyScope, ListTransactionsRequest, Role, SetHeadRequest, SetSecretRequest, Transaction,
    TransactionResult,
};
use recollect_tests::{
    Client, Cluster, DataDir, Dynamic, Key, PLAIN, Server, app, apply, by_id, eventually,
    eventually_some, history_request, say, search_request, trial, trial_with_own_server, turn,
};
use tonic::Code;
use uuid::Uuid;

use super::{caller, create_key, serve, transactions};
use crate::plain;

const RECORD_TIMEOUT: Duration = Duration::from_secs(60);

/// A key of the test's own, by whose name its refusals are found.
async fn own_key(scopes: &[KeyScope]) -> (String, Client) {
    let name = format!("key-{}", app());
    let made = create_key(&plain().await, &name, scopes).await;
    (name, caller(&PLAIN.ready().addr, &made.secret).await)
}

/// The audit log of one key, refusals included, the newest first.
async fn of(admin: &Client, actor: &str) -> Vec<Transaction> {
    let request = ListTransactionsRequest {
        actor: actor.to_owned(),
        ..Default::default()
    };
    transactions(admin, request).await
}

/// The refusals among them, with how often they were, as soon as there are as many
/// as expected.
async fn refusals(admin: &Client, actor: &str, expected: i64) -> Vec<(String, String, i64)> {
    eventually_some("they are noted", RECORD_TIMEOUT, async || {
        let mut found = of(admin, actor).await;
        found.retain(|done| done.result() != TransactionResult::Committed);
        for done in &found {
            assert_eq!(done.actor, actor);
            assert_eq!((done.thread_id.as_str(), done.subject.as_str()), ("", ""));
            assert!(done.create_time.is_some());
        }
        let count: i64 = found.iter().map(|done| done.item_count).sum();
        assert!(count <= expected, "{found:?}");
        (count == expected).then(|| {
            found
                .into_iter()
                .map(|done| {
                    (
                        action_name(done.action()),
                        reason_of(&done),
                        done.item_count,
                    )
                })
                .collect()
        })
    })
    .await
}

/// Why a call was refused: the name of the reason, in lower case.
fn reason_of(done: &Transaction) -> String {
    assert_eq!(done.grpc_code, 0, "it has a reason: {done:?}");
    let unknown = done.error_reason() == ErrorReason::DatabaseUnavailable;
    let expected = match unknown {
        true => TransactionResult::Unknown,
        false => TransactionResult::Refused,
    };
    assert_eq!(done.result(), expected);
    let name = done.error_reason().as_str_name();
    name.trim_start_matches("ERROR_REASON_").to_lowercase()
}

fn refusal(action: &str, result: &str) -> (String, String, i64) {
    (action.to_owned(), result.to_owned(), 1)
}

async fn append(client: &Client, thread_id: &str, text: &str) {
    let request = AppendMessagesRequest {
        thread: by_id(thread_id),
        messages: vec![say(Role::User, text)],
        ..Default::default()
    };
    client.refused(request).await;
}

#[apply(trial)]
async fn l06_a_refused_change_is_in_the_record() {
    let admin = plain().await;
    let (actor, client) = own_key(&[KeyScope::Write]).await;
    let thread_id = client.thread(&app()).await;
    let first = client.append_turn(&thread_id, "Q", "A").await;

    append(&client, &Uuid::new_v4().to_string(), "Nowhere").await;
    append(&client, "no-uuid", "Nowhere").await;
    let stale = AppendMessagesRequest {
        thread: by_id(&thread_id),
        messages: turn("Q", "A"),
        expected_head: Some(first.messages[0].message_id.clone()),
        ..Default::default()
    };
    client.refused(stale).await;
    let delete = DeleteThreadRequest {
        thread: by_id(&thread_id),
    };
    client.refused(delete).await;
    let request = CreateApiKeyRequest {
        name: "mine".to_owned(),
        ..Default::default()
    };
    client.refused(request).await;
    // More than a request may have, which the transport refuses.
    append(&client, &thread_id, &"x".repeat(5 << 20)).await;

    // Equal refusals of two minutes are two rows.
    let mut counts = BTreeMap::new();
    for (action, reason, count) in refusals(&admin, &actor, 6).await {
        *counts.entry((action, reason)).or_insert(0) += count;
    }
    let found: Vec<_> = counts
        .into_iter()
        .map(|((action, reason), count)| (action, reason, count))
        .collect();
    assert_eq!(
        found,
        [
            refusal("append_messages", "head_moved"),
            ("append_messages".to_owned(), "invalid_field".to_owned(), 2),
            refusal("append_messages", "thread_not_found"),
            refusal("create_api_key", "permission_denied"),
            refusal("delete_thread", "permission_denied"),
        ]
    );
    // Its successful changes are recorded as before.
    let mut done = of(&admin, &actor).await;
    done.retain(|done| done.result() == TransactionResult::Committed);
    let done: Vec<String> = done.iter().map(|done| action_name(done.action())).collect();
    assert_eq!(done, ["append_messages", "create_thread"]);
}

#[apply(trial)]
async fn l06_each_call_for_a_change_is_in_the_record_when_its_key_may_not_make_it() {
    let (actor, client) = own_key(&[KeyScope::Read]).await;
    let mut denied = 0;
    for method in Dynamic::methods() {
        if let Err(status) = Dynamic::call_empty(&client, &method).await {
            denied += i64::from(status.code() == Code::PermissionDenied);
        }
    }
    let reads = [
        "CompareIndexes",
        "ListTransactions",
        "ListApiKeys",
        "GetSecret",
        "ListSecrets",
    ];
    // The scope `read` lets a key acknowledge events: its empty call is refused for another reason.
    let changes = denied - i64::try_from(reads.len()).unwrap() + 1;
    let mut found = refusals(&plain().await, &actor, changes).await;
    let acknowledged = found
        .iter()
        .position(|(action, ..)| action == "acknowledge_events");
    let (_, reason, _) = found.remove(acknowledged.unwrap());
    assert_eq!(reason, "invalid_field");
    for (action, result, count) in &found {
        assert_eq!((result.as_str(), *count), ("permission_denied", 1));
        assert!(!action.starts_with("list_") && !action.starts_with("get_"));
    }
    for expected in ["import_messages", "flush_node_memory", "set_secret"] {
        let listed = found.iter().any(|(action, ..)| action == expected);
        assert!(listed, "{expected}: {found:?}");
    }
}

#[apply(trial)]
async fn l06_refused_reads_are_not_in_the_record() {
    let admin = plain().await;
    let (actor, client) = own_key(&[KeyScope::Read]).await;
    let nowhere = Uuid::new_v4().to_string();
    let get = GetThreadRequest {
        thread: by_id(&nowhere),
    };
    client.refused(get).await;
    let history = history_request(&nowhere);
    client.refused(history).await;
    let search = search_request(&nowhere, "", "");
    client.refused(search).await;
    let list = ListTransactionsRequest::default();
    client.refused(list).await;
    // Later refusals are recorded.
    append(&client, &nowhere, "Denied").await;
    assert_eq!(
        refusals(&admin, &actor, 1).await,
        [refusal("append_messages", "permission_denied")]
    );
}

#[apply(trial_with_own_server)]
async fn l06_calls_without_a_valid_key_are_not_recorded() {
    let (cluster, url) = Cluster::migrated().await;
    let rows = cluster.superuser().await;
    let dir = DataDir::new();
    let server = Server::start(&dir, &serve(&dir, &url, &[]));
    let unauthenticated =
        Client::with_authorization(&server.ready().addr, Some("Bearer nonsense")).await;
    let request = AppendMessagesRequest::default();
    let refused = unauthenticated.refused(request).await;
    refused.is(Code::Unauthenticated, "UNAUTHENTICATED");
    let client = server.client(Key::Globex).await;
    append(&client, "no-uuid", "Refused").await;
    assert!(server.stop().await.success());
    let all = "SELECT tenant_id || ' ' || result FROM recollect.transactions";
    let all = rows.query(all, &[]).await.unwrap();
    let all: Vec<String> = all.iter().map(|row| row.get(0)).collect();
    assert_eq!(all, ["globex invalid_field"]);
}

#[apply(trial)]
async fn l06_a_thousand_equal_refusals_are_a_few_entries() {
    let (actor, client) = own_key(&[KeyScope::Write]).await;
    let nowhere = Uuid::new_v4().to_string();
    let floods = (0..10).map(|_| async {
        for _ in 0..100 {
            append(&client, &nowhere, "Again").await;
        }
    });
    let start = std::time::Instant::now();
    futures::future::join_all(floods).await;
    let seconds = start.elapsed().as_secs();
    let found = refusals(&plain().await, &actor, 1_000).await;
    for (action, result, _) in &found {
        assert_eq!(
            (action.as_str(), result.as_str()),
            ("append_messages", "thread_not_found")
        );
    }
    // One a second, and one for each end.
    let most = usize::try_from(seconds).unwrap() + 2;
    assert!(found.len() <= most, "{} in {seconds} s", found.len());
}

#[apply(trial)]
async fn l06_a_refusal_is_in_the_record_of_its_tenant_alone() {
    let (acme, globex) = (plain().await, PLAIN.client(Key::Globex).await);
    let (actor, client) = own_key(&[KeyScope::Write]).await;
    let theirs = globex.thread(&app()).await;
    // The entry belongs to the caller's tenant, not to the thread's.
    append(&client, &theirs, "Not yours").await;
    assert_eq!(
        refusals(&acme, &actor, 1).await,
        [refusal("append_messages", "thread_not_found")]
    );
    assert!(of(&globex, &actor).await.is_empty());
}

#[apply(trial_with_own_server)]
async fn l06_a_refusal_never_has_content() {
    let (cluster, url) = Cluster::migrated().await;
    let rows = cluster.superuser().await;
    let dir = DataDir::new();
    let server = Server::start(&dir, &serve(&dir, &url, &[]));
    let client = server.client(Key::Acme).await;
    let said = "flibbertigibbet";
    append(&client, said, said).await;
    append(&client, &Uuid::new_v4().to_string(), said).await;
    let thread_id = client.thread("app").await;
    append(&client, &thread_id, &format!("{said}\0")).await;
    let head = SetHeadRequest {
        thread: by_id(thread_id),
        head_message_id: said.to_owned(),
        expected_head: None,
    };
    client.refused(head).await;
    let set = SetSecretRequest {
        name: said.to_owned(),
        value: said.to_owned(),
    };
    client.refused(set).await;
    let create = CreateApiKeyRequest {
        name: "twin".to_owned(),
        ..Default::default()
    };
    client.call(create.clone()).await;
    client.refused(create).await;
    refusals(&client, Key::Acme.name(), 6).await;
    let all = "SELECT string_agg(t::text, ' ') FROM recollect.transactions t";
    let all: String = rows.query_one(all, &[]).await.unwrap().get(0);
    for expected in ["secrets_unavailable", "api_key_already_exists", "set_head"] {
        assert!(all.contains(expected), "{all}");
    }
    assert!(!all.contains(said), "{all}");
}

#[apply(trial_with_own_server)]
async fn l06_refusals_are_noted_when_the_server_stops() {
    let (cluster, url) = Cluster::migrated().await;
    let rows = cluster.superuser().await;
    let dir = DataDir::new();
    let server = Server::start(&dir, &serve(&dir, &url, &[]));
    let client = server.client(Key::Acme).await;
    for _ in 0..3 {
        append(&client, &Uuid::new_v4().to_string(), "Nowhere").await;
    }
    assert!(server.stop().await.success());
    let noted = "SELECT sum(item_count)::bigint FROM recollect.transactions \
                 WHERE action = 'append_messages' AND result = 'thread_not_found'";
    let noted: Option<i64> = rows.query_one(noted, &[]).await.unwrap().get(0);
    assert_eq!(noted, Some(3));
}

#[apply(trial_with_own_server)]
async fn l06_refusals_wait_for_an_unavailable_database() {
    let (mut cluster, url) = Cluster::migrated().await;
    let dir = DataDir::new();
    let server = Server::start(&dir, &serve(&dir, &url, &[]));
    let client = server.client(Key::Acme).await;
    let thread_id = client.thread("app").await;
    cluster.crash();
    append(&client, &thread_id, "Lost").await;
    append(&client, "no-uuid", "Wrong").await;
    cluster.restart().await;
    eventually("the database is back", RECORD_TIMEOUT, async || {
        let list = ListTransactionsRequest::default();
        client.admin().list_transactions(list).await.is_ok()
    })
    .await;
    let mut found = refusals(&client, Key::Acme.name(), 2).await;
    found.sort();
    assert_eq!(
        found,
        [
            refusal("append_messages", "database_unavailable"),
            refusal("append_messages", "invalid_field"),
        ]
    );
}
