//! Clearing memories of nodes and erasing their objects.

use std::time::Duration;

use memory_database::{
    Databases, StoreError,
    rows::{column, only, scalar, unknown_status},
};
use memory_postgres::{Caller, Params, query};
use memory_runtime::task;
use tokio::time::timeout;

use super::{
    Node,
    deletion::{Deletion, deletion},
};
use crate::NodeStore;

/// How long a call that clears a memory waits for its object to be erased. A worker
/// erases it otherwise; it cannot be read any more in either case.
const ERASE_TIMEOUT: Duration = Duration::from_secs(2);

impl NodeStore<'_> {
    /// Erases the memory of a node, and returns how many messages it had.
    /// Idempotent. It needs no object storage.
    ///
    /// # Errors
    /// `ThreadNotFound`.
    pub async fn clear_node(self, node: &Node) -> Result<i64, StoreError> {
        let tenant = &self.caller.tenant;
        let params: Params<'_> = &[
            &tenant.as_str(),
            &self.caller.actor,
            &node.thread.uuid(),
            &node.id,
        ];
        let row = only(
            self.store
                .pool
                .call(self.caller, query!("nodes/clear"), params)
                .await?,
        )?;
        match column(&row, "status")? {
            "ok" => {}
            "thread_not_found" => return Err(StoreError::ThreadNotFound),
            other => return Err(unknown_status(other)),
        }
        let (store, caller, erased) = (self.store.clone(), self.caller.clone(), node.clone());
        let erase = async move {
            NodeStore::new(&store, &caller)
                .erase_objects_of(&erased)
                .await
        };
        // Spawned, so that it continues after the timeout: interrupted, it would free its
        // lock while the object store may still erase, possibly the next flush's object.
        match timeout(ERASE_TIMEOUT, task::spawn_for_call("erase", erase)).await {
            Ok(Ok(Ok(()))) => {}
            Ok(Ok(Err(error))) => tracing::debug!(%error, "a worker has to erase an object"),
            Ok(Err(_)) | Err(_) => tracing::debug!("an object is not erased yet"),
        }
        column(&row, "message_count")
    }

    async fn erase_objects_of(self, node: &Node) -> Result<(), StoreError> {
        let tenant = &self.caller.tenant;
        let Some(objects) = &self.store.objects else {
            return Ok(());
        };
        // While the object store is busy, erasing is left to workers.
        let Some(_permit) = objects.erasure_permit() else {
            return Ok(());
        };
        let params: Params<'_> = &[&tenant.as_str(), &node.thread.uuid(), &node.id];
        let rows = self
            .store
            .pool
            .within(self.caller, query!("object_deletions/of_node"), params)
            .await?;
        for row in &rows {
            erase_object(self.store, &deletion(row)?).await?;
        }
        Ok(())
    }

    /// Erases an expired memory. Returns whether it had expired.
    pub(super) async fn expire_node(self, node: &Node) -> Result<bool, StoreError> {
        let tenant = &self.caller.tenant;
        let params: Params<'_> = &[
            &tenant.as_str(),
            &self.caller.actor,
            &node.thread.uuid(),
            &node.id,
        ];
        scalar(&only(
            self.store
                .pool
                .call(self.caller, query!("nodes/expire"), params)
                .await?,
        )?)
    }
}

/// Erases an object, unless it is in use again. Idempotent. It stays in the queue, to be
/// erased once more, while a write of it may still be carried out.
///
/// # Errors
/// `Objects`, `NoObjectStore`: it stays in the queue.
pub(super) async fn erase_object(store: &Databases, deletion: &Deletion) -> Result<(), StoreError> {
    let objects = store.require_objects()?;
    let Deletion {
        tenant,
        id,
        node,
        key,
    } = deletion;
    let name = tenant.as_str();
    // The lock of flushes: a running one ends first.
    let lock: Params<'_> = &[&name, &node.thread.uuid(), &node.id];
    let settles = objects.settles_after().as_secs_f64();
    let wanted: Params<'_> = &[&name, id, &settles];
    let queries = [
        (query!("nodes/lock"), lock),
        (query!("object_deletions/wanted"), wanted),
    ];
    let (transaction, results) = store
        .pool
        .begin(&Caller::worker(tenant.clone()), &queries)
        .await?;
    let Some(row) = results.last().and_then(|rows| rows.first()) else {
        return Ok(transaction.rollback().await?);
    };
    if column(row, "wanted")? {
        if let Err(error) = objects.delete(key).await {
            let failed: Params<'_> = &[&name, id, &error.to_string()];
            let failed = [(query!("object_deletions/failed"), failed)];
            transaction.commit(&failed).await?;
            return Err(error.into());
        }
        if !column::<bool>(row, "settled")? {
            return Ok(transaction.rollback().await?);
        }
    }
    let this: Params<'_> = &[&name, id];
    let done = [(query!("object_deletions/done"), this)];
    transaction.commit(&done).await?;
    Ok(())
}
