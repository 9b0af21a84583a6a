//! What the memories of nodes need in the background.

use std::time::Duration;

use memory_store::{Outbox, Store, StoreError};
use metrics::gauge;
use tonic::async_trait;

use super::{Job, MEASURE_INTERVAL, PIECE};
use crate::config::WorkerConfig;

/// Nodes flushed, and objects erased, in one piece of work.
const OBJECTS: u32 = 64;

/// All jobs for nodes.
pub(super) fn all(config: &WorkerConfig, store: &Store, outbox: &Outbox) -> Vec<Box<dyn Job>> {
    let work = || Work {
        store: store.clone(),
        outbox: outbox.clone(),
    };
    vec![
        Box::new(FlushForgotten {
            work: work(),
            interval: config.nodes.interval,
            age: config.nodes.flush_after,
        }),
        Box::new(ExpireNodes {
            work: work(),
            interval: config.expiry_interval,
        }),
        Box::new(EraseObjects {
            work: work(),
            interval: config.nodes.interval,
        }),
        Box::new(MeasureNodes { work: work() }),
    ]
}

struct Work {
    store: Store,
    outbox: Outbox,
}

/// Flushes what nobody has flushed.
struct FlushForgotten {
    work: Work,
    interval: Duration,
    age: Duration,
}

#[async_trait]
impl Job for FlushForgotten {
    fn name(&self) -> &'static str {
        "flush_nodes"
    }

    fn interval(&self) -> Duration {
        self.interval
    }

    async fn run(&self) -> Result<bool, StoreError> {
        let Work { store, outbox } = &self.work;
        if store.objects().is_none() {
            return Ok(false);
        }
        let count = outbox.flush_forgotten(store, self.age, OBJECTS).await?;
        Ok(count >= u64::from(OBJECTS))
    }
}

/// Erases memories whose time has come.
struct ExpireNodes {
    work: Work,
    interval: Duration,
}

#[async_trait]
impl Job for ExpireNodes {
    fn name(&self) -> &'static str {
        "expire_nodes"
    }

    fn interval(&self) -> Duration {
        self.interval
    }

    async fn run(&self) -> Result<bool, StoreError> {
        let Work { store, outbox } = &self.work;
        let count = outbox.sweep_nodes(store, PIECE).await?;
        Ok(count >= u64::from(PIECE))
    }
}

/// Erases objects that nothing refers to any more.
struct EraseObjects {
    work: Work,
    interval: Duration,
}

#[async_trait]
impl Job for EraseObjects {
    fn name(&self) -> &'static str {
        "erase_objects"
    }

    fn interval(&self) -> Duration {
        self.interval
    }

    async fn run(&self) -> Result<bool, StoreError> {
        let Work { store, outbox } = &self.work;
        let count = outbox.erase_objects(store, OBJECTS).await?;
        Ok(count >= u64::from(OBJECTS))
    }
}

/// Tells how far objects are behind.
struct MeasureNodes {
    work: Work,
}

#[async_trait]
impl Job for MeasureNodes {
    fn name(&self) -> &'static str {
        "measure_nodes"
    }

    fn interval(&self) -> Duration {
        MEASURE_INTERVAL
    }

    async fn run(&self) -> Result<bool, StoreError> {
        let stats = self.work.outbox.node_stats().await?;
        gauge!("recollect_node_turns_waiting").set(stats.waiting as f64);
        gauge!("recollect_node_flush_lag_seconds").set(stats.lag.as_secs_f64());
        gauge!("recollect_nodes_failing").set(stats.failing as f64);
        gauge!("recollect_object_deletions_pending").set(stats.deletions as f64);
        Ok(false)
    }
}
