//! A thread whose rows cannot be erased for a while.

use std::time::Duration;

use memory_contract::proto::{AppendMessagesRequest, DeletionState, ResolveThreadRequest};
use recollect_tests::{
    Client, Dynamic, Options, PLAIN, Refused as _, SOON, Server, app, apply, by_id, eventually,
    history_request, http_get, session, texts, trial, trial_with_own_server, turn,
};
use serde_json::{Value, json};
use tokio::time::timeout;
use tokio_postgres::NoTls;
use tonic::Code;

use crate::isolation::reads::{is_missing, requests_for};
use crate::plain;

/// How long a call may wait for a deletion that rewrites the database.
const CALL: Duration = Duration::from_secs(6);
/// Fills an empty thread with messages.
const LARGE_THREAD: &str =
    include_str!("../../../crates/memory-store/tests/store/large_thread.sql");

/// The superuser's connection to a server's database.
pub async fn database(url: &str) -> tokio_postgres::Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// How many messages of a thread are in the database.
async fn messages(database: &tokio_postgres::Client, thread_id: &str) -> i64 {
    let count = "SELECT count(*) FROM recollect.messages WHERE thread_id = $1::text::uuid";
    database
        .query_one(count, &[&thread_id])
        .await
        .unwrap()
        .get(0)
}

/// Fills an empty thread with so many messages of now, on one branch: users and assistants in turn.
/// Returns its tenant and its id.
pub async fn fill(
    database: &tokio_postgres::Client,
    thread_id: &str,
    count: i64,
) -> (String, uuid::Uuid) {
    let tenant = "SELECT tenant_id FROM recollect.threads WHERE thread_id = $1::text::uuid";
    let tenant: String = database
        .query_one(tenant, &[&thread_id])
        .await
        .unwrap()
        .get(0);
    let id: uuid::Uuid = thread_id.parse().unwrap();
    let filled = database
        .execute(LARGE_THREAD, &[&tenant, &id, &count])
        .await;
    assert_eq!(filled.unwrap(), count.unsigned_abs());
    (tenant, id)
}

/// Lets a thread's expiry be an hour later, as it is to a clock that is set back by an hour.
async fn set_clock_back(database: &tokio_postgres::Client, thread_id: &str) {
    let later = "UPDATE recollect.threads SET expires_at = expires_at + interval '1 hour'
                 WHERE thread_id = $1::text::uuid AND expires_at IS NOT NULL";
    assert_eq!(database.execute(later, &[&thread_id]).await.unwrap(), 1);
}

async fn listed(client: &Client, app: &str) -> Vec<Value> {
    let request = json!({"target": {"app": {"app_id": app}}});
    let listed = Dynamic::call(client, "ThreadService/ListThreads", request).await;
    listed.unwrap().into_inner()
}

#[apply(trial)]
async fn a_deleted_thread_is_gone_while_its_rows_are_locked() {
    let client = plain().await;
    let app = app();
    let url = PLAIN.ready().line["postgres"].as_str().unwrap();
    let (database, mut holder) = (database(url).await, database(url).await);
    let held = client.resolve(session(&app, "ada", "thread:1")).await;
    let thread_id = held.thread_id.as_str();
    let stored = client.append_turn(thread_id, "Secret?", "Secret.").await;
    let lock = holder.transaction().await.unwrap();
    let select = "SELECT FROM recollect.messages WHERE thread_id = $1::text::uuid FOR UPDATE";
    lock.execute(select, &[&thread_id]).await.unwrap();

    let deleted = client.delete_thread(thread_id).await;
    assert_eq!(deleted.deleted_message_count, 2);
    assert_eq!(messages(&database, thread_id).await, 2, "they are locked");
    is_missing(&client, thread_id, &stored.messages[0].message_id).await;
    set_clock_back(&database, thread_id).await;
    is_missing(&client, thread_id, &stored.messages[0].message_id).await;
    assert_eq!(listed(&client, &app).await, [json!({})]);

    // Its session key is free, and another thread is erased meanwhile.
    let next = client.resolve(session(&app, "ada", "thread:1")).await;
    assert_ne!(next.thread_id, thread_id);
    client.append_turn(&next.thread_id, "Q", "A").await;
    client.delete_thread(&next.thread_id).await;
    eventually("the other thread is erased", SOON, async || {
        messages(&database, &next.thread_id).await == 0
    })
    .await;
    assert_eq!(messages(&database, thread_id).await, 2, "still locked");

    lock.rollback().await.unwrap();
    eventually("its rows are erased", SOON, async || {
        messages(&database, thread_id).await == 0
    })
    .await;
}

