use std::time::Duration;

use memory_contract::{AppId, MessageId, ThreadId, UserId, json::JsonObject, message::Role};
use memory_store::{Failure, Freshness, JobKind, OutboxStats, Scope, Unindexed};

use crate::world::{World, caller, said};

const MINUTE: Duration = Duration::from_secs(60);
const STALE: Freshness = Freshness {
    pending: true,
    dead_letters: 0,
};
const FRESH: Freshness = Freshness {
    pending: false,
    dead_letters: 0,
};

#[tokio::test]
async fn a_revision_is_fresh_when_the_index_has_applied_all_changes_up_to_it() {
    let world = World::new().await;
    let (thread, other) = (world.thread().await.id, world.thread().await.id);
    let first = world
        .append(
            thread,
            vec![said(Role::User, "one"), said(Role::User, "two")],
        )
        .await
        .unwrap();
    let freshness = async |revision| {
        world
            .store
            .messages(&world.caller)
            .freshness(revision)
            .await
            .unwrap()
    };
    assert_eq!(freshness(&first.revision).await, STALE);
    let claim = world.outbox.claim(10, MINUTE).await.unwrap();
    assert_eq!(freshness(&first.revision).await, STALE);
    let second = world
        .append(thread, vec![said(Role::User, "three")])
        .await
        .unwrap();
    world
        .append(other, vec![said(Role::User, "elsewhere")])
        .await
        .unwrap();

    assert_eq!(
        world
            .outbox
            .ack(claim.lease, &[claim.jobs[1].id])
            .await
            .unwrap(),
        1
    );
    assert_eq!(freshness(&first.revision).await, STALE);
    assert_eq!(
        world
            .outbox
            .ack(claim.lease, &[claim.jobs[0].id])
            .await
            .unwrap(),
        1
    );
    assert_eq!(freshness(&first.revision).await, FRESH);
    assert_eq!(freshness(&second.revision).await, STALE);
    // Another tenant's revision is nothing to wait for.
    let foreign = world
        .store
        .messages(&caller("b"))
        .freshness(&second.revision)
        .await
        .unwrap();
    assert_eq!(foreign, FRESH);
}

#[tokio::test]
async fn a_job_has_one_worker_until_its_lease_ends() {
    let world = World::new().await;
    let thread = world.thread().await.id;
    let messages = (0..10).map(|_| said(Role::User, "hello")).collect();
    world.append(thread, messages).await.unwrap();
    let short = Duration::from_secs(3);
    let (one, two) =
        futures::future::join(world.outbox.claim(4, short), world.outbox.claim(4, MINUTE)).await;
    let (one, two) = (one.unwrap(), two.unwrap());
    let mut ids: Vec<i64> = one.jobs.iter().chain(&two.jobs).map(|job| job.id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 8);
    assert_eq!(world.outbox.claim(10, MINUTE).await.unwrap().jobs.len(), 2);
    assert!(
        world
            .outbox
            .claim(10, MINUTE)
            .await
            .unwrap()
            .jobs
            .is_empty()
    );

    tokio::time::sleep(short).await;
    let again = world.outbox.claim(10, MINUTE).await.unwrap();
    let same = |jobs: &[memory_store::Job]| jobs.iter().map(|job| job.id).collect::<Vec<_>>();
    assert_eq!(same(&again.jobs), same(&one.jobs));
    assert!(again.jobs.iter().all(|job| job.attempts == 2));
    // The first worker comes back too late: the jobs are no longer its own.
    assert_eq!(
        world.outbox.ack(one.lease, &same(&one.jobs)).await.unwrap(),
        0
    );
    assert_eq!(
        world
            .outbox
            .extend(again.lease, &same(&again.jobs), MINUTE)
            .await
            .unwrap(),
        4
    );
    assert_eq!(
        world
            .outbox
            .ack(again.lease, &same(&again.jobs))
            .await
            .unwrap(),
        4
    );
}

