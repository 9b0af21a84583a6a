//! Receivers whose addresses are not public, and queues that are full.

use memory_contract::proto::CreateSubscriptionRequest;
use recollect_tests::{
    Client, Key, Options, Receiver, Server, apply, eventually, long_trial_with_own_server,
    trial_with_own_server,
};
use tonic::Code;

use super::{NAME, SOON, appends, get, has_taken, options, subscribe};

#[apply(trial_with_own_server)]
async fn f10_addresses_that_are_not_public_are_not_connected_to() {
    let options = Options::with(&["embedding.kind = \"none\""]);
    let (_dir, _server, client) = Server::start_own(&options).await;
    let receiver = Receiver::new();
    let port = receiver.addr().port();
    let urls = [
        receiver.url(),
        format!("http://localhost:{port}/"),
        format!("https://127.0.0.1:{port}/"),
        format!("https://localhost:{port}/"),
        "https://169.254.169.254/latest/meta-data".to_owned(),
        "https://[fd00:ec2::254]/".to_owned(),
        "https://10.0.0.1/".to_owned(),
    ];
    for (number, url) in urls.iter().enumerate() {
        let request = CreateSubscriptionRequest {
            name: format!("n{number}"),
            ..appends(url)
        };
        subscribe(&client, request).await;
    }
    let thread_id = client.thread("app").await;
    client.append_text(&thread_id, "hello").await;
    for (number, url) in urls.iter().enumerate() {
        eventually(url, SOON, async || {
            let state = get(&client, &format!("n{number}")).await;
            state
                .last_error
                .contains("the receiver's address is not public")
        })
        .await;
    }
    assert!(receiver.deliveries().is_empty());
    for wrong in [
        "http://example.com/",
        "http://10.0.0.1/",
        "ftp://example.com/",
        "https://me:hunter2@example.com/",
        "example.com",
    ] {
        let failure = client.refused(appends(wrong)).await;
        failure
            .is(Code::InvalidArgument, "INVALID_FIELD")
            .names_field("url");
    }
}

#[apply(trial_with_own_server)]
async fn f12_the_next_batch_says_how_many_events_were_dropped() {
    let (_dir, server, client) = Server::start_own(&options()).await;
    let receiver = Receiver::new();
    subscribe(&client, appends(&receiver.url())).await;
    // What has waited for too long, and what a queue has beyond its limit, are dropped in the same way.
    fill(&server, 700, "31 days").await;
    drops(&server, &client, &receiver, 700).await;
}

#[apply(long_trial_with_own_server)]
async fn f12_a_full_queue_drops_the_newest_events() {
    let (_dir, server, client) = Server::start_own(&options()).await;
    let receiver = Receiver::new();
    subscribe(&client, appends(&receiver.url())).await;
    fill(&server, 1_000_300, "0 days").await;
    eventually("the newest events are dropped", SOON, async || {
        get(&client, NAME).await.dropped_count == 300
    })
    .await;
    let most = "SELECT count(*), max(subject::bigint) FROM recollect.subscription_events";
    let row = database(&server).await.query_one(most, &[]).await.unwrap();
    assert_eq!(
        (row.get::<_, i64>(0), row.get::<_, i64>(1)),
        (1_000_000, 1_000_000)
    );
    drops(&server, &client, &receiver, 300).await;
}

/// A connection to the server's own database.
async fn database(server: &Server) -> tokio_postgres::Client {
    let database = server.ready().line["postgres"].as_str().unwrap();
    super::scope::database(database).await
}

/// Disables the subscription and puts this many events of this age into its queue.
async fn fill(server: &Server, count: i64, age: &str) {
    let disable = "UPDATE recollect.subscriptions SET enabled = false";
    let insert = format!(
        "INSERT INTO recollect.subscription_events
             (tenant_id, subscription, actor, action, app_id, user_id, subject, item_count, created_at)
         SELECT s.tenant_id, s.number, 'x', 'append_messages', '', '', n::text, 1,
             clock_timestamp() - interval '{age}'
         FROM recollect.subscriptions s, generate_series(1, {count}) AS n"
    );
    let database = database(server).await;
    database.batch_execute(disable).await.unwrap();
    database.batch_execute(&insert).await.unwrap();
}

/// Checks that this many events were dropped, and that the next batch says so once.
async fn drops(server: &Server, client: &Client, receiver: &Receiver, count: i64) {
    eventually("events are dropped", SOON, async || {
        get(client, NAME).await.dropped_count == count
    })
    .await;
    let thread_id = client.thread("app").await;
    let empty = "DELETE FROM recollect.subscription_events;
                 UPDATE recollect.subscriptions SET enabled = true";
    database(server).await.batch_execute(empty).await.unwrap();
    let client = server.client(Key::Acme).await;
    for delivered in 1..=2 {
        client.append_text(&thread_id, "hello").await;
        has_taken(receiver, delivered).await;
    }
    let deliveries = receiver.deliveries();
    let dropped = deliveries
        .iter()
        .map(|one| one.json()["dropped_count"].as_i64());
    assert_eq!(dropped.collect::<Vec<_>>(), [Some(count), Some(0)]);
    assert_eq!(get(&client, NAME).await.dropped_count, count);
}
