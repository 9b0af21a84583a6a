//! Workers claim of each tenant in turn, and changes of imports after all others.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use memory_contract::{TenantId, ThreadId, message::Role};
use memory_store::{Append, Job, JobKind};

use crate::world::{World, caller, said};

const MINUTE: Duration = Duration::from_secs(60);

impl World {
    async fn say_as(&mut self, tenant: &str, count: usize) -> ThreadId {
        self.caller = caller(tenant);
        let thread = self.thread().await.id;
        let messages: Vec<_> = (0..count).map(|_| said(Role::User, "hello")).collect();
        if !messages.is_empty() {
            self.append(thread, messages).await.unwrap();
        }
        thread
    }

    async fn import_into(&self, thread: ThreadId, count: usize) {
        let append = Append {
            thread,
            messages: (0..count).map(|_| said(Role::User, "hello")).collect(),
            request_id: None,
            expected_head: None,
        };
        let imported = self.store.messages(&self.caller).import(&append);
        imported.await.unwrap();
    }

    /// How many changes of each tenant a claim gets.
    async fn claimed(&self, limit: u32) -> HashMap<String, usize> {
        let claim = self.outbox.claim(limit, MINUTE).await.unwrap();
        let mut counts = HashMap::new();
        for job in &claim.jobs {
            *counts.entry(job.tenant.as_str().to_owned()).or_default() += 1;
        }
        counts
    }

    /// The tenants of the threads that a claim gets, and the threads.
    async fn distilled(&self, limit: u32) -> Vec<(TenantId, ThreadId)> {
        let claim = self
            .workers
            .distillates(&self.store)
            .claim_distill(limit, MINUTE)
            .await
            .unwrap();
        let jobs = claim.jobs.into_iter();
        jobs.map(|job| (job.caller.tenant, job.thread)).collect()
    }
}

fn counts(of: &[(&str, usize)]) -> HashMap<String, usize> {
    of.iter()
        .map(|(tenant, count)| ((*tenant).to_owned(), *count))
        .collect()
}

#[tokio::test]
async fn each_tenant_has_its_share_of_a_claim() {
    let mut world = World::new().await;
    for (tenant, count) in [("a", 200), ("b", 3), ("c", 1), ("d", 30)] {
        world.say_as(tenant, count).await;
    }
    let first = world.claimed(12).await;
    assert_eq!(first, counts(&[("a", 3), ("b", 3), ("c", 1), ("d", 3)]));
    assert_eq!(world.claimed(20).await, counts(&[("a", 10), ("d", 10)]));
    // A tenant's own changes are claimed in their order.
    let claim = world.outbox.claim(4, MINUTE).await.unwrap();
    let of_a: Vec<&Job> = claim
        .jobs
        .iter()
        .filter(|job| job.tenant.as_str() == "a")
        .collect();
    assert_eq!(of_a.len(), 2);
    assert!(of_a[0].seq < of_a[1].seq);
    // One claim after the other, each of another tenant.
    let mut turns = Vec::new();
    for _ in 0..4 {
        turns.extend(world.claimed(1).await.into_keys());
    }
    assert_ne!(turns[0], turns[1]);
    assert_eq!(turns[..2], turns[2..]);
}

#[tokio::test]
async fn changes_of_imports_and_rebuilds_come_after_others() {
    let mut world = World::new().await;
    let thread = world.say_as("a", 0).await;
    world.import_into(thread, 20).await;
    let live = world.say_as("b", 20).await;
    let kinds = |jobs: &[Job]| jobs.iter().map(|job| job.bulk).collect::<Vec<_>>();
    let first = world.outbox.claim(8, MINUTE).await.unwrap();
    assert_eq!(kinds(&first.jobs), [false; 8]);
    let only = world.outbox.claim_live(100, MINUTE).await.unwrap();
    assert_eq!(kinds(&only.jobs), [false; 12]);
    assert!(only.jobs.iter().all(|job| job.thread == live));
    let none = world.outbox.claim_live(100, MINUTE).await.unwrap();
    assert!(none.jobs.is_empty());
    let rest = world.outbox.claim(100, MINUTE).await.unwrap();
    assert_eq!(kinds(&rest.jobs), [true; 20]);
    for claim in [&first, &only, &rest] {
        let ids: Vec<i64> = claim.jobs.iter().map(|job| job.id).collect();
        world.outbox.ack(claim.lease, &ids).await.unwrap();
    }

    // What is indexed again waits for what is new.
    let again = world.store.index(&world.caller).enqueue_all(None).await;
    assert_eq!(again.unwrap(), 20);
    let new = world.say_as("c", 1).await;
    let claim = world.outbox.claim(100, MINUTE).await.unwrap();
    assert_eq!(claim.jobs.len(), 1);
    assert_eq!((claim.jobs[0].thread, claim.jobs[0].bulk), (new, false));
    let claim = world.outbox.claim(100, MINUTE).await.unwrap();
    assert_eq!(kinds(&claim.jobs), [true; 20]);
}

#[tokio::test]
async fn an_import_gets_on_while_others_never_end() {
    let mut world = World::new().await;
    let thread = world.say_as("a", 0).await;
    world.import_into(thread, 40).await;
    world.say_as("b", 200).await;
    let mut bulk = 0;
    for _ in 0..32 {
        let claim = world.outbox.claim(4, MINUTE).await.unwrap();
        bulk += claim.jobs.iter().filter(|job| job.bulk).count();
    }
    assert_eq!(bulk, 4 * 4);
}

