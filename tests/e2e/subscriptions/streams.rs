//! Streams of events, and their acknowledgment.

use std::time::Duration;

use memory_contract::proto::{
    AcknowledgeEventsRequest, StreamEventsRequest, StreamEventsResponse, SubscriptionEvent,
};
use recollect_tests::{Client, Key, Receiver, Server, apply, eventually, trial_with_own_server};
use tokio::time::timeout;
use tonic::Streaming;

use super::{NAME, SOON, appends, get, has_taken, options, subscribe};

async fn stream(client: &Client) -> Streaming<StreamEventsResponse> {
    let request = StreamEventsRequest {
        name: NAME.to_owned(),
    };
    let begun = client.subscriptions().stream_events(request).await;
    begun.unwrap().into_inner()
}

async fn next(stream: &mut Streaming<StreamEventsResponse>) -> StreamEventsResponse {
    let next = timeout(SOON, stream.message()).await;
    next.expect("a batch comes").unwrap().unwrap()
}

/// Whether it was not acknowledged before.
async fn acknowledge(client: &Client, batch: &StreamEventsResponse) -> bool {
    let request = AcknowledgeEventsRequest {
        name: NAME.to_owned(),
        batch_id: batch.batch_id.clone(),
    };
    client.call(request).await.acknowledged
}

fn seqs(events: &[SubscriptionEvent]) -> Vec<i64> {
    let seqs = events.iter().map(|event| event.subject.parse().unwrap());
    seqs.collect()
}

async fn write(client: &Client, thread_id: &str, count: usize) {
    for _ in 0..count {
        client.append_text(thread_id, "hello").await;
    }
}

#[apply(trial_with_own_server)]
async fn f11_a_stream_resumes_after_what_was_acknowledged() {
    let options = options();
    let (dir, server, client) = Server::start_own(&options).await;
    assert_eq!(subscribe(&client, appends("")).await, "");
    let thread_id = client.thread("app").await;
    write(&client, &thread_id, 150).await;
    let mut events = stream(&client).await;
    let first = next(&mut events).await;
    assert_eq!(seqs(&first.events), (1..=100).collect::<Vec<_>>());
    // The next batch waits for the acknowledgment.
    assert!(
        timeout(Duration::from_secs(2), events.message())
            .await
            .is_err()
    );
    drop(events);
    // Not acknowledged: it comes again, unchanged, also after a kill.
    let mut events = stream(&client).await;
    assert_eq!(next(&mut events).await, first);
    server.kill();
    let server = Server::start(&dir, &options);
    let client = server.client(Key::Acme).await;
    let mut events = stream(&client).await;
    assert_eq!(next(&mut events).await, first);
    assert!(acknowledge(&client, &first).await);
    let second = next(&mut events).await;
    assert_eq!(seqs(&second.events), (101..=150).collect::<Vec<_>>());
    assert!(!acknowledge(&client, &first).await);
    assert!(acknowledge(&client, &second).await);
    // It goes on with what comes.
    write(&client, &thread_id, 1).await;
    let third = next(&mut events).await;
    assert_eq!(seqs(&third.events), [151]);
    let event = &third.events[0];
    assert_eq!(
        (event.thread_id.as_str(), event.item_count),
        (thread_id.as_str(), 1)
    );
    assert_eq!(event.actor, Key::Acme.name());
    drop(events);
    let state = get(&client, NAME).await;
    assert_eq!((state.delivered_count, state.waiting_count), (150, 1));
}

#[apply(trial_with_own_server)]
async fn f11_two_streams_share_a_subscription() {
    let (_dir, _server, client) = Server::start_own(&options()).await;
    subscribe(&client, appends("")).await;
    let thread_id = client.thread("app").await;
    write(&client, &thread_id, 120).await;
    let mut one = stream(&client).await;
    let first = next(&mut one).await;
    let mut other = stream(&client).await;
    assert!(
        timeout(Duration::from_secs(2), other.message())
            .await
            .is_err()
    );
    assert!(acknowledge(&client, &first).await);
    drop(one);
    let second = next(&mut other).await;
    assert_eq!(seqs(&second.events), (101..=120).collect::<Vec<_>>());
}

#[apply(trial_with_own_server)]
async fn f11_a_stream_takes_the_place_of_a_webhook_that_fails() {
    let (_dir, _server, client) = Server::start_own(&options()).await;
    let receiver = Receiver::answering(|number| {
        recollect_tests::ReceiverAnswer::status(if number < 3 { 500 } else { 200 })
    });
    subscribe(&client, appends(&receiver.url())).await;
    let thread_id = client.thread("app").await;
    write(&client, &thread_id, 1).await;
    eventually("it fails", SOON, async || receiver.deliveries().len() >= 2).await;
    let mut events = stream(&client).await;
    let batch = next(&mut events).await;
    assert_eq!(
        batch.batch_id,
        receiver.deliveries()[0].header("webhook-id")
    );
    assert!(acknowledge(&client, &batch).await);
    drop(events);
    write(&client, &thread_id, 1).await;
    has_taken(&receiver, 1).await;
    assert_eq!(receiver.events()[0]["subject"], "2");
}
