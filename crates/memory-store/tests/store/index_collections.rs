use std::time::Duration;

use memory_contract::message::Role;
use memory_store::{CollectionChange, CollectionState, Freshness, JobKind, Outbox};

use crate::world::{World, said};

const MINUTE: Duration = Duration::from_secs(60);
const PENDING: Freshness = Freshness {
    pending: true,
    dead_letters: 0,
};
const FRESH: Freshness = Freshness {
    pending: false,
    dead_letters: 0,
};

/// The collections with their states, in the order of the list.
async fn states(outbox: &Outbox) -> Vec<(String, CollectionState)> {
    let all = outbox.list_collections().await.unwrap().into_iter();
    all.map(|one| (one.name, one.state)).collect()
}

/// The queues of the collections `a` and `b`.
fn queues(world: &World) -> (Outbox, Outbox) {
    let [a, b] = ["a", "b"].map(|name| world.outbox.of_collection(name));
    (a, b)
}

/// Records the collections of a server.
async fn open(outbox: &Outbox, first: &str, next: Option<&str>) {
    assert!(outbox.open_collections(first, next).await.unwrap());
}

/// Makes the last change of each collection's state a minute older.
async fn age(world: &World) {
    let sql =
        "UPDATE recollect.index_collections SET changed_at = changed_at - interval '1 minute'";
    world.owner().await.execute(sql, &[]).await.unwrap();
}

/// The number of a collection.
async fn number(world: &World, name: &str) -> i32 {
    let all = world.store.index_collections().await.unwrap();
    all.iter().find(|one| one.name == name).unwrap().number
}

fn state(name: &str, state: CollectionState) -> (String, CollectionState) {
    (name.to_owned(), state)
}

/// Claims and acknowledges everything that waits for a collection, and returns how many
/// changes there were.
async fn drain(outbox: &Outbox) -> usize {
    let mut drained = 0;
    loop {
        let claim = outbox.claim(100, MINUTE).await.unwrap();
        if claim.jobs.is_empty() {
            return drained;
        }
        let ids: Vec<i64> = claim.jobs.iter().map(|job| job.id).collect();
        outbox.ack(claim.lease, &ids).await.unwrap();
        drained += ids.len();
    }
}

#[tokio::test]
async fn each_change_waits_for_both_collections_until_each_has_it() {
    let world = World::new().await;
    let thread = world.thread().await.id;
    open(&world.outbox, "a", None).await;
    world
        .append(thread, vec![said(Role::User, "before")])
        .await
        .unwrap();
    open(&world.outbox, "a", Some("b")).await;
    // What was there before is queued for the second one on request.
    let (a, b) = queues(&world);
    assert_eq!(drain(&b).await, 0);
    let index = world.store.index(&world.caller);
    let filled = number(&world, "b").await;
    assert_eq!(index.fill(filled).await.unwrap(), 1);
    b.set_queued(filled, true).await.unwrap();
    let after = world
        .append(thread, vec![said(Role::User, "after")])
        .await
        .unwrap();
    let freshness = async || {
        let messages = world.store.messages(&world.caller);
        messages.freshness(&after.revision).await.unwrap()
    };

    let list = b.list_collections().await.unwrap();
    let progress: Vec<_> = list
        .iter()
        .map(|one| (one.complete, one.waiting.pending))
        .collect();
    assert_eq!(progress, [(true, 2), (false, 2)]);
    assert_eq!(freshness().await, PENDING);
    let unknown = world.outbox.of_collection("c");
    assert_eq!(drain(&unknown).await, 0);
    assert_eq!(drain(&a).await, 2);
    // Callers wait for the serving collection alone.
    assert_eq!(freshness().await, FRESH);
    assert_eq!(a.stats().await.unwrap().pending, 0);
    assert_eq!(b.stats().await.unwrap().pending, 2);

    let refused = b.switch_collection("b", false).await.unwrap();
    assert_eq!(refused, CollectionChange::Incomplete);
    let claim = b.claim(1, MINUTE).await.unwrap();
    let ids: Vec<i64> = claim.jobs.iter().map(|job| job.id).collect();
    b.ack(claim.lease, &ids).await.unwrap();
    assert_eq!(drain(&b).await, 1);
    assert!(b.list_collections().await.unwrap()[1].complete);
    let deleted = world.store.messages(&world.caller);
    deleted
        .delete_message(thread, after.messages[0].id)
        .await
        .unwrap();
    for queue in [&a, &b] {
        let jobs = queue.claim(100, MINUTE).await.unwrap().jobs;
        let deletions = jobs
            .iter()
            .filter(|job| matches!(job.kind, JobKind::Delete(_)));
        assert_eq!(deletions.count(), 1, "{jobs:?}");
    }
}

