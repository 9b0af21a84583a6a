//! Converts rows into domain types. Columns are read by name.

use memory_contract::{
    AppId, JsonObject, MemoryPolicy, Message, MessageId, Part, Role, Session, SessionKey, Thread,
    ThreadId, UserId,
};
use tokio_postgres::{
    Row,
    types::{FromSql, Json},
};
use uuid::Uuid;

use crate::StoreError;

/// Reads a column by its name. An error names the column and never its value.
pub(crate) fn column<'a, T: FromSql<'a>>(row: &'a Row, name: &str) -> Result<T, StoreError> {
    row.try_get(name).map_err(|_| StoreError::Corrupt {
        what: "row",
        why: format!("the column {name} is missing, or has an unexpected type or value"),
    })
}

/// Reads the column of a row that has only one.
pub(crate) fn scalar<'a, T: FromSql<'a>>(row: &'a Row) -> Result<T, StoreError> {
    column(row, row.columns().first().map_or("", |only| only.name()))
}

/// Reads an id.
pub(crate) fn id<T: From<Uuid>>(row: &Row, name: &str) -> Result<T, StoreError> {
    column::<Uuid>(row, name).map(T::from)
}

/// Reads an id that may be null.
pub(crate) fn optional_id<T: From<Uuid>>(row: &Row, name: &str) -> Result<Option<T>, StoreError> {
    Ok(column::<Option<Uuid>>(row, name)?.map(T::from))
}

/// Reads a thread.
pub(crate) fn thread(row: &Row) -> Result<Thread, StoreError> {
    Ok(Thread {
        id: id(row, "thread_id")?,
        session: Session {
            app: AppId::new(column::<String>(row, "app_id")?),
            user: UserId::new(column::<String>(row, "user_id")?),
            key: SessionKey::new(column::<String>(row, "session_key")?),
        },
        title: column(row, "title")?,
        metadata: column::<Json<JsonObject>>(row, "metadata")?.0,
        last_seq: column(row, "last_seq")?,
        head: optional_id(row, "head_id")?,
        message_count: column(row, "message_count")?,
        created: column(row, "created_at")?,
        updated: column(row, "updated_at")?,
        expires: column(row, "expires_at")?,
        policy: column::<Json<MemoryPolicy>>(row, "policy")?.0,
        ephemeral: column(row, "ephemeral")?,
        etag: column::<Uuid>(row, "version")?.to_string(),
    })
}

/// Reads a message of `thread`.
pub(crate) fn message(row: &Row, thread: ThreadId) -> Result<Message, StoreError> {
    let role: &str = column(row, "role")?;
    Ok(Message {
        id: id::<MessageId>(row, "message_id")?,
        external_id: column::<Option<String>>(row, "external_id")?.unwrap_or_default(),
        thread,
        parent: optional_id(row, "parent_id")?,
        seq: column(row, "seq")?,
        branch: column(row, "branch")?,
        depth: column(row, "depth")?,
        role: Role::from_name(role).ok_or_else(|| StoreError::Corrupt {
            what: "message",
            why: "its role is not known".to_owned(),
        })?,
        name: column(row, "name")?,
        parts: column::<Json<Vec<Part>>>(row, "parts")?.0,
        metadata: column::<Json<JsonObject>>(row, "metadata")?.0,
        tokens: column(row, "tokens")?,
        created: column(row, "said_at")?,
    })
}

/// The one row of a query that always has one.
pub(crate) fn only(rows: Vec<Row>) -> Result<Row, StoreError> {
    rows.into_iter().next().ok_or_else(|| StoreError::Corrupt {
        what: "answer",
        why: "it has no row".to_owned(),
    })
}

/// A status that this version does not know.
pub(crate) fn unknown_status(status: &str) -> StoreError {
    StoreError::Corrupt {
        what: "answer",
        why: format!("its status is {status:?}; the schema is newer than this release"),
    }
}