#[tokio::test]
async fn a_job_that_keeps_failing_becomes_a_dead_letter_and_can_be_queued_again() {
    let world = World::new().await;
    let thread = world.thread().await.id;
    let appended = world
        .append(
            thread,
            vec![said(Role::User, "one"), said(Role::User, "two")],
        )
        .await
        .unwrap();
    for attempt in 1..=3 {
        let claim = world.outbox.claim(10, MINUTE).await.unwrap();
        let failures: Vec<Failure> = claim
            .jobs
            .iter()
            .map(|job| Failure {
                id: job.id,
                error: format!("no\0 luck {attempt}"),
                delay: Duration::ZERO,
            })
            .collect();
        assert_eq!(failures.len(), 2);
        let dead = world.outbox.retry(claim.lease, &failures, 3).await.unwrap();
        assert_eq!(dead, if attempt == 3 { 2 } else { 0 });
    }
    assert!(
        world
            .outbox
            .claim(10, MINUTE)
            .await
            .unwrap()
            .jobs
            .is_empty()
    );
    let freshness = world
        .store
        .messages(&world.caller)
        .freshness(&appended.revision)
        .await
        .unwrap();
    assert_eq!(
        freshness,
        Freshness {
            pending: false,
            dead_letters: 2
        }
    );
    let stats = world
        .store
        .index(&world.caller)
        .outbox_stats()
        .await
        .unwrap();
    assert_eq!(
        stats,
        OutboxStats {
            pending: 0,
            lag: Duration::ZERO,
            dead_letters: 2
        }
    );

    let page = world
        .store
        .index(&world.caller)
        .list_dead(None, 1)
        .await
        .unwrap();
    assert_eq!(page.items.len(), 1);
    assert_eq!(
        (page.items[0].error.as_str(), page.items[0].attempts),
        ("no luck 3", 3)
    );
    let last = world
        .store
        .index(&world.caller)
        .list_dead(page.next, 1)
        .await
        .unwrap();
    assert_eq!((last.items.len(), last.next), (1, None));
    assert_ne!(last.items[0].subject, page.items[0].subject);
    assert!(
        world
            .store
            .index(&caller("b"))
            .list_dead(None, 10)
            .await
            .unwrap()
            .items
            .is_empty()
    );

    assert_eq!(
        world
            .store
            .index(&caller("b"))
            .requeue_dead(None)
            .await
            .unwrap(),
        0
    );
    assert_eq!(
        world
            .store
            .index(&world.caller)
            .requeue_dead(Some(thread))
            .await
            .unwrap(),
        2
    );
    let claim = world.outbox.claim(10, MINUTE).await.unwrap();
    assert!(claim.jobs.len() == 2 && claim.jobs.iter().all(|job| job.attempts == 1));
    let ids: Vec<i64> = claim.jobs.iter().map(|job| job.id).collect();
    assert_eq!(world.outbox.release(claim.lease, &ids).await.unwrap(), 2);
    let claim = world.outbox.claim(10, MINUTE).await.unwrap();
    assert!(claim.jobs.len() == 2 && claim.jobs.iter().all(|job| job.attempts == 1));
}

#[tokio::test]
async fn a_failed_job_waits_before_its_next_try() {
    let world = World::new().await;
    let thread = world.thread().await.id;
    world.say(thread, Role::User, "hello").await;
    let claim = world.outbox.claim(10, MINUTE).await.unwrap();
    let failure = Failure {
        id: claim.jobs[0].id,
        error: "no".to_owned(),
        delay: Duration::from_secs(3),
    };
    world
        .outbox
        .retry(claim.lease, &[failure], 8)
        .await
        .unwrap();
    assert!(
        world
            .outbox
            .claim(10, MINUTE)
            .await
            .unwrap()
            .jobs
            .is_empty()
    );
    tokio::time::sleep(Duration::from_millis(3_050)).await;
    assert_eq!(world.outbox.claim(10, MINUTE).await.unwrap().jobs.len(), 1);
}

