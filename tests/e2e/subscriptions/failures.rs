//! Receivers that fail, are slow or are away, and what shows it.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use memory_contract::proto::{
    CreateSubscriptionRequest, ListSubscriptionsRequest, RotateSubscriptionSecretRequest,
};
use recollect_tests::{
    Client, Receiver, ReceiverAnswer, Server, apply, eventually, free_addr, trial_with_own_server,
};

use super::scope::database;
use super::{NAME, SOON, appends, are_whole, get, has_taken, options, subscribe};

/// Appends to one new thread.
async fn write(client: &Client, count: usize) {
    let thread_id = client.thread("app").await;
    for _ in 0..count {
        client.append_text(&thread_id, "hello").await;
    }
}

fn named(name: &str, url: &str) -> CreateSubscriptionRequest {
    CreateSubscriptionRequest {
        name: name.to_owned(),
        ..appends(url)
    }
}

#[apply(trial_with_own_server)]
async fn f10_a_failed_batch_is_sent_again_after_growing_pauses() {
    let (_dir, _server, client) = Server::start_own(&options()).await;
    let receiver = Receiver::answering(|number| match number {
        0 => ReceiverAnswer::status(500),
        1 => ReceiverAnswer::status(404),
        2 => ReceiverAnswer {
            headers: vec![("retry-after", "6".to_owned())],
            ..ReceiverAnswer::status(503)
        },
        _ => ReceiverAnswer::status(200),
    });
    subscribe(&client, appends(&receiver.url())).await;
    write(&client, 1).await;
    eventually("the failure is visible", SOON, async || {
        let state = get(&client, NAME).await;
        state.failed_attempts > 0
            && state.last_error.contains("the receiver answered")
            && state.last_error_time.is_some()
    })
    .await;
    has_taken(&receiver, 1).await;
    let deliveries = receiver.deliveries();
    let pauses: Vec<Duration> = deliveries
        .windows(2)
        .map(|pair| pair[1].at - pair[0].at)
        .collect();
    let seconds = |number: usize| pauses[number].as_secs_f64();
    // Half a second to one, and twice that.
    assert!(seconds(0) > 0.4 && seconds(1) > 0.9, "{pauses:?}");
    assert!(seconds(2) > 5.9, "{pauses:?}");
    let id = deliveries[0].header("webhook-id");
    assert!(deliveries.iter().all(|one| one.header("webhook-id") == id));
    assert!(deliveries.iter().all(|one| one.body == deliveries[0].body));
    eventually("the failure is forgotten", SOON, async || {
        let state = get(&client, NAME).await;
        (state.failed_attempts, state.last_error.as_str()) == (0, "")
    })
    .await;
}

#[apply(trial_with_own_server)]
async fn f10_slow_and_failing_receivers_hold_back_no_other() {
    let (_dir, _server, client) = Server::start_own(&options()).await;
    let slow = Receiver::answering(|_| ReceiverAnswer {
        after: Duration::from_secs(3_600),
        ..ReceiverAnswer::status(200)
    });
    let failing = Receiver::answering(|_| ReceiverAnswer::status(500));
    let away = format!("http://{}/", free_addr());
    let good = Receiver::new();
    for number in 0..6 {
        subscribe(&client, named(&format!("slow-{number}"), &slow.url())).await;
        subscribe(&client, named(&format!("failing-{number}"), &failing.url())).await;
        subscribe(&client, named(&format!("away-{number}"), &away)).await;
    }
    write(&client, 1).await;
    eventually("slow ones are under way", SOON, async || {
        slow.deliveries().len() >= 6 && failing.deliveries().len() >= 6
    })
    .await;
    subscribe(&client, appends(&good.url())).await;
    write(&client, 50).await;
    let start = Instant::now();
    has_taken(&good, 50).await;
    are_whole(&good.events(), 1, 50);
    assert!(
        start.elapsed() < Duration::from_secs(30),
        "{:?}",
        start.elapsed()
    );
    let all = client.call(ListSubscriptionsRequest {}).await.subscriptions;
    assert_eq!(all.len(), 19);
    for one in &all {
        if one.name.starts_with("away") || one.name.starts_with("failing") {
            assert!(
                one.waiting_count == 51 && !one.last_error.is_empty(),
                "{one:?}"
            );
        }
    }
}

