//! Changes that the audit log records.

use memory_contract::ThreadId;
use time::OffsetDateTime;
use tokio_postgres::Row;

use crate::{
    StoreError,
    rows::{column, optional_id},
};

/// A committed change, or rejected ones. It never has content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// The name of the API key that did it, `anonymous`, `cli` or `worker`.
    pub actor: String,
    /// The action, such as `append_messages`.
    pub action: String,
    /// The thread that it was done to.
    pub thread: Option<ThreadId>,
    /// The changed object besides the thread: a name, an id, or several with commas; may
    /// be empty.
    pub subject: String,
    /// How many things it changed, or how often it was rejected.
    pub item_count: i64,
    /// The result: `ok`, or the reason of a refusal, such as `head_moved`.
    pub result: String,
    /// When it was made, or first rejected.
    pub created: OffsetDateTime,
}

/// Reads a change from the first seven columns of `transactions/list`.
pub fn read_transaction(row: &Row) -> Result<Transaction, StoreError> {
    Ok(Transaction {
        actor: column(row, "actor")?,
        action: column(row, "action")?,
        thread: optional_id(row, "thread_id")?,
        subject: column(row, "subject")?,
        item_count: column(row, "item_count")?,
        result: column(row, "result")?,
        created: column(row, "created_at")?,
    })
}
