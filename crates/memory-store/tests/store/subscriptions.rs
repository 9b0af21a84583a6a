//! Workers claim webhooks so that tenants leave places to each other, and give receivers their pauses.

use std::collections::HashMap;
use std::time::Duration;

use memory_store::{Keyring, LeaseId, SubscriptionChange};

use crate::world::World;

impl World {
    /// Gives a tenant this many subscriptions `s1`, `s2`, … to webhooks, with an event in each.
    async fn webhooks(&self, tenant: &str, count: i64) {
        let owner = self.owner().await;
        let subscribe = format!(
            "INSERT INTO recollect.subscriptions (tenant_id, name, app_id, user_id, actions, url)
             SELECT '{tenant}', 's' || n, '', '', '{{}}', 'https://example.com/'
             FROM generate_series(1, {count}) AS n;
             INSERT INTO recollect.subscription_events
                 (tenant_id, subscription, actor, action, app_id, user_id, subject, item_count)
             SELECT s.tenant_id, s.number, 'backend', 'append_messages', '', '', '1', 1
             FROM recollect.subscriptions s WHERE s.tenant_id = '{tenant}'"
        );
        owner.batch_execute(&subscribe).await.unwrap();
    }

    /// How many subscriptions of each tenant a claim gets.
    async fn leased(&self, free: usize) -> HashMap<String, usize> {
        let mut counts = HashMap::new();
        for due in self.workers.subscriptions().claim(free).await.unwrap() {
            *counts.entry(due.tenant.as_str().to_owned()).or_default() += 1;
        }
        counts
    }
}

#[tokio::test]
async fn a_tenant_alone_has_a_place_for_each_webhook() {
    let world = World::new().await;
    world.webhooks("a", 32).await;
    assert_eq!(
        world.leased(256).await,
        HashMap::from([("a".to_owned(), 32)])
    );
    assert!(world.leased(224).await.is_empty());
}

#[tokio::test]
async fn tenants_with_many_webhooks_leave_places_for_others() {
    let world = World::new().await;
    for tenant in 1..=8 {
        world.webhooks(&format!("many-{tenant}"), 32).await;
    }
    let first = world.leased(256).await;
    assert_eq!(first.len(), 8);
    assert!(
        first.values().all(|count| (21..=22).contains(count)),
        "{first:?}"
    );
    let free = 256 - first.values().sum::<usize>();
    assert_eq!(free, 84);
    assert!(world.leased(free).await.is_empty());
    world.webhooks("new", 32).await;
    let next = world.leased(free).await;
    assert_eq!(next, HashMap::from([("new".to_owned(), 17)]));
    // The last place is for a tenant that has none.
    world.webhooks("newer", 2).await;
    assert_eq!(
        world.leased(1).await,
        HashMap::from([("newer".to_owned(), 1)])
    );
}

#[tokio::test]
async fn a_stream_does_not_shorten_the_pause_of_a_receiver() {
    let world = World::new().await;
    world.webhooks("a", 1).await;
    let queue = world.workers.subscriptions();
    let subscriptions = world.store.secrets(Keyring::default()).subscriptions();
    let caller = &world.caller;
    let due = queue.claim(1).await.unwrap().remove(0);
    let pause = Some(Duration::from_secs(3_600));
    let failed = subscriptions.fail(caller, &due, "the receiver answered 503", pause);
    failed.await.unwrap();
    let stream = LeaseId::new();
    let lease = subscriptions.lease(caller, &due.name, stream);
    assert!(lease.await.unwrap());
    let release = subscriptions.release(caller, &due.name, stream);
    release.await.unwrap();
    assert!(queue.claim(1).await.unwrap().is_empty());
    // An administrator's change ends the pause.
    let change = SubscriptionChange::default();
    let update = subscriptions.update(caller, &due.name, &change);
    update.await.unwrap();
    assert_eq!(queue.claim(1).await.unwrap().len(), 1);
}
