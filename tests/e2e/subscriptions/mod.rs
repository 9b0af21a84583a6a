//! Subscriptions deliver each change at least once and in order, by webhooks and by streams.

mod addresses;
mod delivery;
mod failures;
mod scope;
mod streams;

use std::collections::BTreeMap;
use std::time::Duration;

use memory_contract::proto::{
    CreateSubscriptionRequest, GetSubscriptionRequest, Subscription, TransactionAction,
};
use recollect_tests::{Client, Options, Receiver, eventually};
use serde_json::Value;

/// How long a delivery may take that waits for no pause.
const SOON: Duration = Duration::from_secs(60);
/// The name of the subscription of most tests.
const NAME: &str = "crm";

/// A server without a model that may send to this machine. Nothing changes by itself.
fn options() -> Options {
    Options::with(&[
        "embedding.kind = \"none\"",
        "worker.distill.enabled = false",
        "worker.webhooks.allow_private = true",
    ])
}

/// A subscription to appended messages.
fn appends(url: &str) -> CreateSubscriptionRequest {
    CreateSubscriptionRequest {
        name: NAME.to_owned(),
        actions: vec![TransactionAction::AppendMessages.into()],
        url: url.to_owned(),
        ..Default::default()
    }
}

/// Creates a subscription; its secret.
async fn subscribe(client: &Client, request: CreateSubscriptionRequest) -> String {
    let created = client.call(request).await;
    assert!(created.subscription.unwrap().enabled);
    created.secret
}

async fn get(client: &Client, name: &str) -> Subscription {
    let request = GetSubscriptionRequest {
        name: name.to_owned(),
    };
    client.call(request).await.subscription.unwrap()
}

/// Waits until a receiver has taken this many events.
async fn has_taken(receiver: &Receiver, count: usize) {
    let what = format!("{count} events were delivered");
    eventually(&what, SOON, async || receiver.events().len() >= count).await;
}

/// The first seq of each append, by thread.
fn seqs(events: &[Value]) -> BTreeMap<String, Vec<i64>> {
    let mut seqs: BTreeMap<String, Vec<i64>> = BTreeMap::new();
    for event in events {
        assert_eq!(event["action"], "append_messages", "{event}");
        let seq = event["subject"].as_str().unwrap().parse().unwrap();
        let thread = event["thread_id"].as_str().unwrap().to_owned();
        seqs.entry(thread).or_default().push(seq);
    }
    seqs
}

/// Each thread's appends came, in order: seqs from 1 on, one each.
fn are_whole(events: &[Value], threads: usize, each: i64) {
    let seqs = seqs(events);
    assert_eq!(seqs.len(), threads);
    for (thread, seqs) in seqs {
        assert_eq!(seqs, (1..=each).collect::<Vec<_>>(), "{thread}");
    }
}
