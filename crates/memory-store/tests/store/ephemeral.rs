//! Ephemeral threads: their limits, their idle time, and the servers that are alive.

use std::time::Duration;

use futures::future::join_all;
use memory_contract::{ThreadId, message::Role, thread::Thread};
use memory_store::{
    EphemeralConfig, EphemeralStats, NewThread, Presence, Store, StoreConfig, StoreError,
    ThreadError,
};
use time::OffsetDateTime;
use tokio::time::sleep;
use uuid::Uuid;

use crate::world::{World, config, new_thread, said};

async fn ephemeral(world: &World, store: &Store, key: &str) -> Result<Thread, StoreError> {
    let new = NewThread {
        ephemeral: true,
        ..new_thread("app", "ada", key)
    };
    store.threads(&world.caller).create_thread(&new).await
}

fn limited(world: &World, max_bytes: u64, max_threads: usize, idle_ttl: Duration) -> Store {
    world.store.clone().with_ephemeral(&EphemeralConfig {
        max_bytes,
        max_threads,
        idle_ttl,
        ..EphemeralConfig::default()
    })
}

const HOUR: Duration = Duration::from_secs(3_600);

/// Whether the threads are there.
async fn there<const N: usize>(world: &World, threads: [ThreadId; N]) -> [bool; N] {
    let mut found = [false; N];
    for (thread, found) in threads.into_iter().zip(&mut found) {
        *found = world
            .store
            .threads(&world.caller)
            .get_thread(thread)
            .await
            .is_ok();
    }
    found
}

/// A server that was not heard of for this long does not run.
const GRACE: Duration = Duration::from_secs(2);

/// Leaves the row of a server that was killed, or is paused.
async fn silent(world: &World) -> Uuid {
    let id = Uuid::new_v4();
    let row = "INSERT INTO recollect.servers (server_id) VALUES ($1)";
    world.owner().await.execute(row, &[&id]).await.unwrap();
    id
}

async fn ends(world: &World, thread: ThreadId) {
    for _ in 0..300 {
        if !there(world, [thread]).await[0] {
            return;
        }
        sleep(Duration::from_millis(100)).await;
    }
    panic!("the thread has not ended");
}

#[tokio::test]
async fn only_a_server_that_starts_alone_ends_ephemeral_threads() {
    let world = World::new().await;
    let config = config(&world.url);
    let kept = world.thread().await.id;
    let before = ephemeral(&world, &world.store, "before").await.unwrap().id;
    let first = Presence::begin(&config, HOUR).await.unwrap();
    assert_eq!(there(&world, [kept, before]).await, [true, false]);

    let during = ephemeral(&world, &world.store, "during").await.unwrap().id;
    let second = Presence::begin(&config, HOUR).await.unwrap();
    first.end().await;
    let third = Presence::begin(&config, HOUR).await.unwrap();
    assert!(there(&world, [during]).await[0]);
    second.end().await;
    third.end().await;
    let last = Presence::begin(&config, HOUR).await.unwrap();
    assert_eq!(there(&world, [kept, during]).await, [true, false]);
    assert_eq!(
        world
            .workers
            .erasures(&world.store)
            .sweep_threads(10)
            .await
            .unwrap(),
        2
    );
    last.end().await;
}

#[tokio::test]
async fn a_killed_server_counts_until_it_was_silent_for_long() {
    let world = World::new().await;
    let before = ephemeral(&world, &world.store, "before").await.unwrap().id;
    silent(&world).await;
    let presence = Presence::begin(&config(&world.url), GRACE).await.unwrap();
    assert!(there(&world, [before]).await[0]);
    let during = ephemeral(&world, &world.store, "during").await.unwrap().id;
    ends(&world, before).await;
    assert!(there(&world, [during]).await[0]);
    presence.end().await;
}

