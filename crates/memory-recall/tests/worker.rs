//! The worker: what the store has is what the index knows, whatever happens on
//! the way.

#![allow(
    clippy::unwrap_used,
    reason = "a test that fails may say so by panicking"
)]

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use common::{FakeStore, PATIENCE, Said, eventually, tenant};
use memory_contract::{AppId, MessageFilter, MessageId, Role, TenantId};
use memory_recall::testing::{Fault, TestQdrant};
use memory_recall::{
    Backend, BackendChoice, Candidates, Change, EdgeIndex, Index, IndexConfig, IndexSchema,
    IndexState, IndexStatus, Indexer, IndexerConfig, IndexerHandle, LexicalVector, Prepared,
    RecallError, Search, Selection, open_index,
};
use memory_store::Scope;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

struct Working {
    handle: IndexerHandle,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

fn work(store: &FakeStore, index: &Arc<dyn Index>) -> Working {
    work_in_lanes(store, index, 2)
}

fn work_in_lanes(store: &FakeStore, index: &Arc<dyn Index>, lanes: usize) -> Working {
    let config = IndexerConfig {
        batch_size: 8,
        lanes,
        poll_interval: Duration::from_millis(20),
        max_attempts: 3,
        retry_base: Duration::from_millis(10),
        retry_max: Duration::from_millis(50),
        ..IndexerConfig::default()
    };
    let indexer = Indexer::new(Arc::new(store.clone()), Arc::clone(index), None, config);
    let handle = indexer.handle();
    let stop = CancellationToken::new();
    let task = tokio::spawn(indexer.run(stop.clone()));
    Working { handle, stop, task }
}

impl Working {
    async fn end(self) {
        self.stop.cancel();
        tokio::time::timeout(PATIENCE, self.task)
            .await
            .unwrap()
            .unwrap();
    }
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

fn client(server: &TestQdrant) -> Arc<dyn Index> {
    let config = IndexConfig {
        backend: BackendChoice::Qdrant,
        url: Some(server.url()),
        ..IndexConfig::default()
    };
    open_index(&config, IndexSchema::new("recollect", None)).unwrap()
}

async fn indexed(index: &dyn Index) -> u64 {
    index.status(&tenant()).await.points
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_said_is_indexed_and_everything_erased_is_forgotten() {
    let store = FakeStore::default();
    let (_directory, index) = edge();
    let thread = store.thread(&tenant(), "support", "ada");
    let other = store.thread(&tenant(), "support", "bo");
    let said: Vec<MessageId> = (0..30)
        .map(|n| store.say(&tenant(), thread, Role::User, &format!("message {n}")))
        .collect();
    store.say(&tenant(), other, Role::User, "a message of another thread");
    let working = work(&store, &index);
    eventually("the messages are indexed", async || store.pending() == 0).await;
    assert_eq!(indexed(&*index).await, 31);
    assert_eq!(working.handle.status().acknowledged, 31);
    assert_eq!(working.handle.status().last_error, None);
    eventually("the index is whole", async || {
        index.last_state() == IndexState::Ready
    })
    .await;

    store.erase(&tenant(), said[3]);
    working.handle.wake();
    eventually("it is forgotten", async || indexed(&*index).await == 30).await;
    store.clear(&tenant(), thread);
    store.say(&tenant(), thread, Role::User, "a fresh start");
    working.handle.wake();
    eventually("they are forgotten", async || store.pending() == 0).await;
    assert_eq!(indexed(&*index).await, 2);
    working.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_erased_while_it_is_embedded_does_not_come_back() {
    let store = FakeStore::default();
    let (_directory, index) = edge();
    let thread = store.thread(&tenant(), "support", "ada");
    store.say(&tenant(), thread, Role::User, "it stays");
    let erased = store.say(&tenant(), thread, Role::User, "it goes");
    store.erase_on_load(erased);
    let working = work(&store, &index);
    eventually("all is done", async || store.pending() == 0).await;
    assert_eq!(indexed(&*index).await, 1);
    working.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outage_costs_no_message_a_try() {
    let store = FakeStore::default();
    let server = TestQdrant::start().await.unwrap();
    server.set_fault(Fault::Unavailable);
    let index = client(&server);
    let thread = store.thread(&tenant(), "support", "ada");
    store.say(&tenant(), thread, Role::User, "before the outage ends");
    let working = work(&store, &index);
    eventually("the error is seen", async || {
        working.handle.status().last_error.is_some()
    })
    .await;
    server.set_fault(Fault::None);
    eventually("it is indexed", async || store.pending() == 0).await;
    server.set_fault(Fault::Unavailable);
    store.say(&tenant(), thread, Role::User, "in the middle of another");
    working.handle.wake();
    // Long enough for more tries than a message has.
    tokio::time::sleep(Duration::from_millis(400)).await;
    assert_eq!((store.pending(), store.dead().len()), (1, 0));
    server.set_fault(Fault::None);
    eventually("it is indexed too", async || store.pending() == 0).await;
    assert_eq!(indexed(&*index).await, 2);

    store.set_down(true);
    tokio::time::sleep(Duration::from_millis(100)).await;
    store.set_down(false);
    store.say(&tenant(), thread, Role::User, "after the store came back");
    eventually("the store is asked again", async || store.pending() == 0).await;
    assert_eq!(store.dead(), []);
    working.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_is_refused_is_given_up_alone_with_its_reason() {
    let store = FakeStore::default();
    let server = TestQdrant::start().await.unwrap();
    server.set_fault(Fault::RefuseSpeaker("Mallory".to_owned()));
    let index = client(&server);
    let thread = store.thread(&tenant(), "support", "ada");
    for n in 0..6 {
        let name = if n == 2 { "Mallory" } else { "Ada" };
        store.append(
            &tenant(),
            thread,
            Said {
                name,
                ..Said::new(Role::User, "hello there")
            },
        );
    }
    let working = work(&store, &index);
    eventually("one is given up", async || store.dead().len() == 1).await;
    eventually("the others are indexed", async || store.pending() == 0).await;
    assert_eq!(indexed(&*index).await, 5);
    let (job, reason) = store.dead().remove(0);
    assert_eq!((job.seq, job.attempts), (3, 3));
    assert!(
        reason.contains("refused") && reason.contains("told to refuse this speaker"),
        "{reason}"
    );
    assert!(!reason.contains("hello there"), "{reason}");
    working.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_index_is_rebuilt_from_the_store() {
    let store = FakeStore::default();
    let server = TestQdrant::start().await.unwrap();
    let index = client(&server);
    let thread = store.thread(&tenant(), "support", "ada");
    for n in 0..20 {
        store.say(&tenant(), thread, Role::User, &format!("message {n}"));
    }
    let working = work(&store, &index);
    eventually("all is indexed", async || store.pending() == 0).await;
    eventually("the index is whole", async || {
        index.last_state() == IndexState::Ready
    })
    .await;
    server.lose_everything();
    store.say(&tenant(), thread, Role::User, "one more");
    working.handle.wake();
    eventually("all is there again", async || indexed(&*index).await == 21).await;
    eventually("the index is whole again", async || {
        index.last_state() == IndexState::Ready
    })
    .await;
    assert_eq!((store.pending(), store.dead().len()), (0, 0));
    working.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_is_lost_while_nobody_writes_is_rebuilt() {
    let store = FakeStore::default();
    let server = TestQdrant::start().await.unwrap();
    let index = client(&server);
    let thread = store.thread(&tenant(), "support", "ada");
    store.say(&tenant(), thread, Role::User, "all that was said");
    let working = work(&store, &index);
    eventually("it is indexed", async || store.pending() == 0).await;
    server.lose_everything();
    eventually("it is there again", async || indexed(&*index).await == 1).await;
    working.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_kills_its_worker_is_given_up() {
    let store = FakeStore::default();
    let (_directory, index) = edge();
    let thread = store.thread(&tenant(), "support", "ada");
    store.say(&tenant(), thread, Role::User, "it kills");
    store.claim_and_die(3);
    store.say(&tenant(), thread, Role::User, "it is harmless");
    let working = work(&store, &index);
    eventually("nothing is left", async || store.pending() == 0).await;
    let (job, reason) = store.dead().remove(0);
    assert_eq!((store.dead().len(), job.seq), (1, 1));
    assert_eq!(
        reason,
        "given up: its worker ended 3 times before it was done"
    );
    assert_eq!(indexed(&*index).await, 1);
    working.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_begins_late_learns_what_was_acknowledged_elsewhere() {
    let store = FakeStore::default();
    let thread = store.thread(&tenant(), "support", "ada");
    for n in 0..10 {
        store.say(&tenant(), thread, Role::User, &format!("message {n}"));
    }
    for _ in 0..2 {
        let (_directory, index) = edge();
        let working = work(&store, &index);
        eventually("all is indexed", async || indexed(&*index).await == 10).await;
        working.end().await;
        index.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_workers_share_the_work() {
    let store = FakeStore::default();
    let server = TestQdrant::start().await.unwrap();
    let index = client(&server);
    let thread = store.thread(&tenant(), "support", "ada");
    for n in 0..100 {
        store.say(&tenant(), thread, Role::User, &format!("message {n}"));
    }
    let workers = [work(&store, &index), work(&store, &client(&server))];
    eventually("all is indexed", async || store.pending() == 0).await;
    assert_eq!(indexed(&*index).await, 100);
    for worker in workers {
        worker.end().await;
    }
}

/// An index that takes its time, and counts how often it was written to.
struct Counting {
    inner: Arc<dyn Index>,
    applied: AtomicUsize,
}

#[async_trait]
impl Index for Counting {
    fn backend(&self) -> Backend {
        self.inner.backend()
    }
    fn schema(&self) -> &IndexSchema {
        self.inner.schema()
    }
    async fn prepare(&self) -> Result<Prepared, RecallError> {
        self.inner.prepare().await
    }
    async fn apply(&self, changes: Vec<Change>) -> Result<(), RecallError> {
        self.applied.fetch_add(1, Ordering::Relaxed);
        // Long enough to be told to stop meanwhile.
        tokio::time::sleep(Duration::from_millis(200)).await;
        self.inner.apply(changes).await
    }
    async fn search(&self, search: Search) -> Result<Candidates, RecallError> {
        self.inner.search(search).await
    }
    async fn names(&self, selection: &Selection, limit: usize) -> Result<Vec<String>, RecallError> {
        self.inner.names(selection, limit).await
    }
    async fn mark_rebuilding(&self, rebuilding: bool) -> Result<(), RecallError> {
        self.inner.mark_rebuilding(rebuilding).await
    }
    async fn status(&self, tenant: &TenantId) -> IndexStatus {
        self.inner.status(tenant).await
    }
    fn last_state(&self) -> IndexState {
        self.inner.last_state()
    }
    async fn stop(&self) {
        self.inner.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_is_told_to_stop_finishes_its_batch() {
    let store = FakeStore::default();
    let (_directory, inner) = edge();
    let counting = Arc::new(Counting {
        inner,
        applied: AtomicUsize::new(0),
    });
    let index: Arc<dyn Index> = Arc::clone(&counting) as Arc<dyn Index>;
    let thread = store.thread(&tenant(), "support", "ada");
    for n in 0..24 {
        store.say(&tenant(), thread, Role::User, &format!("message {n}"));
    }
    let working = work_in_lanes(&store, &index, 1);
    eventually("it is at work", async || {
        counting.applied.load(Ordering::Relaxed) == 1
    })
    .await;
    working.end().await;
    assert_eq!(counting.applied.load(Ordering::Relaxed), 1);
    assert_eq!(indexed(&*index).await, 8);
    assert_eq!(store.pending(), 16);
}

#[tokio::test(flavor = "multi_thread")]
async fn words_of_the_messages_before_lead_to_a_message() {
    let store = FakeStore::default();
    let (_directory, index) = edge();
    let thread = store.thread(&tenant(), "support", "ada");
    store.say(&tenant(), thread, Role::User, "What is your dog called?");
    let answer = store.say(
        &tenant(),
        thread,
        Role::Assistant,
        "Rufus, since he was a puppy.",
    );
    let working = work(&store, &index);
    eventually("both are indexed", async || store.pending() == 0).await;
    // FNV-1a of `dog`.
    let dog = "dog".bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    let scope = Scope::App(AppId::new("support"));
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
