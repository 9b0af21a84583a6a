//! Converts rows into domain types. Columns are read by name.

use memory_contract::{
    AppId, MessageId, SessionKey, UserId,
    json::JsonObject,
    policy::MemoryPolicy,
    thread::{Session, Thread},
};
use memory_postgres::{Query, query};
use tokio_postgres::{
    Row,
    types::{FromSql, Json},
};
use uuid::Uuid;

use crate::StoreError;

/// Reads a thread, for [`one_thread`]: parameters are the tenant and the thread.
pub const GET_THREAD: Query = query!("threads/get");

/// Reads a column by its name. An error names the column and never its value.
pub fn column<'a, T: FromSql<'a>>(row: &'a Row, name: &str) -> Result<T, StoreError> {
    row.try_get(name).map_err(|_| StoreError::Corrupt {
        what: "row",
        why: format!("the column {name} is missing, or has an unexpected type or value"),
    })
}

/// Reads the column of a row that has only one.
pub fn scalar<'a, T: FromSql<'a>>(row: &'a Row) -> Result<T, StoreError> {
    column(row, row.columns().first().map_or("", |only| only.name()))
}

/// Reads an id.
pub fn id<T: From<Uuid>>(row: &Row, name: &str) -> Result<T, StoreError> {
    column::<Uuid>(row, name).map(T::from)
}

/// Reads an id that may be null.
pub fn optional_id<T: From<Uuid>>(row: &Row, name: &str) -> Result<Option<T>, StoreError> {
    Ok(column::<Option<Uuid>>(row, name)?.map(T::from))
}

/// Reads a thread.
pub fn thread(row: &Row) -> Result<Thread, StoreError> {
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

/// The thread of a query for one.
pub fn one_thread(found: &[Row]) -> Result<Thread, StoreError> {
    thread(found.first().ok_or(StoreError::ThreadNotFound)?)
}

/// The app and the user of a row.
pub fn owner_of(row: &Row) -> Result<(AppId, UserId), StoreError> {
    let app: String = column(row, "app_id")?;
    let user: String = column(row, "user_id")?;
    Ok((AppId::new(app), UserId::new(user)))
}

/// The one row of a query that always has one.
pub fn only(rows: Vec<Row>) -> Result<Row, StoreError> {
    rows.into_iter().next().ok_or_else(|| StoreError::Corrupt {
        what: "answer",
        why: "it has no row".to_owned(),
    })
}

/// A status that this version does not know.
pub fn unknown_status(status: &str) -> StoreError {
    StoreError::Corrupt {
        what: "answer",
        why: format!("its status is {status:?}; the schema is newer than this release"),
    }
}

/// Ids of messages as query parameters.
pub fn uuids(ids: &[MessageId]) -> Vec<Uuid> {
    ids.iter().map(|id| id.uuid()).collect()
}
