//! Reads messages for the indexer, of one tenant at a time.

use std::collections::HashMap;

use memory_contract::{AppId, MessageId, ThreadId, UserId, message::Message};
use memory_database::{
    StoreError,
    rows::{self, column, uuids},
};
use memory_postgres::{Params, query};

use super::row::read_message;
use crate::MessageStore;

/// Messages before one that its index entry is made of, at most.
const CONTEXT: i32 = 3;

/// A message with what its index entry is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexRecord {
    /// The message to index.
    pub message: Message,
    /// The messages before it along its parents, the nearest first, at most
    /// three steps away. Deleted ones are left out.
    pub previous: Vec<Message>,
    /// The app of its thread.
    pub app: AppId,
    /// The user of its thread; may be empty.
    pub user: UserId,
    /// The place of its thread in the order of creation of the threads.
    pub thread_ordinal: i64,
    /// A hash of its metadata, as in [`Place`].
    pub metadata_hash: i64,
}

/// Where a message is, and the only content that can change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its thread.
    pub thread: ThreadId,
    /// Its seq there. A message that is erased and appended again under its id has another one.
    pub seq: i64,
    /// A hash of its metadata.
    pub metadata_hash: i64,
}

impl MessageStore<'_> {
    /// Reads messages for indexing: all of them, or the first ones with at most `max_bytes` of
    /// content together, at least one. What cannot be read any more is left out, as are messages
    /// before them with more than `max_context_bytes` of content.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn index_records(
        self,
        ids: &[MessageId],
        max_context_bytes: i32,
        max_bytes: Option<u32>,
    ) -> Result<Vec<IndexRecord>, StoreError> {
        let tenant = &self.caller.tenant;
        let params: Params<'_> = &[
            &tenant.as_str(),
            &uuids(ids),
            &CONTEXT,
            &max_context_bytes,
            &max_bytes.map(i64::from),
        ];
        let found = self
            .store
            .pool
            .within(self.caller, query!("messages/index_records"), params)
            .await?;
        let rows = found.iter().map(read_row).collect::<Result<Vec<_>, _>>()?;
        let by_id: HashMap<MessageId, &Row> =
            rows.iter().map(|row| (row.message.id, row)).collect();
        Ok(rows
            .iter()
            .filter(|row| row.wanted)
            .map(|row| IndexRecord {
                message: row.message.clone(),
                previous: previous(row, &by_id),
                app: row.app.clone(),
                user: row.user.clone(),
                thread_ordinal: row.thread_ordinal,
                metadata_hash: row.metadata_hash,
            })
            .collect())
    }

    /// Which of these messages can be read, each with its place.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn places(self, ids: &[MessageId]) -> Result<HashMap<MessageId, Place>, StoreError> {
        let tenant = &self.caller.tenant;
        let params: Params<'_> = &[&tenant.as_str(), &uuids(ids)];
        let found = self
            .store
            .pool
            .within(self.caller, query!("messages/places"), params)
            .await?;
        let place = |row| {
            let place = Place {
                thread: rows::id(row, "thread_id")?,
                seq: column(row, "seq")?,
                metadata_hash: column(row, "metadata_hash")?,
            };
            Ok::<_, StoreError>((rows::id(row, "message_id")?, place))
        };
        found.iter().map(place).collect()
    }
}

/// A row of `messages/index_records`.
struct Row {
    message: Message,
    app: AppId,
    user: UserId,
    thread_ordinal: i64,
    metadata_hash: i64,
    /// It was asked for, and is not only the context of another.
    wanted: bool,
    readable: bool,
}

fn read_row(row: &tokio_postgres::Row) -> Result<Row, StoreError> {
    Ok(Row {
        message: read_message(row)?,
        app: AppId::new(column::<String>(row, "app_id")?),
        user: UserId::new(column::<String>(row, "user_id")?),
        thread_ordinal: column(row, "ordinal")?,
        metadata_hash: column(row, "metadata_hash")?,
        wanted: column(row, "wanted")?,
        readable: column(row, "readable")?,
    })
}

fn previous(row: &Row, by_id: &HashMap<MessageId, &Row>) -> Vec<Message> {
    std::iter::successors(Some(row), |row| by_id.get(&row.message.parent?).copied())
        .skip(1)
        .take(CONTEXT as usize)
        .filter(|row| row.readable)
        .map(|row| row.message.clone())
        .collect()
}
