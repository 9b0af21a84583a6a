//! The indexer: the index converges to the store, also after failures.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use memory_contract::{
    AppId, MessageId,
    message::{MessageFilter, NewMessage, Role},
};
use memory_index::{Change, Index, IndexState, Indexer, IndexerConfig, Point, Search, Selection};
use memory_store::{DeadSubject, JobKind, Scope};
use memory_test_qdrant::{Fault, TestQdrant};
use memory_text::LexicalVector;
use tempfile::TempDir;
use tokio::sync::Barrier;

use crate::hooked::Hooked;
use crate::point::point;
use crate::world::{
    APP, Worker, World, caller, client, edge, eventually, message, points, quick, tenant, work,
    work_in_one_lane,
};

#[tokio::test(flavor = "multi_thread")]
async fn everything_said_is_indexed_and_everything_erased_is_forgotten() {
    let world = World::new().await;
    let (_directory, index) = edge();
    let thread = world.thread("ada").await;
    let other = world.thread("bo").await;
    let said = world.say_each(thread, 30).await;
    world
        .say(other, Role::User, "a message of another thread")
        .await;
    let mut working = work(&world, &index);
    eventually("the messages are indexed", async || {
        world.pending().await == 0
    })
    .await;
    assert_eq!(points(&*index).await, 31);
    // The worker counts a batch after it has acknowledged it.
    eventually("the changes are counted", async || {
        working.handle.status().acknowledged == 31
    })
    .await;
    assert_eq!(working.handle.status().last_error, None);
    eventually("the index is whole", async || {
        index.last_state() == IndexState::Ready
    })
    .await;

    world.erase(thread, said[3]).await;
    working.handle.wake();
    eventually("it is deleted", async || points(&*index).await == 30).await;
    world
        .store
        .threads(&caller())
        .clear_thread(thread)
        .await
        .unwrap();
    world.say(thread, Role::User, "a fresh start").await;
    working.handle.wake();
    eventually("they are deleted", async || world.pending().await == 0).await;
    assert_eq!(points(&*index).await, 2);
    working.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_erased_while_it_is_embedded_does_not_come_back() {
    let world = World::new().await;
    let thread = world.thread("ada").await;
    world.say(thread, Role::User, "it stays").await;
    let erased = world.say(thread, Role::User, "it goes").await;
    let (_directory, inner) = edge();
    let other = world.clone();
    let hooked = Hooked::new(inner, move |writes| {
        let world = other.clone();
        Box::pin(async move {
            if writes > 0 {
                return;
            }
            world.erase(thread, erased).await;
            // Another worker carries out the deletion.
            let lease = Duration::from_secs(60);
            let claim = world.outbox.claim(10, lease).await.unwrap();
            assert_eq!(claim.jobs.len(), 1);
            assert_eq!(claim.jobs[0].kind, JobKind::Delete(erased));
            let acknowledged = world.outbox.ack(claim.lease, &[claim.jobs[0].id]).await;
            assert_eq!(acknowledged.unwrap(), 1);
        })
    });
    let index: Arc<dyn Index> = Arc::clone(&hooked) as Arc<dyn Index>;
    let mut working = work_in_one_lane(&world, &index);
    eventually("all is done", async || world.pending().await == 0).await;
    assert_eq!(hooked.writes(), 2);
    assert_eq!(points(&*index).await, 1);
    working.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outage_costs_no_message_a_try() {
    let world = World::new().await;
    let server = TestQdrant::start().await.unwrap();
    server.set_fault(Fault::Unavailable);
    let index = client(&server);
    let thread = world.thread("ada").await;
    world
        .say(thread, Role::User, "before the outage ends")
        .await;
    let mut working = work(&world, &index);
    eventually("the error is seen", async || {
        working.handle.status().last_error.is_some()
    })
    .await;
    server.set_fault(Fault::None);
    eventually("it is indexed", async || world.pending().await == 0).await;
    server.set_fault(Fault::Unavailable);
    world
        .say(thread, Role::User, "in the middle of another")
        .await;
    working.handle.wake();
    // Long enough for more tries than a message has.
    tokio::time::sleep(Duration::from_millis(400)).await;
    assert_eq!(world.pending().await, 1);
    assert_eq!(world.dead_letters().await, []);
    server.set_fault(Fault::None);
    eventually("it is indexed too", async || world.pending().await == 0).await;
    assert_eq!(points(&*index).await, 2);

    world.set_available(false);
    tokio::time::sleep(Duration::from_millis(100)).await;
    world.set_available(true);
    world
        .say(thread, Role::User, "after the store came back")
        .await;
    eventually("the store is asked again", async || {
        world.pending().await == 0
    })
    .await;
    assert_eq!(world.dead_letters().await, []);
    working.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_that_are_refused_are_given_up_alone_with_their_reason() {
    let world = World::new().await;
    let server = TestQdrant::start().await.unwrap();
    server.set_fault(Fault::RefuseSpeaker("Mallory".to_owned()));
    let index = client(&server);
    let thread = world.thread("ada").await;
    let mut refused = Vec::new();
    for n in 0..20 {
        let name = if n == 2 || n == 13 { "Mallory" } else { "Ada" };
        let said = NewMessage {
            name: name.to_owned(),
            ..message(Role::User, "hello there")
        };
        let (id, _) = world.append(thread, said).await;
        if name == "Mallory" {
            refused.push(DeadSubject::Message(thread, id));
        }
    }
    let mut working = work(&world, &index);
    eventually("two are given up", async || {
        world.dead_letters().await.len() == 2
    })
    .await;
    eventually("the others are indexed", async || {
        world.pending().await == 0
    })
    .await;
    assert_eq!(points(&*index).await, 18);
    let dead = world.dead_letters().await;
    for subject in refused {
        assert!(dead.iter().any(|one| one.subject == subject), "{dead:?}");
    }
    for one in dead {
        assert_eq!(one.attempts, 3);
        let reason = one.error;
        assert!(
            reason.contains("refused") && reason.contains("the test refuses this speaker"),
            "{reason}"
        );
        assert!(!reason.contains("hello there"), "{reason}");
    }
    working.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_index_is_rebuilt_from_the_store() {
    let world = World::new().await;
    let server = TestQdrant::start().await.unwrap();
    let index = client(&server);
    let thread = world.thread("ada").await;
    world.say_each(thread, 20).await;
    let mut working = work(&world, &index);
    eventually("all is indexed", async || world.pending().await == 0).await;
    eventually("the index is whole", async || {
        index.last_state() == IndexState::Ready
    })
    .await;
    server.lose_everything();
    world.say(thread, Role::User, "one more").await;
    working.handle.wake();
    eventually("all is there again", async || points(&*index).await == 21).await;
    eventually("the index is whole again", async || {
        index.last_state() == IndexState::Ready
    })
    .await;
    assert_eq!(world.pending().await, 0);
    assert_eq!(world.dead_letters().await, []);
    working.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_is_lost_without_writes_is_rebuilt() {
    let world = World::new().await;
    let server = TestQdrant::start().await.unwrap();
    let index = client(&server);
    let thread = world.thread("ada").await;
    world.say(thread, Role::User, "all that was said").await;
    let mut working = work(&world, &index);
    eventually("it is indexed", async || world.pending().await == 0).await;
    server.lose_everything();
    eventually("it is there again", async || points(&*index).await == 1).await;
    working.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_is_recorded_anew_is_emptied_and_filled_again() {
    let world = World::new().await;
    let server = TestQdrant::start().await.unwrap();
    let index = client(&server);
    let collection = index.schema().collection().to_owned();
    assert!(
        world
            .outbox
            .open_collections(&collection, None)
            .await
            .unwrap()
    );
    let thread = world.thread("ada").await;
    world.say_each(thread, 20).await;
    let (store, outbox) = (world.store.clone(), world.outbox.clone());
    let indexer = Indexer::new(store, outbox, Arc::clone(&index), None, quick());
    let mut working = Worker::run(indexer.of_recorded_collection());
    eventually("the index is whole", async || {
        points(&*index).await == 20 && index.last_state() == IndexState::Ready
    })
    .await;

    // Another index serves for a moment. The worker does not notice, and a message that was
    // erased meanwhile would stay.
    let left = Point {
        tenant: tenant(),
        dense: None,
        ..point(1, [0.0; 4])
    };
    index
        .apply(vec![Change::Upsert(Box::new(left))])
        .await
        .unwrap();
    assert_eq!(points(&*index).await, 21);
    for name in ["another", &collection] {
        assert!(world.outbox.open_collections(name, None).await.unwrap());
    }
    eventually("it is filled again", async || {
        points(&*index).await == 20 && index.last_state() == IndexState::Ready
    })
    .await;
    working.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_kills_its_worker_is_given_up() {
    let world = World::new().await;
    let (_directory, index) = edge();
    // A new index would have every message queued once more.
    index.prepare().await.unwrap();
    index.mark_rebuilding(false).await.unwrap();
    let thread = world.thread("ada").await;
    let kills = world.say(thread, Role::User, "it kills").await;
    for _ in 0..3 {
        let lease = Duration::from_millis(1);
        let claim = world.outbox.claim(10, lease).await.unwrap();
        assert_eq!(claim.jobs.len(), 1);
        tokio::time::sleep(lease * 5).await;
    }
    world.say(thread, Role::User, "it is harmless").await;
    let mut working = work(&world, &index);
    eventually("nothing is left", async || world.pending().await == 0).await;
    let dead = world.dead_letters().await;
    assert_eq!(dead.len(), 1);
    assert_eq!(dead[0].subject, DeadSubject::Message(thread, kills));
    assert_eq!(
        dead[0].error,
        "given up: its worker ended 3 times before it was done"
    );
    assert_eq!(points(&*index).await, 1);
    working.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_index_gets_changes_that_another_one_has_acknowledged() {
    let world = World::new().await;
    let thread = world.thread("ada").await;
    world.say_each(thread, 10).await;
    for _ in 0..2 {
        let (_directory, index) = edge();
        let mut working = work(&world, &index);
        eventually("all is indexed", async || points(&*index).await == 10).await;
        working.end().await;
        index.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_workers_share_the_work() {
    let world = World::new().await;
    let server = TestQdrant::start().await.unwrap();
    let index = client(&server);
    let thread = world.thread("ada").await;
    world.say_each(thread, 100).await;
    let workers = [work(&world, &index), work(&world, &client(&server))];
    eventually("all is indexed", async || world.pending().await == 0).await;
    assert_eq!(points(&*index).await, 100);
    for mut worker in workers {
        worker.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_the_workers_that_find_the_index_new_fills_it() {
    let world = World::new().await;
    let server = TestQdrant::start().await.unwrap();
    let index = client(&server);
    let collection = index.schema().collection();
    assert!(
        world
            .outbox
            .open_collections(collection, None)
            .await
            .unwrap()
    );
    let thread = world.thread("ada").await;
    world.say_each(thread, 20).await;
    let start = |index: Arc<dyn Index>| {
        let (store, outbox) = (world.store.clone(), world.outbox.clone());
        let indexer = Indexer::new(store, outbox, index, None, quick());
        Worker::run(indexer.of_recorded_collection())
    };
    let mut worker = start(Arc::clone(&index));
    eventually("the index is whole", async || is_whole(&*index).await).await;
    worker.end().await;
    // Both find that it is new before one of them fills it. The second one goes on at once, or
    // when all is done.
    for waits in [false, true] {
        server.lose_everything();
        let both = Arc::new(Barrier::new(2));
        let indexes = [false, waits].map(|waits| {
            let (both, index) = (Arc::clone(&both), client(&server));
            Hooked::after_prepare(client(&server), move |preparations| {
                let (both, index) = (Arc::clone(&both), Arc::clone(&index));
                Box::pin(async move {
                    if preparations == 0 {
                        both.wait().await;
                        // The test ends it after its deadline.
                        while waits && !is_whole(&*index).await {
                            tokio::time::sleep(Duration::from_millis(10)).await;
                        }
                    }
                })
            })
        });
        let mut workers = indexes
            .each_ref()
            .map(|index| start(Arc::clone(index) as _));
        eventually("both have found it whole", async || {
            let is_ready = |index: &Arc<Hooked>| index.last_state() == IndexState::Ready;
            is_whole(&*index).await && indexes.iter().all(is_ready)
        })
        .await;
        for worker in &mut workers {
            worker.end().await;
        }
        let fills: usize = indexes.iter().map(|index| index.fills()).sum();
        assert_eq!(fills, 1, "{waits}");
    }
}

async fn is_whole(index: &dyn Index) -> bool {
    points(index).await == 20 && index.last_state() == IndexState::Ready
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_closes_while_changes_wait_is_opened_again() {
    let world = World::new().await;
    let (_directory, inner) = edge();
    let hooked = Hooked::new(inner, |_| Box::pin(async {}));
    let index: Arc<dyn Index> = Arc::clone(&hooked) as Arc<dyn Index>;
    let thread = world.thread("ada").await;
    world.say_each(thread, 24).await;
    hooked.close_at(1);
    let mut working = work_in_one_lane(&world, &index);
    eventually("all is indexed", async || world.pending().await == 0).await;
    assert_eq!(points(&*index).await, 24);
    assert_eq!(world.dead_letters().await, []);
    working.end().await;
}

/// A hooked index that is not new, so nothing but the outbox tells what to index.
async fn prepared(
    before_write: impl Fn(usize) -> BoxFuture<'static, ()> + Send + Sync + 'static,
) -> (TempDir, Arc<Hooked>) {
    let (directory, inner) = edge();
    inner.prepare().await.unwrap();
    inner.mark_rebuilding(false).await.unwrap();
    (directory, Hooked::new(inner, before_write))
}

/// Lets a worker with one lane index 100 messages, and then all of them again as a rebuild does,
/// on an index to which `between` happens in between.
async fn index_twice(world: &World, hooked: &Arc<Hooked>, between: impl FnOnce()) -> Worker {
    let index: Arc<dyn Index> = Arc::clone(hooked) as Arc<dyn Index>;
    let thread = world.thread("ada").await;
    world.say_each(thread, 100).await;
    let working = work_in_one_lane(world, &index);
    eventually("all is indexed", async || world.pending().await == 0).await;
    between();
    let queued = world.store.index(&caller()).enqueue_all(None).await;
    assert_eq!(queued.unwrap(), 100);
    eventually("all is indexed again", async || world.pending().await == 0).await;
    working
}

#[tokio::test(flavor = "multi_thread")]
async fn rebuilds_are_indexed_in_larger_batches_than_new_messages() {
    let world = World::new().await;
    let (_directory, hooked) = prepared(|_| Box::pin(async {})).await;
    let mut working = index_twice(&world, &hooked, || {
        assert_eq!(hooked.largest(), quick().batch_size);
    })
    .await;
    assert!(hooked.largest() > quick().batch_size);
    working.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_takes_small_batches_alone_gets_them() {
    let world = World::new().await;
    let (_directory, hooked) = prepared(|_| Box::pin(async {})).await;
    let mut working = index_twice(&world, &hooked, || hooked.take_at_most(20)).await;
    assert!(hooked.largest() > 20, "no batch was too large");
    assert_eq!(world.dead_letters().await, []);
    working.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_that_takes_longer_than_its_lease_is_indexed_once() {
    let world = World::new().await;
    let lease = Duration::from_secs(5);
    let (_directory, hooked) = prepared(move |writes| {
        let takes = if writes == 0 {
            2 * lease
        } else {
            Duration::ZERO
        };
        Box::pin(tokio::time::sleep(takes))
    })
    .await;
    let index: Arc<dyn Index> = Arc::clone(&hooked) as Arc<dyn Index>;
    let thread = world.thread("ada").await;
    world.say_each(thread, 5).await;
    let config = || IndexerConfig { lease, ..quick() };
    let mut workers = [0; 2].map(|_| Worker::start(&world, &index, None, config()));
    eventually("all is indexed", async || world.pending().await == 0).await;
    assert_eq!(hooked.writes(), 1);
    for worker in &mut workers {
        worker.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopping_worker_finishes_its_batch() {
    let world = World::new().await;
    let (_directory, inner) = edge();
    let hooked = Hooked::new(inner, |_| {
        // Long enough for the stop to arrive meanwhile.
        Box::pin(tokio::time::sleep(Duration::from_secs(3)))
    });
    let index: Arc<dyn Index> = Arc::clone(&hooked) as Arc<dyn Index>;
    let thread = world.thread("ada").await;
    world.say_each(thread, 24).await;
    let mut working = work_in_one_lane(&world, &index);
    eventually("it is at work", async || hooked.writes() == 1).await;
    working.end().await;
    assert_eq!(hooked.writes(), 1);
    assert_eq!(points(&*index).await, 8);
    assert_eq!(world.pending().await, 16);
}

#[tokio::test(flavor = "multi_thread")]
async fn words_of_the_messages_before_lead_to_a_message() {
    let world = World::new().await;
    let (_directory, index) = edge();
    let thread = world.thread("ada").await;
    world
        .say(thread, Role::User, "What is your dog called?")
        .await;
    let answer = world
        .say(thread, Role::Assistant, "Rufus, since he was a puppy.")
        .await;
    let mut working = work(&world, &index);
    eventually("both are indexed", async || world.pending().await == 0).await;
    // FNV-1a of `dog`.
    let dog = "dog".bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    let scope = Scope::App(AppId::new(APP));
    let found = index
        .search(Search {
            selection: Selection::new(&tenant(), &scope, &MessageFilter::default()),
            dense: None,
            lexical: Some(LexicalVector {
                indices: vec![dog],
                values: vec![1.0],
            }),
            limit: 10,
        })
        .await
        .unwrap();
    let ids: Vec<MessageId> = found.lexical.iter().map(|one| one.id.into()).collect();
    assert_eq!(ids.len(), 2);
    assert_eq!(ids[1], answer);
    working.end().await;
}
