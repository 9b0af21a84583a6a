//! Workers share the threads to distill.

use std::collections::BTreeMap;
use std::time::Duration;

use memory_contract::ThreadId;
use memory_store::{DistillClaim, LeaseId};
use time::OffsetDateTime;
use uuid::Uuid;

use super::{STEPS, Stage, play};

/// A thread in the queue.
#[derive(Clone, Debug, PartialEq)]
struct Job {
    wanted: i64,
    lease: Option<Uuid>,
    due: u64,
    attempts: i32,
    is_failing: bool,
    created: u64,
}

#[derive(Default)]
struct Model {
    jobs: BTreeMap<Uuid, Job>,
    claims: Vec<DistillClaim>,
    threads: Vec<ThreadId>,
}

impl Model {
    fn held(&mut self, thread: ThreadId, lease: LeaseId) -> Option<&mut Job> {
        let job = self.jobs.get_mut(&thread.uuid());
        job.filter(|job| job.lease == Some(lease.uuid()))
    }
}

#[tokio::test]
async fn of_simulated_workers_each_thread_has_one_at_a_time_and_no_request_is_lost() {
    play(async |stage| {
        let mut model = Model::default();
        for _ in 0..3 {
            model.threads.push(stage.world.thread().await.id);
        }
        for _ in 0..STEPS {
            step(stage, &mut model).await;
            compare(stage, &model).await;
        }
    })
    .await;
}

async fn step(stage: &mut Stage, model: &mut Model) {
    match stage.rng.u32(..20) {
        0..5 => request(stage, model).await,
        5..9 => claim(stage, model).await,
        9 if stage.rng.u32(..4) == 0 => end_leases(stage, model).await,
        9..16 => come_back(stage, model).await,
        _ => stage.pass_one_of([1, 7, 29, 31, 61]).await,
    }
}

async fn request(stage: &mut Stage, model: &mut Model) {
    let thread = model.threads[stage.rng.usize(..model.threads.len())];
    let distillates = stage.world.store.distillates(&stage.world.caller);
    distillates.enqueue_distill(thread).await.unwrap();
    stage.note(format_args!("requested {thread}"));
    let now = stage.now;
    match model.jobs.get_mut(&thread.uuid()) {
        None => {
            let job = Job {
                wanted: 1,
                lease: None,
                due: now,
                attempts: 0,
                is_failing: false,
                created: now,
            };
            model.jobs.insert(thread.uuid(), job);
        }
        // The run under way may have read the thread before: another one follows.
        Some(job) if job.lease.is_some() => {
            job.wanted += 1;
            job.created = job.created.min(now);
        }
        // One that waits for its time is due; one that failed keeps its pause.
        Some(job) if !job.is_failing && job.due > now => {
            job.wanted += 1;
            job.due = now;
            job.created = job.created.min(now);
        }
        Some(_) => {}
    }
}

async fn claim(stage: &mut Stage, model: &mut Model) {
    let limit = stage.rng.u32(1..=3);
    let lease = [10, 30][stage.rng.usize(..2)];
    let worker = stage.world.workers.distillates(&stage.world.store);
    let claim = worker
        .claim_distill(limit, Duration::from_secs(lease))
        .await
        .unwrap();
    let now = stage.now;
    let due = model.jobs.values().filter(|job| job.due <= now).count();
    assert_eq!(claim.jobs.len(), due.min(limit as usize));
    for claimed in &claim.jobs {
        let job = model.jobs.get_mut(&claimed.thread.uuid()).unwrap();
        assert!(job.due <= now, "{claimed:?} is not due: {job:?}");
        job.lease = Some(claim.lease.uuid());
        job.due = now + lease;
        job.attempts += 1;
        assert_eq!(
            (claimed.attempts, claimed.wanted),
            (job.attempts, job.wanted)
        );
    }
    let threads: Vec<ThreadId> = claim.jobs.iter().map(|job| job.thread).collect();
    stage.note(format_args!("claimed {threads:?} for {lease} s"));
    if !threads.is_empty() {
        model.claims.push(claim);
    }
}

