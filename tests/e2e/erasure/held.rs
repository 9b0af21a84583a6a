//! A thread whose rows cannot be erased for a while.

use recollect_tests::{
    Client, Dynamic, Options, PLAIN, Refused as _, SOON, Server, app, apply, eventually, http_get,
    session, trial, trial_with_own_server,
};
use serde_json::{Value, json};
use tokio_postgres::NoTls;
use tonic::Code;

use crate::plain;

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

async fn listed(client: &Client, app: &str) -> Vec<Value> {
    let request = json!({"app": {"app_id": app}});
    let listed = Dynamic::call(client, "ThreadService/ListThreads", request).await;
    listed.unwrap().into_inner()
}

async fn is_gone(client: &Client, thread_id: &str, message_id: &str) {
    let never = uuid::Uuid::new_v4().to_string();
    for (method, request) in crate::isolation::reads::requests_for(thread_id, message_id) {
        let missing = Dynamic::call(client, method, request.clone())
            .await
            .refused();
        let text = request.to_string().replace(thread_id, &never);
        let unknown = serde_json::from_str(&text).unwrap();
        let unknown = Dynamic::call(client, method, unknown).await.refused();
        assert_eq!(missing, unknown, "{method} answers the two differently");
        missing.is(Code::NotFound, "THREAD_NOT_FOUND");
    }
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
    is_gone(&client, thread_id, &stored.messages[0].message_id).await;
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
            .any(|line| line == "recollect_erasures_failing 1")
    })
    .await;
    assert_eq!(messages(&database, held).await, 2);
    is_gone(&client, held, &said[0]).await;

    let allow = "DROP TRIGGER refuse ON recollect.messages;
                 UPDATE recollect.erasures SET available_at = clock_timestamp()";
    database.batch_execute(allow).await.unwrap();
    eventually("it is erased at last", SOON, async || {
        messages(&database, held).await == 0
    })
    .await;
    assert_eq!(listed(&client, &app).await, [json!({})]);
}