/// The longest wait of a change in tests.
const CHANGE_WAIT: Duration = Duration::from_secs(90);

#[tokio::test]
async fn a_clock_that_was_set_back_delays_no_job() {
    let world = World::new().await;
    let thread = world.thread().await.id;
    world.say(thread, Role::User, "hello").await;
    let owner = world.owner().await;
    let make_due = async || world.workers.make_due(CHANGE_WAIT, 1_000).await.unwrap();
    let claim = async || world.outbox.claim(10, MINUTE).await.unwrap().jobs.len();
    assert_eq!(make_due().await, 0);
    // What a clock finds that was set back by an hour.
    let an_hour_later =
        "UPDATE recollect.outbox SET available_at = available_at + interval '1 hour'";
    owner.batch_execute(an_hour_later).await.unwrap();
    assert_eq!(claim().await, 0);
    assert_eq!(make_due().await, 1);
    assert_eq!(claim().await, 1);
    // The lease is no longer than the longest wait.
    assert_eq!(make_due().await, 0);
    assert_eq!(claim().await, 0);
}

#[tokio::test]
async fn rows_are_made_due_in_batches_and_locked_ones_later() {
    let world = World::new().await;
    let thread = world.thread().await.id;
    world.say_each(thread, 6, "word").await;
    let mut owner = world.owner().await;
    let wait = "UPDATE recollect.outbox SET available_at = clock_timestamp() + interval '12 hours'";
    owner.batch_execute(wait).await.unwrap();
    let retry = "UPDATE recollect.outbox SET available_at = clock_timestamp() + interval '1 minute'
                 WHERE id = (SELECT max(id) FROM recollect.outbox)";
    assert_eq!(owner.execute(retry, &[]).await.unwrap(), 1);
    let lock = owner.transaction().await.unwrap();
    let held = "SELECT id FROM recollect.outbox ORDER BY id LIMIT 1 FOR UPDATE";
    lock.query_one(held, &[]).await.unwrap();

    let make_due = async || world.workers.make_due(CHANGE_WAIT, 2).await.unwrap();
    for expected in [2, 2, 0] {
        assert_eq!(make_due().await, expected);
    }
    lock.rollback().await.unwrap();
    assert_eq!(make_due().await, 1);
    assert_eq!(make_due().await, 0);
    // The attempt that is to wait for a minute still does.
    let claimed = world.outbox.claim(10, MINUTE).await.unwrap().jobs;
    assert_eq!(claimed.len(), 5);
}

#[tokio::test]
async fn rows_of_every_queue_are_made_due_after_its_longest_delay() {
    let world = World::new().await;
    let thread = world.thread().await.id;
    world.outbox.open_collections("a", None).await.unwrap();
    let owner = world.owner().await;
    let fill = format!(
        "INSERT INTO recollect.outbox (tenant_id, thread_id, message_id, seq, op)
             VALUES ('a', '{thread}', gen_random_uuid(), 1, 'delete');
         INSERT INTO recollect.distill_jobs (tenant_id, thread_id) VALUES ('a', '{thread}');
         INSERT INTO recollect.erasures (tenant_id, erasure_id, kind, step)
             VALUES ('a', '{thread}', 'thread', 'hide');
         INSERT INTO recollect.object_deletions (tenant_id, thread_id, node_id, object_key)
             VALUES ('a', '{thread}', 'node', 'key');
         INSERT INTO recollect.node_memories (tenant_id, thread_id, node_id, object_key)
             VALUES ('a', '{thread}', 'node', 'key');
         INSERT INTO recollect.subscriptions (tenant_id, name, app_id, user_id, actions, url)
             VALUES ('a', 'crm', '', '', '{{}}', '')"
    );
    owner.batch_execute(&fill).await.unwrap();
    for (queue, column, longest) in [
        ("outbox", "available_at", 90),
        ("distill_jobs", "available_at", 3_600),
        ("erasures", "available_at", 3_600),
        ("object_deletions", "available_at", 3_600),
        ("node_memories", "waiting_since", 1),
        ("node_memories", "retry_at", 300),
        ("index_collections", "leased_until", 120),
        ("subscriptions", "available_at", 15),
        ("subscriptions", "retry_at", 3_600),
    ] {
        for (seconds, expected) in [(longest, 0), (longest + 60, 1)] {
            let wait = format!(
                "UPDATE recollect.{queue} SET {column} = clock_timestamp() + interval '{seconds} seconds'"
            );
            assert_eq!(owner.execute(&wait, &[]).await.unwrap(), 1, "{queue}");
            let changed = world.workers.make_due(CHANGE_WAIT, 1_000).await.unwrap();
            assert_eq!(changed, expected, "{queue}.{column} in {seconds} seconds");
        }
        let due = format!("SELECT {column} <= clock_timestamp() FROM recollect.{queue}");
        assert!(
            owner.query_one(&due, &[]).await.unwrap().get::<_, bool>(0),
            "{queue}.{column}"
        );
    }
}

