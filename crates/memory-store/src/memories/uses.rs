//! Records the day on which memories were last returned. A bounded queue keeps it off
//! the path of reads; answers that do not fit are dropped.

use std::collections::{HashMap, HashSet};

use memory_contract::{Memory, MemoryId, TenantId};
use tokio::sync::mpsc;

use super::{rows::today, uuids};
use memory_postgres::{Params, Pool, query, task};

use crate::{Caller, MemoryStore};

/// Queued answers, at most.
const QUEUE_CAPACITY: usize = 1_024;
/// Answers written together.
const BATCH: usize = 64;

/// Records which memories were returned. Clones share the queue; the task ends with the
/// last clone.
#[derive(Clone, Debug)]
pub(crate) struct Uses(mpsc::Sender<(TenantId, Vec<MemoryId>)>);

impl Uses {
    pub(crate) fn new(pool: Pool) -> Self {
        let (send, receive) = mpsc::channel(QUEUE_CAPACITY);
        // Ends with the store.
        task::spawn("memory_uses", record(pool, receive));
        Self(send)
    }
}

impl MemoryStore<'_> {
    /// Records that memories were returned, once a day for each. It does not wait; when
    /// the queue is full, nothing is recorded.
    pub fn memories_used<'a>(self, memories: impl IntoIterator<Item = &'a Memory>) {
        let tenant = &self.caller.tenant;
        let today = today();
        let ids: Vec<MemoryId> = memories
            .into_iter()
            .filter(|memory| memory.last_used.is_none_or(|last| last < today))
            .map(|memory| memory.id)
            .collect();
        if !ids.is_empty() && self.store.uses.0.try_send((tenant.clone(), ids)).is_err() {
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
            let ids: Vec<MemoryId> = ids.into_iter().collect();
            let noted = {
                let caller = Caller::worker(tenant);
                let params: Params<'_> = &[&caller.tenant.as_str(), &uuids(&ids)];
                pool.within(&caller, query!("memories/used"), params).await
            };
            if let Err(error) = noted {
                tracing::debug!(%error, "the use of memories was not noted");
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