#[tokio::test]
async fn a_server_that_was_only_paused_keeps_its_threads() {
    let world = World::new().await;
    let thread = ephemeral(&world, &world.store, "brief").await.unwrap().id;
    let paused = silent(&world).await;
    let presence = Presence::begin(&config(&world.url), GRACE).await.unwrap();
    let resumed = "UPDATE recollect.servers SET beat_at = clock_timestamp() WHERE server_id = $1";
    let owner = world.owner().await;
    assert_eq!(owner.execute(resumed, &[&paused]).await.unwrap(), 1);
    // Silent again, for longer than a server is waited for.
    sleep(GRACE * 2).await;
    assert!(there(&world, [thread]).await[0]);
    presence.end().await;
}

#[tokio::test]
async fn a_private_database_has_no_other_servers() {
    let world = World::new().await;
    let thread = ephemeral(&world, &world.store, "brief").await.unwrap().id;
    silent(&world).await;
    let config = StoreConfig {
        private: true,
        ..config(&world.url)
    };
    let presence = Presence::begin(&config, HOUR).await.unwrap();
    assert!(!there(&world, [thread]).await[0]);
    presence.end().await;
}

#[tokio::test]
async fn a_server_that_loses_its_connection_is_heard_of_again() {
    let world = World::new().await;
    let presence = Presence::begin(&config(&world.url), HOUR).await.unwrap();
    let owner = world.owner().await;
    let disconnect = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND query LIKE '%recollect.servers%' AND pid <> pg_backend_pid()";
    let beat = "SELECT beat_at FROM recollect.servers";
    let mut seen: OffsetDateTime = owner.query_one(beat, &[]).await.unwrap().get(0);
    let mut disconnected = 0;
    for _ in 0..300 {
        sleep(Duration::from_millis(100)).await;
        let now = owner.query_one(beat, &[]).await.unwrap().get(0);
        if now > seen && disconnected > 0 {
            presence.end().await;
            assert!(owner.query_opt(beat, &[]).await.unwrap().is_none());
            return;
        }
        if now > seen {
            seen = now;
            disconnected = owner.execute(disconnect, &[]).await.unwrap();
        }
    }
    panic!("the server was not heard of after {disconnected} of its connections were closed");
}

#[tokio::test]
async fn a_use_returns_the_expiry_to_which_it_postponed() {
    let world = World::new().await;
    let store = &limited(&world, 1_000, 10, HOUR);
    let created = ephemeral(&world, store, "brief").await.unwrap();
    let ada = world.caller_named("ada");
    let threads = store.threads(&ada);
    let owner = world.owner().await;
    for read in 0..3 {
        let age = "UPDATE recollect.threads SET expires_at = expires_at - interval '30 minutes'";
        assert_eq!(owner.execute(age, &[]).await.unwrap(), 1);
        let thread = match read {
            0 => threads.get_thread(created.id).await.unwrap(),
            1 => threads.find_thread(&created.session).await.unwrap(),
            _ => {
                let again = new_thread("app", "ada", "brief");
                threads.resolve_thread(&again).await.unwrap().thread
            }
        };
        let stored = "SELECT expires_at FROM recollect.threads";
        let stored: OffsetDateTime = owner.query_one(stored, &[]).await.unwrap().get(0);
        assert_eq!((thread.id, thread.expires), (created.id, Some(stored)));
        assert!(thread.expires >= created.expires, "{read}");
    }
}