#[tokio::test]
async fn one_worker_at_a_time_fills_a_collection() {
    let world = World::new().await;
    open(&world.outbox, "a", None).await;
    let (a, number) = (&world.outbox, number(&world, "a").await);
    assert!(a.lease_to_fill(number, MINUTE, false).await.unwrap());
    assert!(!a.lease_to_fill(number, MINUTE, false).await.unwrap());
    assert!(a.lease_to_fill(number, MINUTE, true).await.unwrap());
    a.release_collection(number).await.unwrap();
    assert!(
        a.lease_to_fill(number, Duration::ZERO, false)
            .await
            .unwrap()
    );
    // That one ended by itself.
    assert!(a.lease_to_fill(number, MINUTE, false).await.unwrap());
    a.release_collection(number).await.unwrap();
    // An abandoned one receives no changes.
    open(&world.outbox, "c", None).await;
    for extend in [false, true] {
        assert!(!a.lease_to_fill(number, MINUTE, extend).await.unwrap());
    }
}

#[tokio::test]
async fn a_switch_takes_the_waiting_changes_along_and_can_be_taken_back() {
    let world = World::new().await;
    let thread = world.thread().await.id;
    open(&world.outbox, "a", Some("b")).await;
    let (a, b) = queues(&world);
    b.set_queued(number(&world, "b").await, true).await.unwrap();
    let stored = world
        .append(thread, vec![said(Role::User, "one")])
        .await
        .unwrap();
    assert_eq!(drain(&a).await, 1);
    let freshness = async || {
        let messages = world.store.messages(&world.caller);
        messages.freshness(&stored.revision).await.unwrap()
    };
    assert_eq!(freshness().await, FRESH);

    let changed = b.switch_collection("b", false).await.unwrap();
    assert_eq!(changed, CollectionChange::Done);
    assert_eq!(
        states(&b).await,
        [
            state("b", CollectionState::Serving),
            state("a", CollectionState::Beside)
        ]
    );
    // The new one has not applied the change, whatever its number in the other queue was.
    assert_eq!(freshness().await, PENDING);
    assert_eq!(drain(&a).await, 0);
    assert_eq!(drain(&b).await, 1);
    assert_eq!(freshness().await, FRESH);
    world
        .append(thread, vec![said(Role::User, "two")])
        .await
        .unwrap();
    assert_eq!(drain(&b).await, 1);
    let changed = b.switch_collection("a", false).await.unwrap();
    assert_eq!(changed, CollectionChange::Done);
    assert_eq!(drain(&a).await, 1);
    // Servers may still search what served until a moment ago.
    let recent = b.retire_collection("b").await.unwrap();
    assert_eq!(recent, CollectionChange::Recent);
    age(&world).await;
    for (name, change) in [
        ("a", CollectionChange::Serving),
        ("c", CollectionChange::NotFound),
        ("b", CollectionChange::Done),
    ] {
        assert_eq!(b.retire_collection(name).await.unwrap(), change, "{name}");
    }
    let refused = b.switch_collection("b", true).await.unwrap();
    assert_eq!(refused, CollectionChange::Outdated);
    world
        .append(thread, vec![said(Role::User, "three")])
        .await
        .unwrap();
    assert_eq!((drain(&a).await, drain(&b).await), (1, 0));
    for name in ["a", "b"] {
        b.forget_collection(number(&world, name).await)
            .await
            .unwrap();
    }
    assert_eq!(states(&a).await, [state("a", CollectionState::Serving)]);
}

#[tokio::test]
async fn a_server_without_the_serving_model_takes_over_and_the_former_index_is_outdated() {
    let world = World::new().await;
    let thread = world.thread().await.id;
    let outbox = &world.outbox;
    open(outbox, "a", Some("b")).await;
    // A server that has the serving one among its two changes nothing.
    for (first, next) in [("a", Some("b")), ("b", Some("a"))] {
        open(outbox, first, next).await;
        assert_eq!(
            states(outbox).await[0],
            state("a", CollectionState::Serving)
        );
        assert_eq!(states(outbox).await[1], state("b", CollectionState::Beside));
    }
    world
        .append(thread, vec![said(Role::User, "one")])
        .await
        .unwrap();
    open(outbox, "b", None).await;
    let outdated = state("a", CollectionState::Abandoned);
    assert_eq!(
        states(outbox).await,
        [state("b", CollectionState::Serving), outdated.clone()]
    );
    // A process that still searches the former one knows that it lacks changes.
    let revision = world
        .append(thread, vec![said(Role::User, "two")])
        .await
        .unwrap()
        .revision;
    let searching = async |name: &str| {
        let store = world.store.searching(name);
        let messages = store.messages(&world.caller);
        messages.freshness(&revision).await.unwrap()
    };
    assert_eq!(searching("a").await, PENDING);
    assert_eq!(drain(&outbox.of_collection("a")).await, 0);
    assert_eq!(drain(&outbox.of_collection("b")).await, 2);
    assert_eq!(searching("b").await, FRESH);
    assert_eq!(searching("a").await, PENDING);

    // One that comes back has to be filled again; a third one replaces the second.
    open(outbox, "b", Some("a")).await;
    let all = world.store.index_collections().await.unwrap();
    let again = all.iter().find(|one| one.name == "a").unwrap();
    assert_eq!(
        (again.state, again.queued),
        (CollectionState::Beside, false)
    );
    open(outbox, "b", Some("c")).await;
    assert_eq!(
        states(outbox).await,
        [
            state("b", CollectionState::Serving),
            state("c", CollectionState::Beside),
            outdated
        ]
    );
}

