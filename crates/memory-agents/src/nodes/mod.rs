//! Memories of nodes: turns in the database until they are folded into objects.

mod add;
mod delete;
mod deletion;
mod flush;
mod list;
mod read;
mod work;

use memory_contract::{AppId, TenantId, ThreadId};
use memory_database::{StoreError, rows::column};
use memory_objects::{
    NodeObject, Objects, ObjectsError, StoredMessage, WaitingTurn, memory_key, unpack,
};
use tokio_postgres::{Row, types::Json};

pub use add::{AddedTurn, NodeTurn};
pub use list::{NodeMemory, NodeStatus};
pub use work::NodeStats;

/// Bytes parsed on the async thread; larger objects go to a blocking thread.
const INLINE_BYTES: usize = 64 * 1024;

/// A node of a workflow within a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Node {
    /// The conversation that the node's memory belongs to.
    pub thread: ThreadId,
    /// The node's name: 1 to 128 characters.
    pub id: String,
}

impl Node {
    /// The key of its object.
    pub fn object_key(&self, tenant: &TenantId, app: &AppId) -> String {
        memory_key(tenant, app, self.thread, &self.id)
    }
}

/// The database row of a node's memory.
#[derive(Clone, Debug)]
struct NodeRow {
    /// Counts the memories that the node has had.
    ordinal: i64,
    key: String,
    has_object: bool,
    etag: String,
}

/// Reads the one row of `nodes/get`, if there is one.
fn record(rows: &[Row]) -> Result<Option<NodeRow>, StoreError> {
    rows.first()
        .map(|row| {
            Ok(NodeRow {
                ordinal: column(row, "ordinal")?,
                key: column(row, "object_key")?,
                has_object: column(row, "has_object")?,
                etag: column(row, "etag")?,
            })
        })
        .transpose()
}

/// Reads the rows of `nodes/turns`.
fn waiting(rows: &[Row]) -> Result<Vec<WaitingTurn>, StoreError> {
    rows.iter()
        .map(|row| {
            Ok(WaitingTurn {
                id: column(row, "id")?,
                parent: column(row, "parent_id")?,
                thread_message: column(row, "thread_message_id")?,
                messages: column::<Json<Vec<StoredMessage>>>(row, "messages")?.0,
            })
        })
        .collect()
}

/// Reads an object.
///
/// # Errors
/// The inner error describes the fault of the object.
async fn parse(
    objects: &Objects,
    bytes: Option<Vec<u8>>,
) -> Result<Result<NodeObject, (Option<Vec<u8>>, String)>, StoreError> {
    let limit = objects.read_limit();
    let Some(bytes) = bytes else {
        return Ok(Err((None, format!("is larger than {limit} bytes"))));
    };
    let size = bytes.len();
    blocking(size, move || {
        unpack(&bytes, limit)
            .and_then(|json| NodeObject::read(&json))
            .map_err(|why| (Some(bytes), why))
    })
    .await
}

/// Runs work over `size` bytes, on a blocking thread if they are many.
async fn blocking<T: Send + 'static>(
    size: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, StoreError> {
    if size <= INLINE_BYTES {
        return Ok(work());
    }
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| ObjectsError::failed("read", error).into())
}