#[tokio::test]
async fn clearing_replaces_queued_changes_by_one_purge() {
    let world = World::new().await;
    let thread = world.thread().await.id;
    world
        .append(
            thread,
            vec![said(Role::User, "one"), said(Role::User, "two")],
        )
        .await
        .unwrap();
    let erased = world
        .store
        .threads(&world.caller)
        .clear_thread(thread)
        .await
        .unwrap();
    assert_eq!(erased.message_count, 2);
    let again = world.say(thread, Role::User, "three").await;
    let jobs = world.outbox.claim(10, MINUTE).await.unwrap().jobs;
    let seen: Vec<_> = jobs.iter().map(|job| (job.kind, job.seq)).collect();
    assert_eq!(seen, [(JobKind::Purge, 2), (JobKind::Upsert(again), 3)]);
    assert_eq!(jobs[0].id, erased.revision.change);
}

#[tokio::test]
async fn reindexing_queues_each_readable_message_once() {
    let mut world = World::new().await;
    let (thread, other) = (world.thread().await.id, world.thread().await.id);
    let ids = world
        .append(thread, (0..5).map(|_| said(Role::User, "hello")).collect())
        .await
        .unwrap();
    world.say(other, Role::User, "elsewhere").await;
    world
        .store
        .messages(&world.caller)
        .delete_message(thread, ids.messages[4].id)
        .await
        .unwrap();
    // All of it waits already.
    assert_eq!(
        world
            .store
            .index(&world.caller)
            .enqueue_all(None)
            .await
            .unwrap(),
        0
    );
    let claim = world.outbox.claim(100, MINUTE).await.unwrap();
    let done: Vec<i64> = claim.jobs.iter().map(|job| job.id).collect();
    world.outbox.ack(claim.lease, &done).await.unwrap();
    assert_eq!(
        world
            .store
            .index(&world.caller)
            .enqueue_all(Some(thread))
            .await
            .unwrap(),
        4
    );
    assert_eq!(
        world
            .store
            .index(&world.caller)
            .enqueue_all(None)
            .await
            .unwrap(),
        1
    );
    assert_eq!(world.outbox.stats().await.unwrap().pending, 5);

    world.caller = caller("b");
    world.thread().await;
    assert_eq!(
        world.outbox.tenants(None, 10).await.unwrap(),
        [caller("a").tenant, caller("b").tenant]
    );
    assert_eq!(
        world
            .outbox
            .tenants(Some(&caller("a").tenant), 10)
            .await
            .unwrap(),
        [caller("b").tenant]
    );
    assert_eq!(
        world.outbox.tenants(None, 1).await.unwrap(),
        [caller("a").tenant]
    );
}

