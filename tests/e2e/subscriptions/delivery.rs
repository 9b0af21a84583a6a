//! Webhooks are signed, and come in order over kills and outages.

use memory_contract::proto::{
    RotateSubscriptionSecretRequest, Subscription, UpdateSubscriptionRequest,
};
use recollect_tests::{
    Client, Cluster, DataDir, Key, Options, Receiver, ReceiverAnswer, Server, apply, eventually,
    mask, trial_with_own_server,
};

use super::{NAME, SOON, appends, are_whole, get, has_taken, options, subscribe};

/// Appends to threads of their own, one after the other, by as many writers.
async fn write(client: &Client, writers: usize, each: usize) {
    let mut tasks = Vec::new();
    for _ in 0..writers {
        let client = client.clone();
        tasks.push(tokio::spawn(async move {
            let thread_id = client.thread("app").await;
            for number in 0..each {
                client.append_text(&thread_id, &format!("{number}")).await;
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
}

#[apply(trial_with_own_server)]
async fn f09_each_change_of_many_writers_is_delivered_in_order_by_thread() {
    let (_dir, _server, client) = Server::start_own(&options()).await;
    let receiver = Receiver::new();
    subscribe(&client, appends(&receiver.url())).await;
    write(&client, 16, 25).await;
    has_taken(&receiver, 400).await;
    are_whole(&receiver.events(), 16, 25);
    let state = async || get(&client, NAME).await;
    eventually("all is acknowledged", SOON, async || {
        state().await.delivered_count == 400
    })
    .await;
    let state = state().await;
    assert_eq!((state.waiting_count, state.dropped_count), (0, 0));
    assert_eq!(state.lag.unwrap().seconds, 0);
}

#[apply(trial_with_own_server)]
async fn f09_nothing_is_lost_when_the_worker_is_killed_in_the_middle() {
    // Longer than the worker lives.
    let slow = || ReceiverAnswer {
        after: std::time::Duration::from_millis(200),
        ..ReceiverAnswer::status(200)
    };
    let (dir, mut server, mut client) = Server::start_own(&options()).await;
    let receiver = Receiver::answering(move |_| slow());
    subscribe(&client, appends(&receiver.url())).await;
    for round in 1..=3 {
        write(&client, 4, 60).await;
        let before = receiver.deliveries().len();
        eventually("a batch is on its way", SOON, async || {
            receiver.deliveries().len() > before
        })
        .await;
        server.kill();
        server = Server::start(&dir, &options());
        client = server.client(Key::Acme).await;
        has_taken(&receiver, round * 240).await;
    }
    are_whole(&receiver.events(), 12, 60);
    // A repeated batch has the same id and the same events.
    let deliveries = receiver.deliveries();
    for one in &deliveries {
        let same = deliveries
            .iter()
            .filter(|other| other.header("webhook-id") == one.header("webhook-id"));
        assert!(same.into_iter().all(|other| other.events() == one.events()));
    }
}

#[apply(trial_with_own_server)]
async fn f09_a_worker_goes_on_where_another_was_killed() {
    let (_cluster, url) = Cluster::migrated().await;
    let dir = DataDir::new();
    let key = "secrets.key = \"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\"";
    let lines = [
        "embedding.kind = \"none\"",
        "worker.webhooks.allow_private = true",
        key,
    ];
    let process = |index: &str| Options::serve(&url, &lines).index(&dir, index);
    let first = Server::start(&dir, &process("one"));
    let second = Server::start(&dir, &process("other"));
    let client = second.client(Key::Acme).await;
    let receiver = Receiver::answering(|_| ReceiverAnswer {
        after: std::time::Duration::from_millis(50),
        ..ReceiverAnswer::status(204)
    });
    subscribe(&client, appends(&receiver.url())).await;
    write(&client, 8, 50).await;
    first.kill();
    has_taken(&receiver, 400).await;
    are_whole(&receiver.events(), 8, 50);
}

#[apply(trial_with_own_server)]
async fn f10_webhooks_are_signed_also_with_a_former_secret() {
    let (dir, _server, client) = Server::start_own(&options()).await;
    let receiver = Receiver::new();
    let former = subscribe(&client, appends(&receiver.url())).await;
    write(&client, 1, 1).await;
    has_taken(&receiver, 1).await;
    let request = RotateSubscriptionSecretRequest {
        name: NAME.to_owned(),
    };
    let secret = client.call(request).await.secret;
    assert_ne!(secret, former);
    write(&client, 1, 1).await;
    has_taken(&receiver, 2).await;
    let [first, second] = receiver.deliveries().try_into().unwrap();
    assert!(first.is_signed_with(&former) && !first.is_signed_with(&secret));
    assert!(second.is_signed_with(&former) && second.is_signed_with(&secret));
    assert_ne!(first.header("webhook-id"), second.header("webhook-id"));
    assert_eq!(first.header("content-type"), "application/json");
    assert_eq!(first.path, "/hooks");
    let body = first.json();
    assert_eq!(body["subscription"], NAME);
    assert_eq!(body["events"][0]["actor"], Key::Acme.name());
    let log = dir.log();
    assert!(!log.contains(&secret) && !log.contains(&former));
}

#[apply(trial_with_own_server)]
async fn f10_a_disabled_subscription_gets_nothing_and_goes_on_when_enabled() {
    let (_dir, _server, client) = Server::start_own(&options()).await;
    let receiver = Receiver::new();
    subscribe(&client, appends(&receiver.url())).await;
    let enable = async |enabled| {
        let request = UpdateSubscriptionRequest {
            subscription: Some(Subscription {
                name: NAME.to_owned(),
                enabled,
                ..Default::default()
            }),
            update_mask: Some(mask(&["enabled"])),
        };
        let changed = client.call(request).await.subscription.unwrap();
        assert_eq!(changed.enabled, enabled);
    };
    enable(false).await;
    write(&client, 1, 3).await;
    enable(true).await;
    write(&client, 1, 2).await;
    has_taken(&receiver, 2).await;
    are_whole(&receiver.events(), 1, 2);
}
