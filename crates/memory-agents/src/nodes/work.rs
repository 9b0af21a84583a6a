//! Background work on memories of nodes. The worker role finds it for all tenants; the
//! service role does it, tenant by tenant.

use std::time::Duration;

use futures::{StreamExt as _, stream};
use memory_contract::TenantId;
use memory_database::{
    StoreError,
    rows::{self, column, only},
};
use memory_postgres::{Caller, Params, query};
use tokio_postgres::Row;

use super::{Node, delete::erase_object, deletion::deletion, flush::LockMode};
use crate::{NodeStore, NodeWorker};

/// Concurrent flushes.
const LANES: usize = 4;
/// How long a deletion stays with one worker, and the pause after its first
/// failure.
const LEASE: Duration = Duration::from_secs(5);

/// Waiting background work on memories of nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeStats {
    /// Turns that wait for a flush.
    pub waiting: i64,
    /// The age of the oldest of them.
    pub lag: Duration,
    /// Nodes whose last flush failed and that have turns waiting.
    pub failing: i64,
    /// Objects that are still to be erased.
    pub deletions: i64,
}

impl NodeWorker<'_> {
    /// Flushes nodes whose turns have waited for `age`, at most
    /// `limit`. A failing one is retried later and does not block others.
    /// Returns how many there were.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn flush_forgotten(self, age: Duration, limit: u32) -> Result<u64, StoreError> {
        let params: Params<'_> = &[&age.as_secs_f64(), &i64::from(limit)];
        let found = self
            .workers
            .pool
            .call_for_all(query!("nodes/forgotten"), params)
            .await?;
        let nodes = nodes(&found)?;
        let count = nodes.len() as u64;
        let flushed: Vec<u64> = stream::iter(nodes)
            .map(|(tenant, node)| async move {
                match NodeStore::new(self.store, &Caller::worker(tenant)).flush(&node, LockMode::Skip).await {
                    Ok(turns) => u64::from(turns > 0),
                    Err(error) => {
                        tracing::warn!(thread = %node.thread, %error, "a node could not be flushed");
                        0
                    }
                }
            })
            .buffer_unordered(LANES)
            .collect()
            .await;
        // A skipped node is found again at once, so it does not count as progress.
        Ok(if flushed.iter().sum::<u64>() == 0 {
            0
        } else {
            count
        })
    }

    /// Erases expired memories through `store`, at most `limit`.
    /// Returns how many.
    ///
    /// # Errors
    /// Only errors of the database; a part may have been erased.
    pub async fn sweep_nodes(self, limit: u32) -> Result<u64, StoreError> {
        let found = self
            .workers
            .pool
            .call_for_all(query!("nodes/expired"), &[&i64::from(limit)])
            .await?;
        let (mut erased, mut failed) = (0, None);
        for (tenant, node) in nodes(&found)? {
            // A failing one does not block others.
            match NodeStore::new(self.store, &Caller::worker(tenant))
                .expire_node(&node)
                .await
            {
                Ok(expired) => erased += u64::from(expired),
                Err(error) => failed = Some(error),
            }
        }
        match failed {
            Some(error) => Err(error),
            None => Ok(erased),
        }
    }

    /// Erases objects that are in the queue, at most `limit`.
    /// A failing one is retried later and does not block others. Returns
    /// how many there were.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn erase_objects(self, limit: u32) -> Result<u64, StoreError> {
        if self.store.objects.is_none() {
            return Ok(0);
        }
        let params: Params<'_> = &[&i64::from(limit), &LEASE.as_secs_f64()];
        let found = self
            .workers
            .pool
            .call_for_all(query!("object_deletions/claim"), params)
            .await?;
        let deletions = found.iter().map(deletion).collect::<Result<Vec<_>, _>>()?;
        let count = deletions.len() as u64;
        stream::iter(deletions)
            .for_each_concurrent(LANES, |deletion| async move {
                if let Err(error) = erase_object(self.store, &deletion).await {
                    tracing::warn!(thread = %deletion.node.thread, %error, "an object could not be erased");
                }
            })
            .await;
        Ok(count)
    }

    /// Forgets request ids of turns older than the configured time, at most
    /// `limit`. Returns how many.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn sweep_node_requests(self, limit: u32) -> Result<u64, StoreError> {
        let params: Params<'_> = &[
            &self.workers.request_retention.as_secs_f64(),
            &i64::from(limit),
        ];
        Ok(self
            .workers
            .pool
            .execute(query!("nodes/sweep_requests"), params)
            .await?)
    }

    /// Forgets writes to object storage that cannot be under way any more, at most `limit`.
    /// Returns how many.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn sweep_object_writes(self, limit: u32) -> Result<u64, StoreError> {
        let Some(objects) = &self.store.objects else {
            return Ok(0);
        };
        let settles = objects.settles_after().as_secs_f64();
        let params: Params<'_> = &[&settles, &i64::from(limit)];
        Ok(self
            .workers
            .pool
            .execute(query!("object_writes/sweep"), params)
            .await?)
    }

    /// Measures the waiting work.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn node_stats(self) -> Result<NodeStats, StoreError> {
        let row = only(
            self.workers
                .pool
                .call_for_all(query!("nodes/stats"), &[])
                .await?,
        )?;
        Ok(NodeStats {
            waiting: column(&row, "waiting_count")?,
            lag: Duration::try_from_secs_f64(column(&row, "lag_seconds")?).unwrap_or_default(),
            failing: column(&row, "failing_count")?,
            deletions: column(&row, "deletion_count")?,
        })
    }
}

fn nodes(found: &[Row]) -> Result<Vec<(TenantId, Node)>, StoreError> {
    found
        .iter()
        .map(|row| {
            let node = Node {
                thread: rows::id(row, "thread_id")?,
                id: column(row, "node_id")?,
            };
            Ok((TenantId::new(column::<String>(row, "tenant_id")?), node))
        })
        .collect()
}