#[apply(trial_with_own_server)]
async fn threads_expire_while_one_of_them_cannot_be_erased() {
    let options = Options::with(&[
        "embedding.kind = \"none\"",
        "worker.expiry_interval = \"1s\"",
    ]);
    let (_dir, server, client) = Server::start_own(&options).await;
    let database = database(server.ready().line["postgres"].as_str().unwrap()).await;
    let app = app();
    let (mut threads, mut said) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        let thread_id = client.thread(&app).await;
        let stored = client.append_turn(&thread_id, "Q", "A").await;
        said.push(stored.messages[0].message_id.clone());
        threads.push(thread_id);
    }
    let held = threads[0].as_str();
    let refuse = format!(
        "CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS
             $$ BEGIN RAISE EXCEPTION 'this row stays'; END $$;
         CREATE TRIGGER refuse BEFORE DELETE ON recollect.messages
             FOR EACH ROW WHEN (OLD.thread_id = '{held}') EXECUTE FUNCTION public.refuse()"
    );
    database.batch_execute(&refuse).await.unwrap();
    let expire = "UPDATE recollect.threads SET expires_at = clock_timestamp() - interval '1 hour'
                  WHERE thread_id = $1::text::uuid";
    for thread_id in &threads {
        let expired = database.execute(expire, &[&thread_id]).await.unwrap();
        assert_eq!(expired, 1);
    }
    eventually("the others are erased", SOON, async || {
        messages(&database, &threads[1]).await + messages(&database, &threads[2]).await == 0
    })
    .await;
    eventually("the failure shows", SOON, async || {
        let (_, metrics) = http_get(&server.ready().metrics_addr, "/metrics").await;
        metrics
            .lines()
            .any(|line| line == "recollect_deletions_failing 1")
    })
    .await;
    assert_eq!(messages(&database, held).await, 2);
    is_missing(&client, held, &said[0]).await;

    let allow = "DROP TRIGGER refuse ON recollect.messages;
                 UPDATE recollect.erasures SET available_at = clock_timestamp()";
    database.batch_execute(allow).await.unwrap();
    eventually("it is erased at last", SOON, async || {
        messages(&database, held).await == 0
    })
    .await;
    assert_eq!(listed(&client, &app).await, [json!({})]);
}

#[apply(trial_with_own_server)]
async fn calls_are_answered_while_deletions_wait_to_rewrite_the_database_once() {
    let options = Options::with(&["embedding.kind = \"none\""]);
    let (_dir, server, client) = Server::start_own(&options).await;
    let url = server.ready().line["postgres"].as_str().unwrap();
    let (database, mut holder) = (database(url).await, database(url).await);
    let app = app();
    let staying = client.thread_of(&app, "ada").await;
    client
        .append_text(&staying, "My dog is called Pixel.")
        .await;
    let count = async |sql: &str| -> i64 { database.query_one(sql, &[]).await.unwrap().get(0) };

    let rewritten = "SELECT analyze_count FROM pg_stat_user_tables
         WHERE schemaname = 'recollect' AND relname = 'messages'";
    let before = count(rewritten).await;

    // As one that reads the table for long has.
    let reader = holder.transaction().await.unwrap();
    let lock = "LOCK TABLE recollect.messages IN ACCESS SHARE MODE";
    reader.execute(lock, &[]).await.unwrap();
    let first = client.delete_user(&app, "user-1").await;
    let attempts = "SELECT count(*) FROM pg_stat_activity
         WHERE query LIKE 'VACUUM (FULL%messages' AND wait_event_type = 'Lock'";
    for number in 2..=6 {
        eventually("the deletion waits for the table", SOON, async || {
            count(attempts).await == 1
        })
        .await;
        let append = timeout(CALL, client.append_text(&staying, "And my cat?")).await;
        append.expect("an append waits");
        let read = timeout(CALL, client.call(history_request(&staying))).await;
        assert_eq!(read.expect("a read waits").messages.len(), number);
    }
    let receipt = client.deletion(&first.deletion_id).await;
    assert_eq!(receipt.state(), DeletionState::Running, "{receipt:?}");

    let mut deletions = vec![first];
    for number in 2..=6 {
        let user = format!("user-{number}");
        deletions.push(client.delete_user(&app, &user).await);
    }
    // Each is due, or leased by the worker that rewrites the database, for an hour.
    let waiting = "SELECT count(*) FROM recollect.erasures WHERE step = 'outside'
         AND (available_at <= clock_timestamp()
             OR available_at > clock_timestamp() + interval '30 minutes')";
    eventually("all wait for the database", SOON, async || {
        count(waiting).await == 6
    })
    .await;
    drop(reader);
    for deletion in &deletions {
        let receipt = client.finished(deletion, SOON).await;
        assert!(receipt.storage_rewritten, "{receipt:?}");
    }
    let times = count(rewritten).await - before;
    assert!(
        (1..=3).contains(&times),
        "rewritten {times} times for 6 deletions"
    );
}

