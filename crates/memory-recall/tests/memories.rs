//! Long-term memories on their way into the index and out of it.

#![allow(
    clippy::unwrap_used,
    reason = "a test that fails may say so by panicking"
)]

mod common;

use std::sync::Arc;
use std::time::Duration;

use common::{FakeStore, tenant};
use memory_contract::{AppId, MemoryFilter, MemoryId, MemoryOwner, Role, UserId};
use memory_recall::testing::{Fault, TestQdrant};
use memory_recall::{
    BackendChoice, DegradationReason, EdgeIndex, FoundMemories, Index, IndexConfig, IndexSchema,
    IndexState, Indexer, IndexerConfig, MemoryQuery, Method, Recall, RecallQuery, Scope,
    SearchConfig, Target, UnavailableIndex, open_index,
};
use tokio_util::sync::{CancellationToken, DropGuard};

struct Service {
    store: FakeStore,
    index: Arc<dyn Index>,
    recall: Recall,
    _stop: DropGuard,
}

impl Service {
    fn over(index: Arc<dyn Index>) -> Self {
        let store = FakeStore::default();
        let config = IndexerConfig {
            poll_interval: Duration::from_millis(10),
            ..IndexerConfig::default()
        };
        let indexer = Indexer::new(Arc::new(store.clone()), Arc::clone(&index), None, config);
        let handle = indexer.handle();
        let stop = CancellationToken::new();
        tokio::spawn(indexer.run(stop.clone()));
        let recall = Recall::new(
            Arc::new(store.clone()),
            Arc::clone(&index),
            None,
            Some(handle),
            SearchConfig::default(),
        );
        Self {
            store,
            index,
            recall,
            _stop: stop.drop_guard(),
        }
    }

    async fn settle(&self) {
        for _ in 0..500 {
            let whole = self.index.last_state() == IndexState::Ready;
            if self.store.pending() == 0 && whole {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("the index never knew everything");
    }

    async fn ask(&self, user: &str, query: &str) -> FoundMemories {
        let query = MemoryQuery {
            owner: MemoryOwner {
                app: AppId::new("app"),
                user: UserId::new(user),
            },
            query: query.to_owned(),
            limit: 5,
            filter: MemoryFilter::default(),
            method: Method::Hybrid,
            min_score: 0.0,
            at_least_as_fresh: String::new(),
            max_wait: Duration::ZERO,
        };
        self.recall.memories(&tenant(), &query).await.unwrap()
    }
}

fn ids(found: &FoundMemories) -> Vec<MemoryId> {
    found.memories.iter().map(|one| one.memory.id).collect()
}

fn edge() -> (tempfile::TempDir, Arc<dyn Index>) {
    let directory = tempfile::tempdir().unwrap();
    let config = IndexConfig {
        path: Some(directory.path().to_owned()),
        ..IndexConfig::default()
    };
    let index = EdgeIndex::open(&config, IndexSchema::new("recollect", None)).unwrap();
    (directory, Arc::new(index))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_memory_is_found_by_its_own_user_until_it_is_erased_or_superseded() {
    let (_directory, index) = edge();
    let service = Service::over(index);
    let store = &service.store;
    let thread = store.thread(&tenant(), "app", "ada");
    store.say(&tenant(), thread, Role::User, "I prefer oolong.");
    let tea = store.remember(&tenant(), "ada", "Prefers oolong");
    let more = store.remember(&tenant(), "ada", "Buys oolong in Taipei, every other month");
    let bobs = store.remember(&tenant(), "bob", "Prefers oolong");
    service.settle().await;
    assert!(store.persisted(tea) && store.persisted(bobs));
    let found = service.ask("ada", "Who prefers oolong?").await;
    assert_eq!(ids(&found), [tea, more]);
    assert_eq!(found.degradations, []);
    assert!(found.memories[0].lexical_score.is_some());
    assert_eq!(store.used(), [tea, more]);
    assert_eq!(ids(&service.ask("bob", "oolong").await), [bobs]);
    assert!(ids(&service.ask("", "oolong").await).is_empty());

    // Recall of messages finds none of them.
    let target = Target::User {
        app: AppId::new("app"),
        user: UserId::new("ada"),
    };
    let query = RecallQuery::new(target, Scope::User, "oolong");
    let recalled = service.recall.recall(&tenant(), query).await.unwrap();
    assert_eq!(recalled.messages.len(), 1);

    // What the index does not know yet, the store does.
    store.supersede(tea);
    assert_eq!(ids(&service.ask("ada", "oolong").await), [more]);
    store.forget(&tenant(), more, true);
    assert!(ids(&service.ask("ada", "oolong").await).is_empty());
    assert_eq!(service.index.status(&tenant()).await.points, 4);
    store.forget(&tenant(), bobs, false);
    service.settle().await;
    assert_eq!(service.index.status(&tenant()).await.points, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_an_index_memories_are_found_by_word_and_it_is_said() {
    let server = TestQdrant::start().await.unwrap();
    let config = IndexConfig {
        backend: BackendChoice::Qdrant,
        url: Some(server.url()),
        search_timeout: Duration::from_millis(500),
        ..IndexConfig::default()
    };
    let index = open_index(&config, IndexSchema::new("recollect", None)).unwrap();
    let service = Service::over(index);
    let tea = service.store.remember(&tenant(), "ada", "Prefers oolong");
    service.store.remember(&tenant(), "bob", "Prefers oolong");
    service.settle().await;
    assert_eq!(ids(&service.ask("ada", "oolong").await), [tea]);
    server.set_fault(Fault::Unavailable);
    let found = service.ask("ada", "oolong").await;
    assert_eq!(ids(&found), [tea]);
    let told: Vec<_> = found.degradations.iter().map(|one| one.reason).collect();
    assert_eq!(told, [DegradationReason::IndexUnavailable]);

    let flaw = UnavailableIndex::new(memory_recall::Backend::Edge, "no model");
    let service = Service::over(Arc::new(flaw));
    let tea = service.store.remember(&tenant(), "ada", "Prefers oolong");
    let found = service.ask("ada", "oolong").await;
    assert_eq!(ids(&found), [tea]);
    let told: Vec<_> = found.degradations.iter().map(|one| one.reason).collect();
    assert_eq!(told, [DegradationReason::EmbedderUnavailable]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_index_learns_all_memories() {
    let (_directory, index) = edge();
    let service = Service::over(index);
    let tea = service.store.remember(&tenant(), "ada", "Prefers oolong");
    service.settle().await;
    let (_other, index) = edge();
    let rebuilt = Indexer::new(
        Arc::new(service.store.clone()),
        Arc::clone(&index),
        None,
        IndexerConfig::default(),
    );
    let stop = CancellationToken::new();
    tokio::spawn(rebuilt.run(stop.clone()));
    let known = async || index.status(&tenant()).await.points == 1;
    for _ in 0..500 {
        if known().await {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(known().await && service.store.persisted(tea));
    stop.cancel();
}
