//! Lists memories of nodes and their state.

use std::time::Duration;

use memory_contract::ThreadId;
use memory_database::{
    Page, StoreError,
    page::one_more,
    rows::{GET_THREAD, column, one_thread, only},
};
use memory_postgres::{Params, query};
use time::OffsetDateTime;
use tokio_postgres::Row;

use crate::NodeStore;

/// The memory of one node, without its messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeMemory {
    /// The node's name.
    pub node: String,
    /// The key of its object.
    pub object_key: String,
    /// Messages, waiting ones included.
    pub message_count: i64,
    /// Turns that wait for a flush.
    pub waiting_count: i64,
    /// The object's JSON before compression, in bytes; 0 before the first flush.
    pub size_bytes: i64,
    /// When a turn was last added.
    pub updated: OffsetDateTime,
    /// When the object was last written.
    pub flushed: Option<OffsetDateTime>,
    /// When it is erased.
    pub expires: Option<OffsetDateTime>,
    /// The error of the last flush; empty after a success.
    pub last_error: String,
}

/// The state of a tenant's memories of nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeStatus {
    /// Turns that wait for a flush.
    pub waiting: i64,
    /// The age of the oldest of them; zero where none waits.
    pub lag: Duration,
    /// Nodes whose last flush failed.
    pub failing: i64,
    /// Objects that are still to be erased.
    pub deletions: i64,
    /// The newest error; empty: no error.
    pub last_error: String,
}

impl NodeStore<'_> {
    /// Lists the nodes of a thread that have a memory, the one used first first,
    /// after the key `after`; 0 for the first page.
    ///
    /// # Errors
    /// `ThreadNotFound`.
    pub async fn list_node_memories(
        self,
        thread: ThreadId,
        after: i64,
        limit: u32,
    ) -> Result<Page<NodeMemory, i64>, StoreError> {
        let tenant = &self.caller.tenant;
        let (name, id, more) = (tenant.as_str(), thread.uuid(), one_more(limit));
        let exists: Params<'_> = &[&name, &id];
        let list: Params<'_> = &[&name, &id, &after, &more];
        let queries = [(GET_THREAD, exists), (query!("nodes/list"), list)];
        let results = self.store.pool.within_all(self.caller, &queries).await?;
        let [threads, memories] = results.as_slice() else {
            return Err(StoreError::ThreadNotFound);
        };
        one_thread(threads)?;
        let memories = memories.iter().map(memory).collect::<Result<_, _>>()?;
        Ok(Page::cut(memories, limit))
    }

    /// Reads the state of the tenant's memories of nodes.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn node_status(self) -> Result<NodeStatus, StoreError> {
        let tenant = &self.caller.tenant;
        let params: Params<'_> = &[&tenant.as_str()];
        let rows = self
            .store
            .pool
            .within(self.caller, query!("nodes/status"), params)
            .await?;
        let row = only(rows)?;
        Ok(NodeStatus {
            waiting: column(&row, "waiting_count")?,
            lag: Duration::try_from_secs_f64(column(&row, "lag_seconds")?).unwrap_or_default(),
            failing: column(&row, "failing_count")?,
            deletions: column(&row, "deletion_count")?,
            last_error: column(&row, "last_error")?,
        })
    }
}

fn memory(row: &Row) -> Result<(i64, NodeMemory), StoreError> {
    let memory = NodeMemory {
        node: column(row, "node_id")?,
        object_key: column(row, "object_key")?,
        message_count: column(row, "message_count")?,
        waiting_count: column(row, "waiting_count")?,
        size_bytes: column(row, "size_bytes")?,
        updated: column(row, "updated_at")?,
        flushed: column(row, "flushed_at")?,
        expires: column(row, "expires_at")?,
        last_error: column(row, "last_error")?,
    };
    Ok((column(row, "ordinal")?, memory))
}
