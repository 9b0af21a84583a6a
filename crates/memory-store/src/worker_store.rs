//! The store for workers.

use std::sync::Arc;

use memory_database::{Workers, queue::Turn};

use crate::{Outbox, PoolStatus, StoreConfig, StoreError, SubscriptionQueue};

/// The work that needs to see all tenants. Its views find the work, and do it through a
/// [`Store`](crate::Store) where that sees content. A clone shares the connections.
#[derive(Clone, Debug)]
pub struct WorkerStore {
    pub(crate) workers: Workers,
    outbox: Outbox,
    /// Which tenant's threads are distilled next.
    pub(crate) distill_turn: Arc<Turn>,
}

impl WorkerStore {
    /// Opens the workers' pool: to the conversations' database, where changes
    /// are. It connects once, like [`Store::connect`](crate::Store::connect).
    ///
    /// # Errors
    /// As [`Store::connect`](crate::Store::connect).
    pub async fn connect(config: &StoreConfig) -> Result<Self, StoreError> {
        let workers = Workers::connect(config).await?;
        Ok(Self {
            outbox: Outbox::new(&workers),
            distill_turn: Arc::default(),
            workers,
        })
    }

    /// How many connections there are and how many are free.
    pub fn pool_status(&self) -> PoolStatus {
        self.workers.pool.status()
    }

    /// The queues of events for subscriptions.
    pub fn subscriptions(&self) -> SubscriptionQueue {
        SubscriptionQueue::new(self.workers.clone())
    }

    /// The queue of changes for the index.
    pub fn outbox(&self) -> &Outbox {
        &self.outbox
    }
}