#[tokio::test]
async fn a_second_collection_without_a_worker_is_abandoned_with_its_changes() {
    let world = World::new().await;
    let thread = world.thread().await.id;
    let outbox = &world.outbox;
    open(outbox, "a", Some("b")).await;
    world
        .append(thread, vec![said(Role::User, "one")])
        .await
        .unwrap();
    let attend = async |names: &[&str], limit| {
        let more = outbox.record_heartbeat(names, limit, 100).await.unwrap();
        assert!(!more);
        states(outbox).await[1].1
    };
    assert_eq!(attend(&["a"], MINUTE).await, CollectionState::Beside);
    assert_eq!(
        attend(&["a", "b"], Duration::ZERO).await,
        CollectionState::Beside
    );
    let waiting = async || {
        let owner = world.owner().await;
        let count = "SELECT count(*) FROM recollect.outbox";
        owner.query_one(count, &[]).await.unwrap().get::<_, i64>(0)
    };
    assert_eq!(waiting().await, 2);
    assert_eq!(
        attend(&["a"], Duration::ZERO).await,
        CollectionState::Abandoned
    );
    assert_eq!(waiting().await, 1);
}

#[tokio::test]
async fn a_deletion_reaches_a_second_collection_that_is_ahead() {
    let world = World::new().await;
    let thread = world.thread().await.id;
    open(&world.outbox, "a", Some("b")).await;
    let (a, b) = queues(&world);
    let stored = world
        .append(
            thread,
            vec![said(Role::User, "one"), said(Role::User, "two")],
        )
        .await
        .unwrap();
    // The index entry of the second message has the words of the first one.
    assert_eq!(drain(&b).await, 2);
    let messages = world.store.messages(&world.caller);
    messages
        .delete_message(thread, stored.messages[0].id)
        .await
        .unwrap();
    for queue in [&a, &b] {
        let jobs = queue.claim(100, MINUTE).await.unwrap().jobs;
        let again = JobKind::Upsert(stored.messages[1].id);
        assert!(jobs.iter().any(|job| job.kind == again), "{jobs:?}");
    }
}

#[tokio::test]
async fn filling_ends_with_the_role_of_its_collection_and_concerns_no_other() {
    let world = World::new().await;
    let thread = world.thread().await.id;
    open(&world.outbox, "a", Some("b")).await;
    let (a, b) = queues(&world);
    world
        .append(thread, vec![said(Role::User, "one")])
        .await
        .unwrap();
    assert_eq!((drain(&a).await, drain(&b).await), (1, 1));
    let index = world.store.index(&world.caller);
    let former = number(&world, "b").await;
    assert_eq!(index.fill(former).await.unwrap(), 1);
    assert_eq!((drain(&a).await, drain(&b).await), (0, 1));
    // Indexing everything again concerns the serving one.
    assert_eq!(index.enqueue_all(None).await.unwrap(), 1);
    assert_eq!((drain(&a).await, drain(&b).await), (1, 0));

    // Retired and opened again: the work of before is of another collection.
    age(&world).await;
    let retired = b.retire_collection("b").await.unwrap();
    assert_eq!(retired, CollectionChange::Done);
    open(&world.outbox, "a", Some("b")).await;
    assert_eq!(index.fill(former).await.unwrap(), 0);
    b.set_queued(former, true).await.unwrap();
    assert!(!b.list_collections().await.unwrap()[1].complete);
    let present = number(&world, "b").await;
    assert_ne!(present, former);
    assert_eq!(index.fill(present).await.unwrap(), 1);
    b.set_queued(present, true).await.unwrap();
    assert_eq!(drain(&b).await, 1);
    assert!(b.list_collections().await.unwrap()[1].complete);
}

#[tokio::test]
async fn concurrent_switches_to_one_collection_leave_it_serving() {
    let world = World::new().await;
    open(&world.outbox, "a", Some("b")).await;
    let number = number(&world, "b").await;
    world.outbox.set_queued(number, true).await.unwrap();
    let switches = (0..4).map(|_| world.outbox.switch_collection("b", false));
    for switched in futures::future::join_all(switches).await {
        assert_eq!(switched.unwrap(), CollectionChange::Done);
    }
    assert_eq!(
        states(&world.outbox).await,
        [
            state("b", CollectionState::Serving),
            state("a", CollectionState::Beside)
        ]
    );
}
