//! Threads are erased in the background, also while one of them cannot be.

use std::time::Duration;

use memory_contract::{ThreadId, message::Role};
use memory_store::{ErasureStats, StoreError};
use tokio::time::sleep;
use tokio_postgres::Client;
use uuid::Uuid;

use crate::world::{World, new_thread, said};

const LARGE_THREAD: &str = include_str!("large_thread.sql");

/// A thread with a message that expires first of all.
async fn expiring(world: &World, owner: &Client, order: i32) -> ThreadId {
    let thread = world.thread().await.id;
    world.say(thread, Role::User, "Hello!").await;
    let expire = "UPDATE recollect.threads
                  SET expires_at = clock_timestamp() - interval '1 hour' + make_interval(secs => $2)
                  WHERE thread_id = $1";
    let order = f64::from(order);
    let expired = owner.execute(expire, &[&thread.uuid(), &order]).await;
    assert_eq!(expired.unwrap(), 1);
    thread
}

/// How many rows each thread has in its own table and in that of messages.
async fn rows(owner: &Client, threads: &[ThreadId]) -> Vec<i64> {
    let count = "SELECT (SELECT count(*) FROM recollect.threads WHERE thread_id = $1)
                     + (SELECT count(*) FROM recollect.messages WHERE thread_id = $1)";
    let mut counts = Vec::new();
    for thread in threads {
        let row = owner.query_one(count, &[&thread.uuid()]).await.unwrap();
        counts.push(row.get(0));
    }
    counts
}

/// Whether something becomes true within 30 seconds.
async fn within_30_seconds(mut check: impl AsyncFnMut() -> bool) -> bool {
    for _ in 0..300 {
        if check().await {
            return true;
        }
        sleep(Duration::from_millis(100)).await;
    }
    false
}

#[tokio::test]
async fn a_thread_that_cannot_be_erased_stops_no_other() {
    let world = World::new().await;
    let owner = world.owner().await;
    let held = expiring(&world, &owner, 0).await;
    let others = [
        expiring(&world, &owner, 1).await,
        expiring(&world, &owner, 2).await,
    ];
    let refuse = format!(
        "CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS
             $$ BEGIN RAISE EXCEPTION 'this row stays'; END $$;
         CREATE TRIGGER refuse BEFORE DELETE ON recollect.messages
             FOR EACH ROW WHEN (OLD.thread_id = '{held}') EXECUTE FUNCTION public.refuse()"
    );
    owner.batch_execute(&refuse).await.unwrap();

    // Also where each run can queue one thread only.
    for _ in 0..3 {
        world
            .workers
            .erasures(&world.store)
            .sweep_threads(1)
            .await
            .unwrap();
    }
    assert_eq!(rows(&owner, &others).await, [0, 0]);
    assert_eq!(rows(&owner, &[held]).await, [2]);
    let read = world.store.threads(&world.caller).get_thread(held).await;
    assert!(matches!(read, Err(StoreError::ThreadNotFound)));
    let stats = world
        .workers
        .erasures(&world.store)
        .erasure_stats()
        .await
        .unwrap();
    assert_eq!((stats.waiting, stats.failing), (1, 1));
    assert!(stats.last_error.contains("this row stays"), "{stats:?}");

    // It waits longer after each failure.
    let pause = "SELECT extract(epoch FROM available_at - clock_timestamp())::float8 FROM recollect.erasures";
    let due = "UPDATE recollect.erasures SET available_at = clock_timestamp()";
    let mut longest = 0.0;
    for _ in 0..3 {
        assert!(
            !world
                .workers
                .erasures(&world.store)
                .run_erasures()
                .await
                .unwrap()
        );
        let seconds: f64 = owner.query_one(pause, &[]).await.unwrap().get(0);
        assert!(seconds > longest, "{seconds} after {longest}");
        longest = seconds;
        owner.execute(due, &[]).await.unwrap();
    }

    let allow = "DROP TRIGGER refuse ON recollect.messages";
    owner.batch_execute(allow).await.unwrap();
    assert!(
        world
            .workers
            .erasures(&world.store)
            .run_erasures()
            .await
            .unwrap()
    );
    assert_eq!(rows(&owner, &[held]).await, [0]);
    let stats = world
        .workers
        .erasures(&world.store)
        .erasure_stats()
        .await
        .unwrap();
    assert_eq!(stats, ErasureStats::default());
}