#[tokio::test]
async fn old_request_ids_are_forgotten() {
    let world = World::new().await;
    let thread = world.thread().await.id;
    let append = memory_store::Append {
        thread,
        messages: vec![said(Role::User, "hello")],
        request_id: Some(memory_contract::RequestId::new()),
        expected_head: None,
    };
    world
        .store
        .messages(&world.caller)
        .append(&append)
        .await
        .unwrap();
    assert_eq!(
        world
            .workers
            .messages(&world.store)
            .sweep_requests(10)
            .await
            .unwrap(),
        0
    );
    let owner = world.owner().await;
    owner
        .batch_execute("UPDATE recollect.requests SET created_at = now() - interval '3 days'")
        .await
        .unwrap();
    assert_eq!(
        world
            .workers
            .messages(&world.store)
            .sweep_requests(10)
            .await
            .unwrap(),
        1
    );
}

fn subjects(unindexed: &Unindexed<MessageId>) -> Vec<MessageId> {
    unindexed.changes.iter().map(|one| one.subject).collect()
}

#[tokio::test]
async fn the_newest_unindexed_messages_of_a_scope_are_found_and_the_rest_is_counted() {
    let world = World::new().await;
    let thread_of = async |app: &str, user: &str| {
        let key = format!("session:{}", ThreadId::new());
        world.thread_of(app, user, &key).await.id
    };
    let (ada, ada_too) = (thread_of("app", "ada").await, thread_of("app", "ada").await);
    let (bob, other) = (
        thread_of("app", "bob").await,
        thread_of("other", "ada").await,
    );
    let first = world.say_each(ada, 3, "first").await;
    let second = world.say_each(ada_too, 2, "second").await;
    let bobs = world.say_each(bob, 1, "bob's").await;
    world.say_each(other, 1, "other").await;

    let messages = world.store.messages(&world.caller);
    let unindexed = async |scope: &Scope, limit| {
        let found = messages.unindexed(scope, limit, 100).await.unwrap();
        (subjects(&found), found.more)
    };
    let of_user = |user: &str| Scope::User {
        app: AppId::new("app"),
        user: UserId::new(user),
    };
    let newest_first = |said: &[&[MessageId]]| {
        let mut all = said.concat();
        all.reverse();
        all
    };
    for (scope, expected) in [
        (Scope::Thread(ada), newest_first(&[&first])),
        (of_user("ada"), newest_first(&[&first, &second])),
        (
            Scope::App(AppId::new("app")),
            newest_first(&[&first, &second, &bobs]),
        ),
        (of_user("carol"), Vec::new()),
    ] {
        assert_eq!(unindexed(&scope, 10).await, (expected.clone(), 0));
        let few = expected.iter().take(1).copied().collect();
        let more = expected.len().saturating_sub(1) as u64;
        assert_eq!(unindexed(&scope, 1).await, (few, more));
    }
    // Of long messages, those are read that fit.
    let long = thread_of("app", "dora").await;
    let mut said = world.say_each(long, 3, &"x".repeat(1_000)).await;
    said.reverse();
    let read = messages.index_records(&said, i32::MAX, Some(2_500));
    let read: Vec<_> = read
        .await
        .unwrap()
        .iter()
        .map(|one| one.message.id)
        .collect();
    assert_eq!(read, [said[1], said[0]]);
    // Another tenant's messages are not seen.
    let foreign = caller("b");
    let foreign = world.store.messages(&foreign);
    let foreign = foreign.unindexed(&of_user("ada"), 10, 100).await;
    assert_eq!(foreign.unwrap().changes, []);

    // What a worker has claimed waits until it is acknowledged; what is erased does not.
    let claim = world.outbox.claim(1, MINUTE).await.unwrap();
    assert_eq!(
        unindexed(&Scope::Thread(ada), 10).await.0,
        newest_first(&[&first])
    );
    messages.delete_message(ada, first[0]).await.unwrap();
    // The messages below it have new changes; the claimed one is listed, but not read any more.
    let (ids, more) = unindexed(&Scope::Thread(ada), 10).await;
    assert_eq!(more, 0);
    assert_eq!(ids.last(), Some(&first[0]));
    let read = messages.index_records(&ids, i32::MAX, Some(1_000_000));
    let mut read: Vec<_> = read
        .await
        .unwrap()
        .iter()
        .map(|one| one.message.id)
        .collect();
    read.reverse();
    assert_eq!(read, newest_first(&[&first[1..]]));
    let done = [claim.jobs[0].id];
    assert_eq!(world.outbox.ack(claim.lease, &done).await.unwrap(), 1);
    let threads = world.store.threads(&world.caller);
    threads.delete_thread(ada_too).await.unwrap();
    assert_eq!(unindexed(&Scope::Thread(ada_too), 10).await, (vec![], 0));
}