#[tokio::test]
async fn bytes_follow_appends_and_erasures() {
    let world = World::new().await;
    let (store, caller) = (&world.store, &world.caller);
    let thread = ephemeral(&world, store, "brief").await.unwrap().id;
    let owner = world.owner().await;
    let stats = async || {
        let stats = world
            .workers
            .threads(&world.store)
            .ephemeral_stats()
            .await
            .unwrap();
        // The totals that appends are compared with are the same.
        let totals = "SELECT thread_count, content_bytes FROM recollect.ephemeral_totals";
        let row = owner.query_one(totals, &[]).await.unwrap();
        let totals = EphemeralStats {
            threads: row.get(0),
            bytes: row.get(1),
        };
        assert_eq!(stats, totals);
        stats
    };
    assert_eq!(
        stats().await,
        EphemeralStats {
            threads: 1,
            bytes: 0
        }
    );
    world.say(thread, Role::User, "Hello!").await;
    let one = stats().await.bytes;
    let second = world.say(thread, Role::Assistant, "Hello, Ada!").await;
    assert!(stats().await.bytes > one);
    store
        .messages(caller)
        .delete_message(thread, second)
        .await
        .unwrap();
    assert_eq!(stats().await.bytes, one);
    // Other threads do not count.
    let kept = world.thread().await.id;
    world.say(kept, Role::User, "Hello!").await;
    assert_eq!(stats().await.bytes, one);
    store.threads(caller).clear_thread(thread).await.unwrap();
    assert_eq!(
        stats().await,
        EphemeralStats {
            threads: 1,
            bytes: 0
        }
    );
    store.threads(caller).delete_thread(thread).await.unwrap();
    assert_eq!(stats().await, EphemeralStats::default());
}

#[tokio::test]
async fn concurrent_callers_do_not_exceed_the_limits_together() {
    let world = World::new().await;
    let store = &limited(&world, 1_000, 3, HOUR);
    let keys: Vec<String> = (0..8).map(|key| format!("brief:{key}")).collect();
    let created = join_all(keys.iter().map(|key| ephemeral(&world, store, key))).await;
    let (threads, refused): (Vec<_>, Vec<_>) = created.into_iter().partition(Result::is_ok);
    assert_eq!((threads.len(), refused.len()), (3, 5));
    for error in refused {
        assert!(
            matches!(error, Err(StoreError::Thread(ThreadError::EphemeralFull))),
            "{error:?}"
        );
    }
    let threads: Vec<ThreadId> = threads.into_iter().flatten().map(|one| one.id).collect();
    let appends: Vec<_> = threads
        .iter()
        .cycle()
        .take(9)
        .map(|thread| memory_store::Append {
            thread: *thread,
            messages: vec![said(Role::User, &"x".repeat(200))],
            request_id: None,
            expected_head: None,
        })
        .collect();
    let appended = appends
        .iter()
        .map(|append| store.messages(&world.caller).append(append));
    let stored = join_all(appended).await;
    assert_eq!(
        stored.iter().filter(|one| one.is_ok()).count(),
        4,
        "{stored:?}"
    );
    assert!(
        world
            .workers
            .threads(&world.store)
            .ephemeral_stats()
            .await
            .unwrap()
            .bytes
            <= 1_000
    );
}

#[tokio::test]
async fn an_idle_thread_ends_and_makes_room() {
    let world = World::new().await;
    let store = &limited(&world, 1_000, 1, Duration::from_secs(2));
    let idle = ephemeral(&world, store, "idle").await.unwrap();
    // Reads of callers count as use; those of workers do not.
    let ada = world.caller_named("ada");
    for _ in 0..3 {
        sleep(Duration::from_secs(1)).await;
        store.threads(&ada).get_thread(idle.id).await.unwrap();
    }
    for _ in 0..2 {
        sleep(Duration::from_millis(1_100)).await;
        store.threads(&world.caller).get_thread(idle.id).await.ok();
    }
    assert!(!there(&world, [idle.id]).await[0]);
    ephemeral(&world, store, "next").await.unwrap();
    assert_eq!(
        world
            .workers
            .erasures(store)
            .sweep_threads(10)
            .await
            .unwrap(),
        1
    );
}

#[tokio::test]
async fn a_ttl_ends_an_ephemeral_thread_that_is_in_use() {
    let world = World::new().await;
    let store = &limited(&world, 1_000, 10, HOUR);
    let new = NewThread {
        ephemeral: true,
        ttl: Some(Duration::from_secs(2)),
        ..new_thread("app", "ada", "brief")
    };
    let thread = store
        .threads(&world.caller)
        .create_thread(&new)
        .await
        .unwrap()
        .id;
    world.say(thread, Role::User, "Hello!").await;
    sleep(Duration::from_millis(2_100)).await;
    assert!(!there(&world, [thread]).await[0]);
}
