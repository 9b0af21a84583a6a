//! An object to erase.

use memory_contract::TenantId;
use memory_database::{
    StoreError,
    rows::{self, column},
};
use tokio_postgres::Row;

use super::Node;

/// An object to erase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Deletion {
    /// The tenant of the node.
    pub(super) tenant: TenantId,
    /// The number in the queue.
    pub(super) id: i64,
    /// The node whose memory it was.
    pub(super) node: Node,
    /// The object's key.
    pub(super) key: String,
}

/// Reads `tenant_id, id, thread_id, node_id, object_key`.
pub(super) fn deletion(row: &Row) -> Result<Deletion, StoreError> {
    Ok(Deletion {
        tenant: TenantId::new(column::<String>(row, "tenant_id")?),
        id: column(row, "id")?,
        node: Node {
            thread: rows::id(row, "thread_id")?,
            id: column(row, "node_id")?,
        },
        key: column(row, "object_key")?,
    })
}