#[tokio::test]
async fn a_change_is_not_listed_once_a_newer_one_writes_the_same() {
    let world = World::new().await;
    let thread = world.thread().await.id;
    let (first, second) = (
        world.say(thread, Role::User, "one").await,
        world.say(thread, Role::Assistant, "two").await,
    );
    let messages = world.store.messages(&world.caller);
    let listed = async || {
        let found = messages.unindexed(&Scope::Thread(thread), 10, 10).await;
        let found = found.unwrap().changes;
        let found = found.iter().map(|one| (one.number, one.subject));
        found.collect::<Vec<_>>()
    };
    let before = listed().await;
    let metadata = JsonObject::parse(r#"{"kind": "note"}"#.to_owned()).unwrap();
    let (_, revision) = messages
        .update_message(thread, second, &metadata)
        .await
        .unwrap();
    assert_eq!(listed().await, [(revision.change, second), before[1]]);
    // A worker may index the newest change first. The older one still waits, but what a search has
    // read for it is not what the index has by now.
    let claim = world.outbox.claim(10, MINUTE).await.unwrap();
    let acknowledged = world.outbox.ack(claim.lease, &[revision.change]).await;
    assert_eq!(acknowledged.unwrap(), 1);
    assert_eq!(listed().await, [before[1]]);
    // The words of an erased message are in the entries of those below it.
    messages.delete_message(thread, first).await.unwrap();
    let now = listed().await;
    assert_eq!(now.len(), 2, "{now:?}");
    assert_eq!((now[0].1, now[1]), (second, before[1]));
}

#[tokio::test]
async fn a_long_queue_of_others_is_not_read() {
    let world = World::new().await;
    let (ada, bob) = (
        world.thread_of("app", "ada", "k").await.id,
        world.thread_of("app", "bob", "k").await.id,
    );
    let many = || (0..250).map(|_| said(Role::User, "hello")).collect();
    world.append(bob, many()).await.unwrap();
    world.say_each(bob, 2, "bob's").await;
    for _ in 0..8 {
        world.append(ada, many()).await.unwrap();
    }
    for (user, waiting) in [(Some("bob"), 252), (None, 2_252)] {
        // The counts of a connection include earlier transactions until they are flushed.
        let mut service = world.role("recollect_service").await;
        let transaction = service.transaction().await.unwrap();
        let row = transaction
            .query_one(
                "SELECT u.more FROM recollect.unindexed('a', 'message', ARRAY['app'], $1, NULL, 64, 300) AS u",
                &[&user],
            )
            .await
            .unwrap();
        assert_eq!(row.get::<_, i64>(0), 300.min(waiting - 64));
        let row = transaction
            .query_one(
                "SELECT idx_tup_fetch + seq_tup_read FROM pg_stat_xact_user_tables WHERE relname = 'outbox'",
                &[],
            )
            .await
            .unwrap();
        let read: i64 = row.get(0);
        assert!(read <= 364, "{user:?}: {read}");
        transaction.rollback().await.unwrap();
    }
}