#[apply(trial)]
async fn a_large_thread_is_unreadable_while_it_is_cleared_in_steps() {
    const COUNT: i64 = 25_000;
    let client = plain().await;
    let app = app();
    let url = PLAIN.ready().line["postgres"].as_str().unwrap();
    let (database, mut holder) = (database(url).await, database(url).await);
    let thread = client.resolve(session(&app, "ada", "thread:1")).await;
    let thread_id = thread.thread_id.as_str();
    fill(&database, thread_id, COUNT).await;
    let listed = client.call(history_request(thread_id)).await;
    let newest = listed.messages.last().unwrap().message_id.clone();

    // The last step waits for this row.
    let lock = holder.transaction().await.unwrap();
    let select =
        "SELECT FROM recollect.messages WHERE thread_id = $1::text::uuid AND seq = $2 FOR UPDATE";
    lock.execute(select, &[&thread_id, &COUNT]).await.unwrap();
    let clearing = tokio::spawn({
        let (client, thread_id) = (client.clone(), thread_id.to_owned());
        async move { client.clear_thread(&thread_id).await }
    });
    eventually("clearing begins", SOON, async || {
        messages(&database, thread_id).await < COUNT
    })
    .await;
    assert!(
        messages(&database, thread_id).await > 0,
        "its row is locked"
    );
    set_clock_back(&database, thread_id).await;
    for (method, request) in requests_for(thread_id, &newest) {
        if ["ThreadService/ClearThread", "ThreadService/DeleteThread"].contains(&method) {
            continue;
        }
        let refused = Dynamic::call(&client, method, request).await.refused();
        let codes = [Code::NotFound, Code::FailedPrecondition];
        assert!(codes.contains(&refused.code), "{method}: {refused:?}");
    }
    let appended = AppendMessagesRequest {
        thread: by_id(thread_id),
        messages: turn("A new start?", "Yes."),
        ..Default::default()
    };
    let refused = client.refused(appended.clone()).await;
    refused.is(Code::FailedPrecondition, "DELETION_IN_PROGRESS");
    let resolve = ResolveThreadRequest {
        session: Some(session(&app, "ada", "thread:1")),
        ..Default::default()
    };
    let resolved = client.refused(resolve).await;
    resolved.is(Code::FailedPrecondition, "DELETION_IN_PROGRESS");
    assert!(!clearing.is_finished(), "rows are left");

    lock.rollback().await.unwrap();
    let cleared = clearing.await.unwrap();
    assert_eq!(cleared.deleted_message_count, COUNT);
    assert_eq!(messages(&database, thread_id).await, 0);
    let after = client.resolve(session(&app, "ada", "thread:1")).await;
    assert_eq!(after.thread_id, thread_id, "the thread itself stays");
    assert_eq!((after.message_count, after.last_seq), (0, COUNT));
    assert_eq!(client.call(appended).await.messages[0].seq, COUNT + 1);
    let history = client.call(history_request(thread_id)).await;
    assert_eq!(texts(&history.messages), ["A new start?", "Yes."]);
}

#[apply(trial)]
async fn a_thread_that_is_being_cleared_can_be_deleted() {
    const COUNT: i64 = 25_000;
    let client = plain().await;
    let url = PLAIN.ready().line["postgres"].as_str().unwrap();
    let database = database(url).await;
    let thread_id = client.thread(&app()).await;
    let (tenant, id) = fill(&database, &thread_id, COUNT).await;
    // As where the call that clears it has ended, and no worker has begun.
    let clear = "SELECT status FROM recollect.clear_thread($1, 'ada', $2, 1000)";
    let status: String = database
        .query_one(clear, &[&tenant, &id])
        .await
        .unwrap()
        .get(0);
    assert_eq!(status, "clearing");
    client.delete_thread(&thread_id).await;
    eventually("its rows are erased", SOON, async || {
        messages(&database, &thread_id).await == 0
    })
    .await;
    let gone = client.refused(history_request(&thread_id)).await;
    gone.is(Code::NotFound, "THREAD_NOT_FOUND");
}
