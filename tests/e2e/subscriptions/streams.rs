//! Streams of events, and their acknowledgment.

use std::time::Duration;

use memory_contract::proto::{
    AcknowledgeEventsRequest, CreateApiKeyRequest, CreateSubscriptionRequest, KeyScope,
    StreamEventsRequest, StreamEventsResponse, SubscriptionEvent,
};
use recollect_tests::{Client, Key, Receiver, Server, apply, eventually, trial_with_own_server};
use tokio::time::timeout;
use tonic::{Code, Streaming};

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

#[apply(trial_with_own_server)]
async fn f11_only_an_administrator_takes_the_events_of_a_webhook() {
    let (_dir, server, client) = Server::start_own(&options()).await;
    let receiver = Receiver::answering(|_| recollect_tests::ReceiverAnswer::status(500));
    subscribe(&client, appends(&receiver.url())).await;
    let streamed = CreateSubscriptionRequest {
        name: "streamed".to_owned(),
        ..appends("")
    };
    subscribe(&client, streamed).await;
    let request = CreateApiKeyRequest {
        name: "reader".to_owned(),
        scopes: vec![KeyScope::Read.into()],
        ..Default::default()
    };
    let secret = client.call(request).await.secret;
    let header = format!("Bearer {secret}");
    let reader = Client::with_authorization(&server.ready().addr, Some(&header)).await;
    let thread_id = client.thread("app").await;
    write(&client, &thread_id, 1).await;

    let request = StreamEventsRequest {
        name: NAME.to_owned(),
    };
    let refused = reader.subscriptions().stream_events(request).await;
    let refused = refused.unwrap_err();
    assert_eq!(refused.code(), Code::PermissionDenied);
    assert!(refused.message().contains("has a URL"), "{refused}");
    let batch = next(&mut stream(&client).await).await;
    let request = |name: &str, batch_id: String| AcknowledgeEventsRequest {
        name: name.to_owned(),
        batch_id,
    };
    let refused = reader.refused(request(NAME, batch.batch_id)).await;
    let refused = refused.is(Code::PermissionDenied, "PERMISSION_DENIED");
    assert_eq!(refused.metadata["scope"], "admin");
    assert_eq!(get(&client, NAME).await.waiting_count, 1);

    // Without a URL, any reader may take them.
    let streamed = StreamEventsRequest {
        name: "streamed".to_owned(),
    };
    let begun = reader.subscriptions().stream_events(streamed).await;
    let mut events = begun.unwrap().into_inner();
    let batch = next(&mut events).await;
    let acknowledge = request("streamed", batch.batch_id);
    assert!(reader.call(acknowledge).await.acknowledged);
}
