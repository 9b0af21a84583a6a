//! Workers share the changes for the index.

use std::collections::BTreeMap;
use std::time::Duration;

use memory_contract::message::Role;
use memory_contract::{MessageId, ThreadId};
use memory_store::{Claim, Failure, LeaseId};
use uuid::Uuid;

use super::{STEPS, Stage, play};

const MAX_ATTEMPTS: i32 = 3;

/// A change that is not acknowledged.
#[derive(Debug)]
struct Change {
    message: Uuid,
    lease: Option<LeaseId>,
    /// Not claimed before.
    due: u64,
    attempts: i32,
    created: u64,
    dead: bool,
    /// Requeued, and so claimed apart from others.
    bulk: bool,
}

#[derive(Default)]
struct Model {
    /// By their numbers.
    changes: BTreeMap<i64, Change>,
    newest: i64,
    /// What workers have claimed at any time, and may come back with.
    claims: Vec<Claim>,
    threads: Vec<ThreadId>,
    messages: Vec<(ThreadId, MessageId)>,
}

impl Model {
    /// Adds the changes that a write has queued.
    async fn adopt(&mut self, stage: &Stage) {
        let new = "SELECT id, message_id FROM recollect.outbox WHERE id > $1 ORDER BY id";
        let rows = stage.owner.query(new, &[&self.newest]).await.unwrap();
        assert!(!rows.is_empty(), "a write queues changes");
        for row in rows {
            let change = Change {
                message: row.get(1),
                lease: None,
                due: stage.now,
                attempts: 0,
                created: stage.now,
                dead: false,
                bulk: false,
            };
            self.newest = row.get(0);
            self.changes.insert(self.newest, change);
        }
    }

    /// The changes of a claim that still belong to it.
    fn held(&mut self, lease: LeaseId, ids: &[i64]) -> impl Iterator<Item = &mut Change> {
        let held = move |change: &&mut Change| change.lease == Some(lease);
        let of_claim = |(id, change)| ids.contains(id).then_some(change);
        self.changes.iter_mut().filter_map(of_claim).filter(held)
    }

    fn count_dead(&self) -> usize {
        self.changes.values().filter(|change| change.dead).count()
    }
}

#[tokio::test]
async fn of_simulated_workers_each_change_has_one_at_a_time_and_none_is_lost() {
    play(async |stage| {
        let mut model = Model::default();
        for _ in 0..STEPS {
            step(stage, &mut model).await;
            compare(stage, &model).await;
        }
        drain(stage, &mut model).await;
    })
    .await;
}

async fn step(stage: &mut Stage, model: &mut Model) {
    match stage.rng.u32(..20) {
        0..4 => say(stage, model).await,
        4 => delete(stage, model).await,
        5..10 => claim(stage, model).await,
        10 => requeue(stage, model).await,
        11 if stage.rng.u32(..4) == 0 => end_leases(stage, model).await,
        11..17 => come_back(stage, model).await,
        _ => stage.pass_one_of([1, 7, 29, 31, 61]).await,
    }
}

async fn say(stage: &mut Stage, model: &mut Model) {
    if model.threads.is_empty() || stage.rng.u32(..4) == 0 {
        model.threads.push(stage.world.thread().await.id);
    }
    let thread = model.threads[stage.rng.usize(..model.threads.len())];
    let id = stage.world.say(thread, Role::User, "Hello.").await;
    model.adopt(stage).await;
    model.messages.push((thread, id));
    stage.note(format_args!("said {id}"));
}

async fn delete(stage: &mut Stage, model: &mut Model) {
    let Some(place) = stage.choose(model.messages.len()) else {
        return;
    };
    let (thread, id) = model.messages.remove(place);
    let messages = stage.world.store.messages(&stage.world.caller);
    messages.delete_message(thread, id).await.unwrap();
    // What no worker has claimed would write nothing.
    let superseded = |change: &Change| change.message == id.uuid() && change.lease.is_none();
    model.changes.retain(|_, change| !superseded(change));
    model.adopt(stage).await;
    stage.note(format_args!("deleted {id}"));
}

async fn claim(stage: &mut Stage, model: &mut Model) {
    let limit = stage.rng.u32(1..=4);
    let lease = [10, 30][stage.rng.usize(..2)];
    let claim = stage
        .world
        .outbox
        .claim(limit, Duration::from_secs(lease))
        .await
        .unwrap();
    let now = stage.now;
    stage.note(format_args!(
        "claimed {:?} for {lease} s",
        claim.jobs.iter().map(|job| job.id).collect::<Vec<_>>()
    ));
    let due = |bulk: bool| {
        let due = |change: &&Change| !change.dead && change.bulk == bulk && change.due <= now;
        model.changes.values().filter(due).count()
    };
    let is_bulk = claim.jobs.first().is_some_and(|job| job.bulk);
    assert_eq!(claim.jobs.len(), due(is_bulk).min(limit as usize));
    assert!(!claim.jobs.is_empty() || due(true) == 0);
    for job in &claim.jobs {
        let change = model.changes.get_mut(&job.id).unwrap();
        let is_due = !change.dead && change.due <= now && change.bulk == is_bulk;
        assert!(is_due, "{job:?} is not due: {change:?}");
        change.attempts += 1;
        assert_eq!(job.attempts, change.attempts);
        change.lease = Some(claim.lease);
        change.due = now + lease;
    }
    if !claim.jobs.is_empty() {
        model.claims.push(claim);
    }
}

