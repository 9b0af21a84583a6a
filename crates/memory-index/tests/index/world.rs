//! A store in a new database, an index, and an indexer.

use std::sync::Arc;
use std::time::{Duration, Instant};

use memory_contract::{
    AppId, MemoryId, MessageId, SessionKey, TenantId, ThreadId, UserId,
    json::JsonObject,
    memory::{MemoryOrigin, MemoryOwner, NewMemory},
    message::{NewMessage, Part, Role},
    policy::MemoryPolicy,
    thread::Session,
};
use memory_embed::Embedder;
use memory_index::{
    BackendChoice, EdgeIndex, Index, IndexConfig, IndexSchema, Indexer, IndexerConfig,
    IndexerHandle, open_index,
};
use memory_store::{
    Append, Caller, CountedMessage, DeadLetter, NewThread, Outbox, Revision, Store, StoreConfig,
    WorkerStore,
};
use memory_test_qdrant::TestQdrant;
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Limit for waits that have no promised duration; long, because the machine may be
/// busy.
pub const TIMEOUT: Duration = Duration::from_secs(60);
/// The app of all threads and memories.
pub const APP: &str = "support";

/// Polls until a condition holds.
///
/// # Panics
/// If it does not hold within [`TIMEOUT`].
pub async fn eventually(what: &str, met: impl AsyncFn() -> bool) {
    let start = Instant::now();
    while !met().await {
        assert!(start.elapsed() < TIMEOUT, "timed out: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// The caller that stores and recalls in the tests.
pub fn caller() -> Caller {
    Caller::worker(tenant())
}

/// The tenant of everything that a test stores.
pub fn tenant() -> TenantId {
    TenantId::new("acme")
}

pub fn owner(user: &str) -> MemoryOwner {
    MemoryOwner {
        app: AppId::new(APP),
        user: UserId::new(user),
    }
}

/// A message that follows the newest one.
pub fn message(role: Role, text: &str) -> NewMessage {
    NewMessage::new(role, vec![Part::text(text)])
}

/// A thread of a session of its own.
pub fn new_thread(user: &str) -> NewThread {
    NewThread {
        session: Session {
            app: AppId::new(APP),
            user: UserId::new(user),
            key: SessionKey::new(ThreadId::new().to_string()),
        },
        title: String::new(),
        metadata: JsonObject::default(),
        ttl: None,
        policy: MemoryPolicy::default(),
        ephemeral: false,
    }
}

/// A store in a new database. Clones share it.
#[derive(Clone)]
pub struct World {
    url: String,
    pub store: Store,
    pub outbox: Outbox,
}

impl World {
    pub async fn new() -> Self {
        let url = memory_testing::database();
        let config = StoreConfig {
            url: url.clone().into(),
            pool_size: 8,
            ..StoreConfig::default()
        };
        Self {
            url,
            store: Store::connect(&config).await.unwrap(),
            outbox: WorkerStore::connect(&config)
                .await
                .unwrap()
                .outbox()
                .clone(),
        }
    }

    pub async fn thread(&self, user: &str) -> ThreadId {
        let thread = new_thread(user);
        let thread = self.store.threads(&caller()).create_thread(&thread).await;
        thread.unwrap().id
    }

    pub async fn append(&self, thread: ThreadId, message: NewMessage) -> (MessageId, Revision) {
        let append = Append {
            thread,
            messages: vec![CountedMessage { message, tokens: 7 }],
            request_id: None,
            expected_head: None,
        };
        let appended = self
            .store
            .messages(&caller())
            .append(&append)
            .await
            .unwrap();
        (appended.messages[0].id, appended.revision)
    }

    pub async fn say(&self, thread: ThreadId, role: Role, text: &str) -> MessageId {
        self.append(thread, message(role, text)).await.0
    }

    /// Appends `message 0`, `message 1` and so on.
    pub async fn say_each(&self, thread: ThreadId, count: usize) -> Vec<MessageId> {
        let mut said = Vec::with_capacity(count);
        for number in 0..count {
            let text = format!("message {number}");
            said.push(self.say(thread, Role::User, &text).await);
        }
        said
    }

    pub async fn erase(&self, thread: ThreadId, message: MessageId) {
        let erased = self
            .store
            .messages(&caller())
            .delete_message(thread, message)
            .await;
        erased.unwrap();
    }

    pub async fn remember(&self, user: &str, text: &str) -> MemoryId {
        let memory = NewMemory {
            text: text.to_owned(),
            ..NewMemory::default()
        };
        let (owner, origin) = (owner(user), MemoryOrigin::Caller);
        let added = self
            .store
            .memories(&caller())
            .add_memories(&owner, &[memory], origin, None)
            .await;
        added.unwrap().memories[0].memory.id
    }

    /// Changes that wait for the index, those being indexed included.
    pub async fn pending(&self) -> i64 {
        self.outbox.stats().await.unwrap().pending
    }

    pub async fn dead_letters(&self) -> Vec<DeadLetter> {
        let page = self.store.index(&caller()).list_dead(None, 100).await;
        page.unwrap().items
    }

    /// Starts or ends an outage of the database.
    pub fn set_available(&self, available: bool) {
        memory_testing::set_available(&self.url, available);
    }

    /// Executes a statement as the superuser, past the store.
    pub fn execute(&self, statement: &str) {
        memory_testing::execute(&self.url, statement);
    }
}

/// An embedded index without a model.
pub fn edge() -> (TempDir, Arc<dyn Index>) {
    let directory = tempfile::tempdir().unwrap();
    let config = IndexConfig {
        path: Some(directory.path().to_owned()),
        ..IndexConfig::default()
    };
    let index = EdgeIndex::open(&config, IndexSchema::new("recollect", None)).unwrap();
    (directory, Arc::new(index))
}

/// A client of a Qdrant server, without a model.
pub fn client(server: &TestQdrant) -> Arc<dyn Index> {
    let config = IndexConfig {
        backend: BackendChoice::Qdrant,
        url: Some(server.url()),
        search_timeout: Duration::from_secs(3),
        write_timeout: Duration::from_secs(5),
        ..IndexConfig::default()
    };
    open_index(&config, IndexSchema::new("recollect", None)).unwrap()
}

pub async fn points(index: &dyn Index) -> u64 {
    index.status(&tenant()).await.points
}

/// An indexer that polls often and gives a change up after three quick attempts.
pub fn quick() -> IndexerConfig {
    IndexerConfig {
        batch_size: 8,
        linger: Duration::from_millis(5),
        poll_interval: Duration::from_millis(20),
        max_attempts: 3,
        retry_base: Duration::from_millis(10),
        retry_max: Duration::from_millis(50),
        ..IndexerConfig::default()
    }
}

/// Starts an indexer.
pub fn work(world: &World, index: &Arc<dyn Index>) -> Worker {
    Worker::start(world, index, None, quick())
}

/// Starts an indexer that indexes one batch at a time.
pub fn work_in_one_lane(world: &World, index: &Arc<dyn Index>) -> Worker {
    let config = IndexerConfig {
        lanes: 1,
        ..quick()
    };
    Worker::start(world, index, None, config)
}

/// A running indexer.
pub struct Worker {
    pub handle: IndexerHandle,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Worker {
    pub fn start(
        world: &World,
        index: &Arc<dyn Index>,
        embedder: Option<Embedder>,
        config: IndexerConfig,
    ) -> Self {
        let (store, outbox) = (world.store.clone(), world.outbox.clone());
        let indexer = Indexer::new(store, outbox, Arc::clone(index), embedder, config);
        Self::run(indexer)
    }

    /// Runs an indexer.
    pub fn run(indexer: Indexer) -> Self {
        let handle = indexer.handle();
        let stop = CancellationToken::new();
        let ends = stop.clone();
        let task = tokio::spawn(async move { indexer.run(ends).await });
        Self { handle, stop, task }
    }

    /// Stops the indexer after its batches.
    pub async fn end(&mut self) {
        self.stop.cancel();
        let ended = tokio::time::timeout(TIMEOUT, &mut self.task).await;
        ended.unwrap().unwrap();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