#[tokio::test]
async fn a_deleted_thread_is_gone_while_its_rows_are_locked() {
    let world = World::new().await;
    let owner = world.owner().await;
    let threads = world.store.threads(&world.caller);
    let held = world.thread_of("app", "ada", "session:1").await.id;
    world.say(held, Role::User, "Hello!").await;
    let mut holder = world.owner().await;
    let lock = holder.transaction().await.unwrap();
    let select = "SELECT FROM recollect.messages WHERE thread_id = $1 FOR UPDATE";
    lock.execute(select, &[&held.uuid()]).await.unwrap();

    assert_eq!(threads.delete_thread(held).await.unwrap().message_count, 1);
    assert_eq!(rows(&owner, &[held]).await, [2]);
    for gone in [
        threads.get_thread(held).await.map(drop),
        threads.delete_thread(held).await.map(drop),
        threads.clear_thread(held).await.map(drop),
        world
            .append(held, vec![said(Role::User, "And?")])
            .await
            .map(drop),
    ] {
        assert!(matches!(gone, Err(StoreError::ThreadNotFound)), "{gone:?}");
    }
    // Its session key is free, and others are erased meanwhile.
    let again = new_thread("app", "ada", "session:1");
    let next = threads.resolve_thread(&again).await.unwrap();
    assert!(next.created && next.thread.id != held);
    world.say(next.thread.id, Role::User, "Hello again!").await;
    threads.delete_thread(next.thread.id).await.unwrap();
    // Also one of the same user.
    let gone = async || rows(&owner, &[next.thread.id]).await == [0];
    assert!(
        within_30_seconds(gone).await,
        "the second thread waits for the first"
    );

    lock.rollback().await.unwrap();
    let due = "UPDATE recollect.erasures SET available_at = clock_timestamp()";
    let erased = async || {
        owner.execute(due, &[]).await.unwrap();
        world
            .workers
            .erasures(&world.store)
            .run_erasures()
            .await
            .unwrap();
        rows(&owner, &[held]).await == [0]
    };
    assert!(within_30_seconds(erased).await, "rows are left");
}

/// A worker that waits for a row of one thread holds up no other thread of the user.
#[tokio::test]
async fn erasing_a_thread_keeps_no_lock_of_its_user() {
    let world = World::new().await;
    let mut owner = world.owner().await;
    let tenant = world.caller.tenant.as_str();
    let thread = world.thread().await.id;
    world.say(thread, Role::User, "Hello!").await;
    let delete = "SELECT recollect.delete_thread($1, 'ada', $2, false)";
    owner
        .execute(delete, &[&tenant, &thread.uuid()])
        .await
        .unwrap();
    let lease = Uuid::new_v4();
    let claim = "UPDATE recollect.erasures SET lease_id = $1";
    owner.execute(claim, &[&lease]).await.unwrap();
    let step = owner.transaction().await.unwrap();
    let erase = "SELECT recollect.erase_step($1, $2, $3, 60, 1000)";
    let params = (tenant, thread.uuid());
    let row = step.query_one(erase, &[&params.0, &params.1, &lease]).await;
    assert_eq!(row.unwrap().get::<_, &str>(0), "done");
    let held =
        "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()";
    let locks: i64 = step.query_one(held, &[]).await.unwrap().get(0);
    assert_eq!(locks, 0);
}

#[tokio::test]
async fn a_large_thread_is_erased_in_steps_that_resume_anywhere() {
    let world = World::new().await;
    let owner = world.owner().await;
    let thread = world.thread().await.id;
    let tenant = world.caller.tenant.as_str();
    let params = (tenant, thread.uuid(), 2_500_i64);
    let filled = owner
        .execute(LARGE_THREAD, &[&params.0, &params.1, &params.2])
        .await;
    assert_eq!(filled.unwrap(), 2_500);
    let readable = world.store.threads(&world.caller).get_thread(thread).await;
    assert_eq!(readable.unwrap().message_count, 2_500);

    let delete = "SELECT recollect.delete_thread($1, 'ada', $2, false)";
    owner
        .execute(delete, &[&params.0, &params.1])
        .await
        .unwrap();
    let claim = "UPDATE recollect.erasures SET lease_id = $1";
    let step = "SELECT recollect.erase_step($1, $2, $3, 60, 1000)";
    let mut left = Vec::new();
    loop {
        // Each step is another worker's, as after a crash; one without the lease does nothing.
        let lease = Uuid::new_v4();
        owner.execute(claim, &[&lease]).await.unwrap();
        for (lease, expected) in [(Uuid::new_v4(), Some("lost")), (lease, None)] {
            let row = owner.query_one(step, &[&params.0, &params.1, &lease]).await;
            let status: String = row.unwrap().get(0);
            if let Some(expected) = expected {
                assert_eq!(status, expected);
                continue;
            }
            left.push((status, rows(&owner, &[thread]).await[0]));
        }
        if left.last().is_some_and(|(status, _)| status == "done") {
            break;
        }
        assert!(left.len() < 10, "{left:?}");
    }
    let expected = [("more", 1_501), ("more", 501), ("done", 0)];
    let expected = expected.map(|(status, count)| (status.to_owned(), count));
    assert_eq!(left, expected);
    let stats = world
        .workers
        .erasures(&world.store)
        .erasure_stats()
        .await
        .unwrap();
    assert_eq!(stats, ErasureStats::default());
}