/// A worker comes back with what it claimed, however long ago.
async fn come_back(stage: &mut Stage, model: &mut Model) {
    let Some(place) = stage.choose(model.claims.len()) else {
        return;
    };
    let claim = model.claims[place].clone();
    let count = stage.rng.usize(1..=claim.jobs.len());
    let jobs = &claim.jobs[..count];
    let ids: Vec<i64> = jobs.iter().map(|job| job.id).collect();
    let outbox = stage.world.outbox.clone();
    let now = stage.now;
    let held = model.held(claim.lease, &ids).count() as u64;
    match stage.rng.u32(..10) {
        0..2 => {
            let seconds = 20;
            let extended = outbox.extend(claim.lease, &ids, Duration::from_secs(seconds));
            assert_eq!(extended.await.unwrap(), held);
            for change in model.held(claim.lease, &ids) {
                change.due = now + seconds;
            }
            stage.note(format_args!("extended {ids:?}: {held}"));
        }
        2..6 => {
            assert_eq!(outbox.ack(claim.lease, &ids).await.unwrap(), held);
            let lease = Some(claim.lease);
            model
                .changes
                .retain(|id, change| change.lease != lease || !ids.contains(id));
            stage.note(format_args!("acknowledged {ids:?}: {held}"));
        }
        6..8 => {
            let failures: Vec<Failure> = ids
                .iter()
                .map(|id| Failure {
                    id: *id,
                    error: "refused".to_owned(),
                    delay: Duration::from_secs(15),
                })
                .collect();
            let dead_before = model.count_dead();
            for change in model.held(claim.lease, &ids) {
                change.due = now + 15;
                change.dead = change.attempts >= MAX_ATTEMPTS;
                change.lease = None;
            }
            let given_up = outbox
                .retry(claim.lease, &failures, MAX_ATTEMPTS)
                .await
                .unwrap();
            assert_eq!(given_up as usize, model.count_dead() - dead_before);
            stage.note(format_args!("failed {ids:?}: {held}, given up {given_up}"));
        }
        _ => {
            assert_eq!(outbox.release(claim.lease, &ids).await.unwrap(), held);
            for change in model.held(claim.lease, &ids) {
                change.lease = None;
                change.due = now;
                change.attempts -= 1;
            }
            stage.note(format_args!("released {ids:?}: {held}"));
        }
    }
}

async fn requeue(stage: &mut Stage, model: &mut Model) {
    let index = stage.world.store.index(&stage.world.caller);
    let requeued = index.requeue_dead(None).await.unwrap();
    assert_eq!(requeued as usize, model.count_dead());
    for change in model.changes.values_mut().filter(|change| change.dead) {
        change.dead = false;
        change.bulk = true;
        change.due = stage.now;
        change.attempts = 0;
    }
    stage.note(format_args!("requeued {requeued}"));
}

/// As a worker does that starts alone.
async fn end_leases(stage: &mut Stage, model: &mut Model) {
    let ended = stage.world.outbox.end_leases().await.unwrap();
    let mut expected = 0;
    for change in model.changes.values_mut() {
        if !change.dead && change.lease.take().is_some() {
            change.due = stage.now;
            expected += 1;
        }
    }
    assert_eq!(ended, expected);
    stage.note(format_args!("ended {ended} leases"));
}

async fn compare(stage: &Stage, model: &Model) {
    let stats = stage.world.outbox.stats().await.unwrap();
    let waiting = model.changes.values().filter(|change| !change.dead);
    let oldest = waiting.clone().map(|change| change.created).min();
    assert_eq!(stats.pending as usize, waiting.count());
    assert_eq!(stats.dead_letters as usize, model.count_dead());
    let lag = oldest.map_or(0, |oldest| stage.now - oldest);
    assert_eq!(stats.lag.as_secs(), lag);
}

/// One worker does all that is left.
async fn drain(stage: &mut Stage, model: &mut Model) {
    requeue(stage, model).await;
    stage.pass(120).await;
    while !model.changes.is_empty() {
        let claims = model.claims.len();
        claim(stage, model).await;
        assert_eq!(model.claims.len(), claims + 1, "{:?}", model.changes);
        let claim = model.claims.pop().unwrap();
        let ids: Vec<i64> = claim.jobs.iter().map(|job| job.id).collect();
        let acknowledged = stage.world.outbox.ack(claim.lease, &ids).await.unwrap();
        assert_eq!(acknowledged as usize, ids.len());
        for job in &claim.jobs {
            model.changes.remove(&job.id).unwrap();
        }
    }
    compare(stage, model).await;
}
