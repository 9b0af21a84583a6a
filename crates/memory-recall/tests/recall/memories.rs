//! Long-term memories: indexed, found, and deleted.

use std::sync::Arc;
use std::time::Duration;

use memory_contract::{AppId, MemoryId, UserId, memory::MemoryFilter, message::Role};
use memory_index::{Backend, UnavailableIndex};
use memory_recall::{
    DegradationReason, FoundMemories, Freshness, MemoryQuery, Method, RecallQuery,
};
use memory_store::{MemoryOwners, Scope};
use memory_test_qdrant::{Fault, TestQdrant};

use crate::service::Service;
use crate::world::{APP, Worker, World, caller, client, edge, eventually, owner, points, quick};

impl Service {
    async fn ask_memories(&self, user: &str, query: &str) -> FoundMemories {
        let query = MemoryQuery {
            owners: MemoryOwners::User(owner(user)),
            query: query.to_owned(),
            limit: 5,
            filter: MemoryFilter::default(),
            method: Method::Hybrid,
            min_score: 0.0,
            freshness: Freshness::Newest,
            max_wait: Duration::ZERO,
        };
        self.recall.memories(&caller(), &query).await.unwrap()
    }
}

impl World {
    async fn memory(&self, memory: MemoryId) -> memory_contract::memory::Memory {
        let found = self.store.memories(&caller()).get_memory(memory).await;
        found.unwrap().memory
    }
}

fn memory_ids(found: &FoundMemories) -> Vec<MemoryId> {
    found.memories.iter().map(|one| one.memory.id).collect()
}

fn reasons(found: &FoundMemories) -> Vec<DegradationReason> {
    found.degradations.iter().map(|one| one.reason).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_memory_is_found_by_its_own_user_until_it_is_erased_or_superseded() {
    let service = Service::start().await;
    let world = &service.world;
    let thread = world.thread("ada").await;
    world.say(thread, Role::User, "I prefer oolong.").await;
    let tea = world.remember("ada", "Prefers oolong").await;
    let more = world
        .remember("ada", "Buys oolong in Taipei, every other month")
        .await;
    let bobs = world.remember("bob", "Prefers oolong").await;
    service.settle().await;
    for memory in [tea, more, bobs] {
        assert!(world.memory(memory).await.persisted.is_some());
    }
    let found = service.ask_memories("ada", "Who prefers oolong?").await;
    assert_eq!(memory_ids(&found), [tea, more]);
    assert_eq!(found.degradations, []);
    assert!(found.memories[0].lexical_score.is_some());
    for memory in [tea, more] {
        eventually("its use is noted", async || {
            world.memory(memory).await.last_used.is_some()
        })
        .await;
    }
    assert_eq!(world.memory(bobs).await.last_used, None);
    let found = service.ask_memories("bob", "oolong").await;
    assert_eq!(memory_ids(&found), [bobs]);
    let found = service.ask_memories("", "oolong").await;
    assert!(memory_ids(&found).is_empty());

    // Recall of messages finds none of them.
    let scope = Scope::User {
        app: AppId::new(APP),
        user: UserId::new("ada"),
    };
    let recalled = service.ask(RecallQuery::new(None, scope, "oolong")).await;
    assert_eq!(recalled.messages.len(), 1);

    // The database decides, also where the index has not caught up.
    world.execute(&format!(
        "UPDATE recollect.memories SET valid_until = now(), ended_at = now() WHERE memory_id = '{tea}'"
    ));
    let found = service.ask_memories("ada", "oolong").await;
    assert_eq!(memory_ids(&found), [more]);
    world.execute(&format!(
        "DELETE FROM recollect.memories WHERE memory_id = '{more}'"
    ));
    let found = service.ask_memories("ada", "oolong").await;
    assert!(memory_ids(&found).is_empty());
    assert_eq!(points(&*service.index).await, 4);
    world
        .store
        .memories(&caller())
        .delete_memory(bobs)
        .await
        .unwrap();
    service.settle().await;
    assert_eq!(points(&*service.index).await, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_an_index_memories_are_found_by_word_and_the_degradation_is_reported() {
    let server = TestQdrant::start().await.unwrap();
    let service = Service::over(client(&server), None).await;
    let tea = service.world.remember("ada", "Prefers oolong").await;
    service.world.remember("bob", "Prefers oolong").await;
    service.settle().await;
    let found = service.ask_memories("ada", "oolong").await;
    assert_eq!(memory_ids(&found), [tea]);
    server.set_fault(Fault::Unavailable);
    let found = service.ask_memories("ada", "oolong").await;
    assert_eq!(memory_ids(&found), [tea]);
    assert_eq!(reasons(&found), [DegradationReason::IndexUnavailable]);

    let missing = UnavailableIndex::new(Backend::Edge, "no model");
    let service = Service::over(Arc::new(missing), None).await;
    let tea = service.world.remember("ada", "Prefers oolong").await;
    let found = service.ask_memories("ada", "oolong").await;
    assert_eq!(memory_ids(&found), [tea]);
    assert_eq!(reasons(&found), [DegradationReason::EmbedderUnavailable]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_index_learns_all_memories() {
    let mut service = Service::start().await;
    let tea = service.world.remember("ada", "Prefers oolong").await;
    service.settle().await;
    service.worker.end().await;
    let (_directory, index) = edge();
    let _worker = Worker::start(&service.world, &index, None, quick());
    eventually("the new index has the memory", async || {
        points(&*index).await == 1
    })
    .await;
    assert!(service.world.memory(tea).await.persisted.is_some());
}
