//! Waiting until memories are indexed.

use std::time::Duration;

use memory_store::{Failure, Revision};

use super::{id, memory};
use crate::world::World;

impl World {
    async fn waits(&self, revision: &Revision) -> bool {
        let found = self.store.messages(&self.caller).freshness(revision).await;
        found.unwrap().pending
    }
}

#[tokio::test]
async fn a_user_does_not_wait_for_the_memories_of_another() {
    let world = World::new().await;
    let adas = world.remember("ada", &[memory("Likes tea")]).await;
    let bobs = world.remember("bob", &[memory("Likes tea")]).await;
    assert_ne!(adas.revision.thread, bobs.revision.thread);
    let day = Duration::from_secs(24 * 3_600);
    let claim = world.outbox.claim(10, day).await.unwrap();
    assert_eq!(claim.jobs.len(), 2);
    let (stuck, done) = (&claim.jobs[0], &claim.jobs[1]);
    let failure = Failure {
        id: stuck.id,
        error: "no".to_owned(),
        delay: day,
    };
    world
        .outbox
        .retry(claim.lease, &[failure], 10)
        .await
        .unwrap();
    world.outbox.ack(claim.lease, &[done.id]).await.unwrap();
    assert!(world.waits(&adas.revision).await);
    assert!(!world.waits(&bobs.revision).await);

    let gone = world
        .store
        .memories(&world.caller)
        .delete_memory(id(&bobs, 0));
    let gone = gone.await.unwrap();
    assert_eq!(gone.revision.thread, bobs.revision.thread);
    assert!(world.waits(&gone.revision).await);
    // A memory that is queued again waits in the same queue; waiting ones are not queued twice.
    let queued = world
        .store
        .index(&world.caller)
        .enqueue_all(None)
        .await
        .unwrap();
    assert_eq!(queued, 0);
}

#[tokio::test]
async fn a_retry_waits_for_the_changes_that_the_first_try_queued() {
    let world = World::new().await;
    let first = world.remember("ada", &[memory("Lives in Paris")]).await;
    let again = world.remember("ada", &[memory("lives in Paris")]).await;
    assert_eq!(again.revision, first.revision);
    let supersede = async || {
        let rome = memory("Lives in Rome");
        let store = &world.store;
        store
            .memories(&world.caller)
            .supersede_memory(id(&first, 0), &rome)
            .await
            .unwrap()
    };
    let (done, again) = (supersede().await, supersede().await);
    assert_eq!(done.memory.id, again.memory.id);
    assert_eq!(done.revision, again.revision);
    assert!(world.waits(&again.revision).await);
    let claim = world
        .outbox
        .claim(10, Duration::from_secs(60))
        .await
        .unwrap();
    let ids: Vec<i64> = claim.jobs.iter().map(|job| job.id).collect();
    world.outbox.ack(claim.lease, &ids).await.unwrap();
    assert!(!world.waits(&supersede().await.revision).await);
}