#[tokio::test]
async fn an_erasure_within_an_import_is_not_bulk() {
    let mut world = World::new().await;
    let thread = world.say_as("a", 0).await;
    world.import_into(thread, 3).await;
    let threads = world.store.threads(&world.caller);
    threads.clear_thread(thread).await.unwrap();
    let claim = world.outbox.claim_live(10, MINUTE).await.unwrap();
    assert_eq!(claim.jobs.len(), 1);
    assert_eq!(claim.jobs[0].kind, JobKind::Purge);
}

#[tokio::test]
async fn a_claim_reads_little_of_a_long_queue_and_passes_no_tenant_over() {
    let world = World::new().await;
    let owner = world.owner().await;
    owner
        .batch_execute(
            "INSERT INTO recollect.outbox (tenant_id, thread_id, message_id, seq, op)
             SELECT 'big', md5(n::text)::uuid, gen_random_uuid(), n, 'upsert' FROM generate_series(1, 20000) AS n;
             INSERT INTO recollect.outbox (tenant_id, thread_id, message_id, seq, op)
             SELECT 'small-' || n, md5(n::text)::uuid, gen_random_uuid(), 1, 'upsert' FROM generate_series(1, 150) AS n;
             INSERT INTO recollect.outbox (tenant_id, thread_id, message_id, seq, op, bulk)
             SELECT 'import', md5(n::text)::uuid, gen_random_uuid(), n, 'upsert', true FROM generate_series(1, 20000) AS n",
        )
        .await
        .unwrap();
    let claim = include_str!("../../../memory-outbox/queries/outbox/claim.sql");
    for bulk in [false, true] {
        // The counts of a connection include earlier transactions until they are flushed.
        let mut worker = world.role("recollect_worker").await;
        let transaction = worker.transaction().await.unwrap();
        let lease = uuid::Uuid::new_v4();
        let claimed = transaction
            .query(
                claim,
                &[&64_i64, &lease, &60_f64, &bulk, &"h", &None::<&str>],
            )
            .await
            .unwrap();
        assert_eq!(claimed.len(), 64);
        let read = "SELECT idx_tup_fetch + seq_tup_read FROM pg_stat_xact_user_tables WHERE relname = 'outbox'";
        let row = transaction.query_one(read, &[]).await.unwrap();
        let read: i64 = row.get(0);
        // For each change: to find its tenant, to lock it and to change it.
        assert!(read <= 64 * 4, "{bulk}: {read}");
        transaction.rollback().await.unwrap();
    }
    let mut served = HashSet::new();
    for _ in 0..3 {
        served.extend(world.claimed(64).await.into_keys());
    }
    assert_eq!(served.len(), 151);
}

#[tokio::test]
async fn threads_to_distill_are_claimed_of_each_tenant_in_turn() {
    let mut world = World::new().await;
    for _ in 0..5 {
        world.say_as("a", 1).await;
    }
    world.say_as("b", 1).await;
    world.say_as("c", 1).await;
    let tenants = async |limit| {
        let claimed = world.distilled(limit).await;
        let tenants = claimed
            .into_iter()
            .map(|(tenant, _)| tenant.as_str().to_owned());
        let mut tenants: Vec<String> = tenants.collect();
        tenants.sort();
        tenants
    };
    assert_eq!(tenants(1).await, ["a"]);
    assert_eq!(tenants(1).await, ["b"]);
    assert_eq!(tenants(4).await, ["a", "a", "a", "c"]);
    assert_eq!(tenants(10).await, ["a"]);
    assert!(tenants(10).await.is_empty());
}

#[tokio::test]
async fn threads_that_only_an_import_queued_are_distilled_last() {
    let mut world = World::new().await;
    world.caller = caller("a");
    let (imported, also) = (world.thread().await.id, world.thread().await.id);
    world.import_into(imported, 1).await;
    world.import_into(also, 1).await;
    let live = world.say_as("a", 1).await;
    // Somebody goes on with an imported conversation.
    world.say(also, Role::User, "more").await;
    let threads = async |limit| {
        let claimed = world.distilled(limit).await;
        claimed
            .into_iter()
            .map(|(_, thread)| thread)
            .collect::<HashSet<ThreadId>>()
    };
    let first = threads(2).await;
    assert_eq!(first, HashSet::from([live, also]));
    let last = threads(10).await;
    assert_eq!(last, HashSet::from([imported]));
}

#[tokio::test]
async fn tenants_without_due_threads_hide_no_others() {
    let mut world = World::new().await;
    let due = world.say_as("z", 1).await;
    let owner = world.owner().await;
    owner
        .batch_execute(
            "INSERT INTO recollect.distill_jobs (tenant_id, thread_id, available_at)
             SELECT 'later-' || n, gen_random_uuid(), clock_timestamp() + interval '1 hour'
             FROM generate_series(1, 2000) AS n",
        )
        .await
        .unwrap();
    let claimed = world.distilled(10).await;
    assert_eq!(claimed, [(TenantId::new("z"), due)]);
    assert!(world.distilled(10).await.is_empty());
}
