//! Reads what holds of a user.

use memory_contract::{MemoryId, ThreadId, memory::MemoryTimes};
use memory_database::{
    StoreError,
    rows::{column, id, optional_id},
};
use memory_postgres::{Params, query};
use time::OffsetDateTime;
use tokio_postgres::Row;

use crate::{MemoryOwners, MemoryStore};

/// Memories of one user that hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeldMemories {
    /// The most important first.
    pub memories: Vec<HeldMemory>,
    /// How many hold, also those that were not read.
    pub total: i64,
}

/// What a profile says of a memory that holds.
#[derive(Clone, Debug, PartialEq)]
pub struct HeldMemory {
    /// The memory's id.
    pub id: MemoryId,
    /// The thread that it came from, if any.
    pub thread: Option<ThreadId>,
    /// The remembered text.
    pub text: String,
    /// The digest of the normalized text: equal for texts that say the same.
    pub content_hash: Vec<u8>,
    /// Its first topic; empty for none.
    pub topic: String,
    /// Whether policies never forget it.
    pub pinned: bool,
    /// Time of the event, if known.
    pub event: Option<OffsetDateTime>,
    /// Time from which it holds, as far as known.
    pub valid_from: OffsetDateTime,
    /// The position in the order of creation.
    pub ordinal: i64,
}

impl MemoryStore<'_> {
    /// Reads the memories of one user, or of an app and no user, that hold, or held at `times`, at
    /// most `limit`: pinned ones, then lasting facts, then events; of each those used or stored on
    /// the latest day, the newest first. None where `owners` are all users of an app.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn held_memories(
        self,
        owners: &MemoryOwners,
        times: MemoryTimes,
        limit: u32,
    ) -> Result<HeldMemories, StoreError> {
        let Some(user) = owners.user().filter(|_| self.store.remembers) else {
            return Ok(HeldMemories::default());
        };
        let params: Params<'_> = &[
            &self.caller.tenant.as_str(),
            &owners.apps(),
            &user.as_str(),
            &owners.space(),
            &i64::from(limit),
            &times.valid_at,
            &times.known_at,
        ];
        let hold = query!("memories/hold");
        let found = self.store.pool.within(self.caller, hold, params).await?;
        let total: Option<i64> = found.first().map(|row| column(row, "total")).transpose()?;
        Ok(HeldMemories {
            memories: found.iter().map(held).collect::<Result<_, _>>()?,
            total: total.unwrap_or_default(),
        })
    }
}

fn held(row: &Row) -> Result<HeldMemory, StoreError> {
    Ok(HeldMemory {
        id: id(row, "memory_id")?,
        thread: optional_id(row, "thread_id")?,
        text: column(row, "text")?,
        content_hash: column(row, "content_hash")?,
        topic: column(row, "topic")?,
        pinned: column(row, "pinned")?,
        event: column(row, "event_time")?,
        valid_from: column(row, "valid_from")?,
        ordinal: column(row, "ordinal")?,
    })
}
