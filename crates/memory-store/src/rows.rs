//! Rows -> domain types. Columns are read by place; the queries keep the order
//! that is written here.

use memory_contract::{
    AppId, MemoryPolicy, Message, MessageId, Part, Role, Session, SessionKey, Thread, ThreadId,
    UserId,
};
use serde_json::{Map, Value};
use tokio_postgres::{
    Row,
    types::{FromSql, Json},
};
use uuid::Uuid;

use crate::StoreError;

/// Reads the column at `place`. An error names the column and never its value.
pub(crate) fn column<'a, T: FromSql<'a>>(row: &'a Row, place: usize) -> Result<T, StoreError> {
    row.try_get(place).map_err(|_| StoreError::Corrupt {
        what: "row",
        why: match row.columns().get(place) {
            Some(column) => format!(
                "the column {} has an unexpected type or value",
                column.name()
            ),
            None => format!("there is no column {place}"),
        },
    })
}

/// Reads an id.
pub(crate) fn id<T: From<Uuid>>(row: &Row, place: usize) -> Result<T, StoreError> {
    column::<Uuid>(row, place).map(T::from)
}

/// Reads an id that may be null.
pub(crate) fn optional_id<T: From<Uuid>>(row: &Row, place: usize) -> Result<Option<T>, StoreError> {
    Ok(column::<Option<Uuid>>(row, place)?.map(T::from))
}

/// Columns of a thread.
pub(crate) const THREAD_COLUMNS: usize = 14;

/// Reads a thread from `THREAD_COLUMNS` columns: `thread_id, app_id, user_id,
/// session_key, title, metadata, last_seq, head_id, message_count, created_at,
/// updated_at, expires_at, policy, ephemeral`.
pub(crate) fn thread(row: &Row, first: usize) -> Result<Thread, StoreError> {
    Ok(Thread {
        id: id(row, first)?,
        session: Session {
            app: AppId::new(column::<String>(row, first + 1)?),
            user: UserId::new(column::<String>(row, first + 2)?),
            key: SessionKey::new(column::<String>(row, first + 3)?),
        },
        title: column(row, first + 4)?,
        metadata: column::<Json<Map<String, Value>>>(row, first + 5)?.0,
        last_seq: column(row, first + 6)?,
        head: optional_id(row, first + 7)?,
        message_count: column(row, first + 8)?,
        created: column(row, first + 9)?,
        updated: column(row, first + 10)?,
        expires: column(row, first + 11)?,
        policy: column::<Json<MemoryPolicy>>(row, first + 12)?.0,
        ephemeral: column(row, first + 13)?,
    })
}

/// Columns of a message.
pub(crate) const MESSAGE_COLUMNS: usize = 11;

/// Reads a message of `thread` from `MESSAGE_COLUMNS` columns: `message_id,
/// parent_id, seq, branch, depth, role, name, parts, metadata, tokens,
/// said_at`.
pub(crate) fn message(row: &Row, first: usize, thread: ThreadId) -> Result<Message, StoreError> {
    let role: &str = column(row, first + 5)?;
    Ok(Message {
        id: id::<MessageId>(row, first)?,
        thread,
        parent: optional_id(row, first + 1)?,
        seq: column(row, first + 2)?,
        branch: column(row, first + 3)?,
        depth: column(row, first + 4)?,
        role: Role::from_name(role).ok_or_else(|| StoreError::Corrupt {
            what: "message",
            why: "its role is not known".to_owned(),
        })?,
        name: column(row, first + 6)?,
        parts: column::<Json<Vec<Part>>>(row, first + 7)?.0,
        metadata: column::<Json<Map<String, Value>>>(row, first + 8)?.0,
        tokens: column(row, first + 9)?,
        created: column(row, first + 10)?,
    })
}

/// The one row of a query that always has one.
pub(crate) fn only(rows: Vec<Row>) -> Result<Row, StoreError> {
    rows.into_iter().next().ok_or_else(|| StoreError::Corrupt {
        what: "answer",
        why: "it has no row".to_owned(),
    })
}

/// A status that this release does not know.
pub(crate) fn unknown_status(status: &str) -> StoreError {
    StoreError::Corrupt {
        what: "answer",
        why: format!("its status is {status:?}; the schema is newer than this release"),
    }
}