/// A worker comes back with a thread that it claimed, however long ago.
async fn come_back(stage: &mut Stage, model: &mut Model) {
    let Some(place) = stage.choose(model.claims.len()) else {
        return;
    };
    let claim = model.claims[place].clone();
    let claimed = &claim.jobs[stage.rng.usize(..claim.jobs.len())];
    let (thread, lease) = (claimed.thread, claim.lease);
    let worker = stage.world.workers.distillates(&stage.world.store);
    let now = stage.now;
    let held = model.held(thread, lease);
    let is_held = held.is_some();
    match stage.rng.u32(..10) {
        0..2 => {
            let extended = worker
                .extend_distill(lease, claimed, Duration::from_secs(20))
                .await;
            assert_eq!(extended.unwrap(), is_held);
            if let Some(job) = held {
                job.due = now + 20;
            }
            stage.note(format_args!("extended {thread}: {is_held}"));
        }
        2..4 => {
            let pause = Duration::from_secs(15);
            let retried = worker.retry_distill(lease, claimed, "refused", pause).await;
            assert_eq!(retried.unwrap(), is_held);
            if let Some(job) = held {
                job.lease = None;
                job.is_failing = true;
                job.due = now + 15;
            }
            stage.note(format_args!("failed {thread}: {is_held}"));
        }
        4 => {
            let released = worker.release_distill(lease, claimed).await;
            assert_eq!(released.unwrap(), is_held);
            if let Some(job) = held {
                job.lease = None;
                job.due = now;
                job.attempts -= 1;
            }
            stage.note(format_args!("released {thread}: {is_held}"));
        }
        5..9 => {
            let done = worker.distill_done(lease, claimed, i64::MAX).await.unwrap();
            assert_eq!(done, finish(model, thread, lease, claimed.wanted, now));
            if done {
                model.jobs.remove(&thread.uuid());
            }
            stage.note(format_args!("finished {thread}: {done}"));
        }
        _ => {
            let after = Duration::from_secs(40);
            let done = worker
                .distill_postpone(lease, claimed, i64::MAX, after)
                .await;
            let done = done.unwrap();
            assert_eq!(done, finish(model, thread, lease, claimed.wanted, now));
            if let Some(job) = model.jobs.get_mut(&thread.uuid()).filter(|_| done) {
                job.lease = None;
                job.due = now + 40;
                job.created = now + 40;
                job.attempts = 0;
                job.is_failing = false;
            }
            stage.note(format_args!("postponed {thread}: {done}"));
        }
    }
}

/// Whether a run ends, because it is the worker's, and no other was requested meanwhile.
fn finish(model: &mut Model, thread: ThreadId, lease: LeaseId, wanted: i64, now: u64) -> bool {
    let Some(job) = model.held(thread, lease) else {
        return false;
    };
    if job.wanted == wanted {
        return true;
    }
    *job = Job {
        wanted: job.wanted,
        lease: None,
        due: now,
        attempts: 0,
        is_failing: false,
        created: now,
    };
    false
}

/// As a worker does that starts alone.
async fn end_leases(stage: &mut Stage, model: &mut Model) {
    let worker = stage.world.workers.distillates(&stage.world.store);
    let ended = worker.end_distill_leases().await.unwrap();
    let mut expected = 0;
    for job in model.jobs.values_mut() {
        if job.lease.take().is_some() {
            job.due = stage.now;
            expected += 1;
        }
    }
    assert_eq!(ended, expected);
    stage.note(format_args!("ended {ended} leases"));
}

async fn compare(stage: &Stage, model: &Model) {
    let all = "SELECT thread_id, wanted, lease_id, available_at, attempts, failing_since IS NOT NULL, created_at
        FROM recollect.distill_jobs";
    let rows = stage.owner.query(all, &[]).await.unwrap();
    let found: BTreeMap<Uuid, Job> = rows
        .iter()
        .map(|row| {
            let second = |column: usize| stage.second(row.get::<_, OffsetDateTime>(column));
            let job = Job {
                wanted: row.get(1),
                lease: row.get(2),
                due: second(3),
                attempts: row.get(4),
                is_failing: row.get(5),
                created: second(6),
            };
            (row.get(0), job)
        })
        .collect();
    assert_eq!(found, model.jobs);
}
