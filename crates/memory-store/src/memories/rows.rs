//! Rows -> memories.

use memory_contract::{
    AppId, ExtractionStrategy, Memory, MemoryOrigin, MemoryOwner, MemoryType, MessageId, UserId,
};
use time::{Date, OffsetDateTime};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::{
    StoreError,
    rows::{column, id, optional_id},
};

/// Reads a memory from the columns `memory_id, app_id, user_id, text, type,
/// topics, entities, event_time, origin, record_id, thread_id, sources, pinned,
/// valid_from, valid_until, superseded_by, made_by, strategy, version,
/// created_at, updated_at, persisted_at, last_used_on, ordinal`.
pub(crate) fn memory(row: &Row, first: usize) -> Result<Memory, StoreError> {
    let corrupt = |why: &str| StoreError::Corrupt {
        what: "memory",
        why: why.to_owned(),
    };
    let kind = MemoryType::from_name(column(row, first + 4)?)
        .ok_or_else(|| corrupt("its type is not known"))?;
    let origin = MemoryOrigin::from_name(column(row, first + 8)?)
        .ok_or_else(|| corrupt("its origin is not known"))?;
    let strategy = match column(row, first + 17)? {
        "" => None,
        name => Some(
            ExtractionStrategy::from_name(name)
                .ok_or_else(|| corrupt("its strategy is not known"))?,
        ),
    };
    let sources: Vec<Uuid> = column(row, first + 11)?;
    let last_used: Option<Date> = column(row, first + 22)?;
    Ok(Memory {
        id: id(row, first)?,
        owner: MemoryOwner {
            app: AppId::new(column::<String>(row, first + 1)?),
            user: UserId::new(column::<String>(row, first + 2)?),
        },
        text: column(row, first + 3)?,
        kind,
        topics: column(row, first + 5)?,
        entities: column(row, first + 6)?,
        event: column(row, first + 7)?,
        origin,
        record: column(row, first + 9)?,
        thread: optional_id(row, first + 10)?,
        sources: sources.into_iter().map(MessageId::from).collect(),
        pinned: column(row, first + 12)?,
        valid_from: column(row, first + 13)?,
        valid_until: column(row, first + 14)?,
        superseded_by: optional_id(row, first + 15)?,
        made_by: column(row, first + 16)?,
        strategy,
        version: column(row, first + 18)?,
        created: column(row, first + 19)?,
        updated: column(row, first + 20)?,
        persisted: column(row, first + 21)?,
        last_used: last_used.map(|day| day.midnight().assume_utc()),
        ordinal: column(row, first + 23)?,
    })
}

/// Whether the row has a memory.
pub(super) fn has_memory(row: &Row, first: usize) -> Result<bool, StoreError> {
    Ok(column::<Option<Uuid>>(row, first)?.is_some())
}

/// Today, as uses are kept.
pub(super) fn today() -> OffsetDateTime {
    OffsetDateTime::now_utc().replace_time(time::Time::MIDNIGHT)
}