#[apply(trial_with_own_server)]
async fn f10_webhooks_resume_where_they_stopped() {
    let (_dir, _server, client) = Server::start_own(&options()).await;
    let addr: SocketAddr = free_addr().parse().unwrap();
    subscribe(&client, appends(&format!("http://{addr}/hooks"))).await;
    let first = Receiver::at(addr, |_| ReceiverAnswer::status(200));
    let thread_id = client.thread("app").await;
    for _ in 0..20 {
        client.append_text(&thread_id, "hello").await;
    }
    has_taken(&first, 20).await;
    // A batch whose answer a receiver did not get to send comes again.
    eventually("all are acknowledged", SOON, async || {
        get(&client, NAME).await.waiting_count == 0
    })
    .await;
    let mut events = first.events();
    drop(first);
    for _ in 0..150 {
        client.append_text(&thread_id, "hello").await;
    }
    eventually("its absence is noticed", SOON, async || {
        get(&client, NAME).await.failed_attempts > 0
    })
    .await;
    let again = Receiver::at(addr, |_| ReceiverAnswer::status(200));
    has_taken(&again, 150).await;
    events.extend(again.events());
    are_whole(&events, 1, 170);
}

#[apply(trial_with_own_server)]
async fn f10_a_receiver_that_is_gone_disables_its_subscription() {
    let (_dir, _server, client) = Server::start_own(&options()).await;
    let receiver = Receiver::answering(|_| ReceiverAnswer::status(410));
    subscribe(&client, appends(&receiver.url())).await;
    write(&client, 1).await;
    eventually("it is disabled", SOON, async || {
        let state = get(&client, NAME).await;
        !state.enabled && state.last_error.contains("410")
    })
    .await;
    write(&client, 1).await;
    let state = get(&client, NAME).await;
    assert_eq!((state.waiting_count, receiver.deliveries().len()), (1, 1));
}

#[apply(trial_with_own_server)]
async fn f10_a_secret_that_cannot_be_read_is_a_failure_until_it_is_rotated() {
    let (_dir, server, client) = Server::start_own(&options()).await;
    let receiver = Receiver::new();
    subscribe(&client, appends(&receiver.url())).await;
    let database = database(server.ready().line["postgres"].as_str().unwrap()).await;
    let spoil = "UPDATE recollect.subscriptions SET nonce = decode(repeat('00', 12), 'hex')";
    assert_eq!(database.execute(spoil, &[]).await.unwrap(), 1);
    write(&client, 1).await;
    eventually("the failure is visible", SOON, async || {
        let state = get(&client, NAME).await;
        state.failed_attempts > 0 && state.last_error.contains("RotateSubscriptionSecret")
    })
    .await;
    assert!(receiver.deliveries().is_empty());
    let request = RotateSubscriptionSecretRequest {
        name: NAME.to_owned(),
    };
    let secret = client.call(request).await.secret;
    has_taken(&receiver, 1).await;
    assert!(receiver.deliveries()[0].is_signed_with(&secret));
}

#[apply(trial_with_own_server)]
async fn f10_redirects_are_not_followed() {
    let (_dir, _server, client) = Server::start_own(&options()).await;
    let other = Receiver::new();
    let target = other.url();
    let receiver = Receiver::answering(move |_| ReceiverAnswer {
        headers: vec![("location", target.clone())],
        ..ReceiverAnswer::status(307)
    });
    subscribe(&client, appends(&receiver.url())).await;
    write(&client, 1).await;
    eventually("it failed", SOON, async || {
        get(&client, NAME).await.last_error.contains("307")
    })
    .await;
    assert!(other.deliveries().is_empty());
}
