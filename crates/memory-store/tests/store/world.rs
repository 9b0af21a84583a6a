//! The fixture of most tests: a store in a new database.

use std::time::Duration;

use memory_contract::{
    AppId, MessageId, SessionKey, TenantId, ThreadId, UserId,
    json::JsonObject,
    message::{NewMessage, Parent, Part, Role},
    policy::MemoryPolicy,
    thread::{Session, Thread},
};
use memory_store::{
    Append, Appended, Caller, CountedMessage, NewThread, Outbox, Store, StoreConfig, StoreError,
    WorkerStore,
};
use tokio::time::sleep;
use tokio_postgres::{Client, NoTls};

use crate::cluster;

pub struct World {
    pub url: String,
    pub store: Store,
    pub workers: WorkerStore,
    pub outbox: Outbox,
    pub caller: Caller,
}

pub fn config(url: &str) -> StoreConfig {
    StoreConfig {
        url: url.to_owned().into(),
        pool_size: 8,
        max_overflow: 8,
        ..StoreConfig::default()
    }
}

impl World {
    pub async fn new() -> Self {
        Self::at(cluster::database()).await
    }

    /// In a database whose clock the test moves.
    pub async fn simulated() -> Self {
        Self::at(cluster::simulated_database()).await
    }

    async fn at(url: String) -> Self {
        let config = config(&url);
        let workers = WorkerStore::connect(&config).await.unwrap();
        Self {
            store: Store::connect(&config).await.unwrap(),
            outbox: workers.outbox().clone(),
            workers,
            caller: caller("a"),
            url,
        }
    }

    /// A caller of the same tenant with an API key of this name.
    pub fn caller_named(&self, actor: &str) -> Caller {
        Caller {
            actor: actor.to_owned(),
            ..self.caller.clone()
        }
    }

    /// A connection of the owner, separate from the store's.
    pub async fn owner(&self) -> Client {
        connect(&self.url).await
    }

    /// A connection as a role of the service.
    pub async fn role(&self, role: &str) -> Client {
        connect(&format!("{} options='-c role={role}'", self.url)).await
    }

    /// Waits until so many connections to this database wait for locks.
    pub async fn wait_for_blocked(&self, connections: i64) {
        let owner = self.owner().await;
        let blocked = "SELECT count(DISTINCT l.pid) FROM pg_locks l
            JOIN pg_stat_activity a ON a.pid = l.pid AND a.datname = current_database()
            WHERE NOT l.granted";
        for _ in 0..3_000 {
            let row = owner.query_one(blocked, &[]).await.unwrap();
            if row.get::<_, i64>(0) >= connections {
                return;
            }
            sleep(Duration::from_millis(10)).await;
        }
        panic!("{connections} connections do not wait for locks");
    }

    pub async fn thread(&self) -> Thread {
        self.thread_of("app", "ada", &format!("session:{}", ThreadId::new()))
            .await
    }

    pub async fn thread_of(&self, app: &str, user: &str, key: &str) -> Thread {
        self.store
            .threads(&self.caller)
            .create_thread(&new_thread(app, user, key))
            .await
            .unwrap()
    }

    pub async fn append(
        &self,
        thread: ThreadId,
        messages: Vec<CountedMessage>,
    ) -> Result<Appended, StoreError> {
        let append = Append {
            thread,
            messages,
            request_id: None,
            expected_head: None,
        };
        self.store.messages(&self.caller).append(&append).await
    }

    /// Appends one text and returns its id.
    pub async fn say(&self, thread: ThreadId, role: Role, text: &str) -> MessageId {
        self.append(thread, vec![said(role, text)])
            .await
            .unwrap()
            .messages[0]
            .id
    }

    /// Lets the user say a word and a number, so many times, one after the other.
    pub async fn say_each(&self, thread: ThreadId, count: usize, word: &str) -> Vec<MessageId> {
        let mut said = Vec::with_capacity(count);
        for number in 0..count {
            let text = format!("{word} {number}.");
            said.push(self.say(thread, Role::User, &text).await);
        }
        said
    }
}

/// Lets calls wait in functions that a test has replaced, which take the advisory lock 4711.
pub struct Pause(Client);

/// `check_memory_count`, which waits for the pause to end. It is called last for new memories.
const CHECK_MEMORY_COUNT: &str = "
    CREATE OR REPLACE FUNCTION recollect.check_memory_count(
        p_tenant text, p_app text, p_user text, p_item jsonb
    )
    RETURNS void
    LANGUAGE plpgsql AS $$
    BEGIN
        PERFORM pg_advisory_xact_lock_shared(4711);
    END;
    $$;";

impl Pause {
    /// Lets calls that store new memories wait before they commit; the pause begins later.
    pub async fn of_new_memories(world: &World) -> Self {
        Self::new(world, CHECK_MEMORY_COUNT).await
    }

    /// Replaces functions; the pause begins later.
    pub async fn new(world: &World, functions: &str) -> Self {
        let owner = world.owner().await;
        owner.batch_execute(functions).await.unwrap();
        Self(owner)
    }

    pub async fn begin(&self) {
        let lock = "SELECT pg_advisory_lock(4711)";
        self.0.batch_execute(lock).await.unwrap();
    }

    pub async fn end(&self) {
        let unlock = "SELECT pg_advisory_unlock(4711)";
        self.0.batch_execute(unlock).await.unwrap();
    }
}

pub async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

pub fn caller(name: &str) -> Caller {
    Caller::worker(TenantId::new(name))
}

pub fn session(app: &str, user: &str, key: &str) -> Session {
    Session {
        app: AppId::new(app),
        user: UserId::new(user),
        key: SessionKey::new(key),
    }
}

pub fn new_thread(app: &str, user: &str, key: &str) -> NewThread {
    NewThread {
        session: session(app, user, key),
        title: String::new(),
        metadata: JsonObject::default(),
        ttl: None,
        policy: MemoryPolicy::default(),
        ephemeral: false,
    }
}

pub fn said(role: Role, text: &str) -> CountedMessage {
    after(Parent::Previous, role, text)
}

pub fn after(parent: Parent, role: Role, text: &str) -> CountedMessage {
    CountedMessage {
        message: NewMessage {
            parent,
            ..NewMessage::new(role, vec![Part::text(text)])
        },
        tokens: 10,
    }
}

/// Rows of a table that a call reads, with or without an index.
pub async fn rows_read_by(client: &Client, table: &str, call: &str) -> i64 {
    client.batch_execute("BEGIN").await.unwrap();
    let before = rows_read(client, table).await;
    client.batch_execute(call).await.unwrap();
    let after = rows_read(client, table).await;
    client.batch_execute("COMMIT").await.unwrap();
    after - before
}

/// Rows of a table that this transaction has read.
async fn rows_read(client: &Client, table: &str) -> i64 {
    let read = format!(
        "SELECT pg_stat_get_xact_tuples_returned(d) + pg_stat_get_xact_tuples_fetched(d) \
             + (SELECT sum(pg_stat_get_xact_tuples_fetched(i.indexrelid)) FROM pg_index i WHERE i.indrelid = d)::bigint \
         FROM CAST('recollect.{table}'::regclass AS oid) AS d"
    );
    client.query_one(&read, &[]).await.unwrap().get(0)
}
