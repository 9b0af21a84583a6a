//! A bounded queue of memories that were returned, and the task that records them.

use std::collections::{HashMap, HashSet};

use memory_contract::{MemoryId, TenantId};
use memory_postgres::{Caller, Params, Pool, query};
use memory_runtime::task;
use tokio::sync::mpsc;
use uuid::Uuid;

/// Queued answers, at most.
const QUEUE_CAPACITY: usize = 1_024;
/// Answers written together.
const BATCH: usize = 64;

/// Records which memories were returned. Clones share the queue; the task ends with the
/// last clone.
#[derive(Clone, Debug)]
pub struct Uses(mpsc::Sender<(TenantId, Vec<MemoryId>)>);

impl Uses {
    /// Records uses in the background, while the runtime lives.
    pub fn new(pool: Pool) -> Self {
        let (send, receive) = mpsc::channel(QUEUE_CAPACITY);
        // Ends with the store.
        task::spawn("memory_uses", record(pool, receive));
        Self(send)
    }

    /// Queues memories to be recorded. Full, the queue drops them.
    pub(super) fn push(&self, tenant: TenantId, ids: Vec<MemoryId>) {
        if self.0.try_send((tenant, ids)).is_err() {
            metrics::counter!("recollect_memory_uses_dropped_total").increment(1);
        }
    }
}

async fn record(pool: Pool, mut queue: mpsc::Receiver<(TenantId, Vec<MemoryId>)>) {
    let mut batch = Vec::new();
    while queue.recv_many(&mut batch, BATCH).await > 0 {
        let mut used: HashMap<TenantId, HashSet<MemoryId>> = HashMap::new();
        for (tenant, ids) in batch.drain(..) {
            used.entry(tenant).or_default().extend(ids);
        }
        for (tenant, ids) in used {
            let ids: Vec<Uuid> = ids.into_iter().map(MemoryId::uuid).collect();
            let recorded = {
                let caller = Caller::worker(tenant);
                let params: Params<'_> = &[&caller.tenant.as_str(), &ids];
                pool.within(&caller, query!("memories/used"), params).await
            };
            if let Err(error) = recorded {
                tracing::debug!(%error, "the use of memories was not recorded");
            }
        }
    }
}

pub(crate) fn describe_metrics() {
    metrics::describe_counter!(
        "recollect_memory_uses_dropped_total",
        "Uses of memories that were not recorded because the queue was full."
    );
}
