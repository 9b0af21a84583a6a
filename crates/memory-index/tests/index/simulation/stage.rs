//! A database whose clock the simulation moves, and its connections.

use std::time::Duration;

use memory_contract::{MemoryId, MessageId, ThreadId};
use memory_index::{MemoryPoint, Point, Subject};
use memory_store::{Outbox, Store, StoreConfig, WorkerStore};
use tokio_postgres::{Client, NoTls};
use uuid::Uuid;

use super::server::{Entry, Points};
use crate::world::{caller, tenant};

/// Serves one simulation after the other.
pub struct Stage {
    pub store: Store,
    workers: WorkerStore,
    owner: Client,
}

/// A collection that receives changes.
pub struct Receiving {
    pub number: i32,
    pub name: String,
    pub emptied: bool,
}

/// A change that waits or was given up.
pub struct Waiting {
    pub target: i32,
    pub id: Option<Uuid>,
    pub thread: ThreadId,
    pub seq: i64,
}

impl Stage {
    pub async fn new() -> Self {
        let url = memory_testing::simulated_database();
        // With one connection of each kind, queries run in the order in which they were made.
        let config = StoreConfig {
            url: url.clone().into(),
            pool_size: 1,
            worker_pool_size: 1,
            max_overflow: 0,
            ..StoreConfig::default()
        };
        let (owner, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
        tokio::spawn(connection);
        Self {
            store: Store::connect(&config).await.unwrap(),
            workers: WorkerStore::connect(&config).await.unwrap(),
            owner,
        }
    }

    pub fn outbox(&self) -> Outbox {
        self.workers.outbox().clone()
    }

    /// Whether a query is under way.
    pub fn is_querying(&self) -> bool {
        let pools = [
            self.store.pool_status(),
            self.store.main_pool_status(),
            self.workers.pool_status(),
        ];
        let is_busy = |pool: &memory_store::PoolStatus| pool.open > pool.idle || pool.waiting > 0;
        pools.iter().any(is_busy)
    }

    pub async fn advance(&self, by: Duration) {
        let advance =
            "UPDATE simulated.clock SET since_epoch = since_epoch + make_interval(secs => $1)";
        let by = by.as_secs_f64();
        self.owner.execute(advance, &[&by]).await.unwrap();
    }

    pub async fn clear(&self) {
        let clear = "SELECT simulated.clear()";
        self.owner.execute(clear, &[]).await.unwrap();
    }

    pub async fn receiving(&self) -> Vec<Receiving> {
        let receiving = "SELECT number, collection, emptied FROM recollect.index_collections
            WHERE state IN ('serving', 'beside')";
        let rows = self.owner.query(receiving, &[]).await.unwrap();
        rows.iter()
            .map(|row| Receiving {
                number: row.get(0),
                name: row.get(1),
                emptied: row.get(2),
            })
            .collect()
    }

    pub async fn changes(&self) -> Vec<Waiting> {
        let changes = "SELECT target, message_id, thread_id, seq FROM recollect.outbox";
        let rows = self.owner.query(changes, &[]).await.unwrap();
        rows.iter()
            .map(|row| Waiting {
                target: row.get(0),
                id: row.get(1),
                thread: row.get::<_, Uuid>(2).into(),
                seq: row.get(3),
            })
            .collect()
    }

    /// The points that an index without a model has to have.
    pub async fn truth(&self) -> Points {
        let ids =
            "SELECT ARRAY(SELECT message_id FROM recollect.messages WHERE deleted_at IS NULL),
            ARRAY(SELECT memory_id FROM recollect.memories)";
        let row = self.owner.query_one(ids, &[]).await.unwrap();
        let messages: Vec<MessageId> = row
            .get::<_, Vec<Uuid>>(0)
            .into_iter()
            .map(Into::into)
            .collect();
        let memories: Vec<MemoryId> = row
            .get::<_, Vec<Uuid>>(1)
            .into_iter()
            .map(Into::into)
            .collect();
        let (tenant, caller) = (tenant(), caller());
        let mut truth = Points::new();
        if !messages.is_empty() {
            let found = self.store.messages(&caller);
            let found = found
                .index_records(&messages, i32::MAX, None)
                .await
                .unwrap();
            truth.extend(found.into_iter().map(|record| {
                let point = Point::new(&tenant, record);
                (Subject::Message(point.message), Entry::of_message(&point))
            }));
        }
        if !memories.is_empty() {
            let found = self.store.memories(&caller).memory_records(&memories).await;
            truth.extend(found.unwrap().into_iter().map(|record| {
                let point = MemoryPoint::new(&tenant, record);
                (Subject::Memory(point.memory.id), Entry::of_memory(&point))
            }));
        }
        truth
    }

    /// The queue and the collections, as text for a failure.
    pub async fn waiting(&self) -> String {
        let all = "SELECT COALESCE((SELECT string_agg(o::text, E'\\n') FROM recollect.outbox o), '') || E'\\n'
            || COALESCE((SELECT string_agg(c::text, E'\\n') FROM recollect.index_collections c), '')";
        self.owner.query_one(all, &[]).await.unwrap().get(0)
    }
}
