//! Converts rows into memories.

use memory_contract::{
    AppId, MessageId, UserId,
    json::JsonObject,
    memory::{Memory, MemoryOrigin, MemoryOwner, MemoryType},
    policy::ExtractionStrategy,
};
use memory_database::{
    StoreError,
    rows::{column, id, optional_id},
};
use time::{Date, OffsetDateTime};
use tokio_postgres::{Row, types::Json};
use uuid::Uuid;

/// Reads a memory.
pub(crate) fn memory(row: &Row) -> Result<Memory, StoreError> {
    let corrupt = |why: &str| StoreError::Corrupt {
        what: "memory",
        why: why.to_owned(),
    };
    let kind = MemoryType::from_name(column(row, "type")?)
        .ok_or_else(|| corrupt("its type is not known"))?;
    let origin = MemoryOrigin::from_name(column(row, "origin")?)
        .ok_or_else(|| corrupt("its origin is not known"))?;
    let strategy = match column(row, "strategy")? {
        "" => None,
        name => Some(
            ExtractionStrategy::from_name(name)
                .ok_or_else(|| corrupt("its strategy is not known"))?,
        ),
    };
    let sources: Vec<Uuid> = column(row, "sources")?;
    // Only exports read it.
    let built_on: Vec<Uuid> = row.try_get("built_on").unwrap_or_default();
    let last_used: Option<Date> = column(row, "last_used_on")?;
    Ok(Memory {
        id: id(row, "memory_id")?,
        owner: MemoryOwner {
            app: AppId::new(column::<String>(row, "app_id")?),
            user: UserId::new(column::<String>(row, "user_id")?),
        },
        text: column(row, "text")?,
        kind,
        topics: column(row, "topics")?,
        entities: column(row, "entities")?,
        event: column(row, "event_time")?,
        metadata: column::<Json<JsonObject>>(row, "metadata")?.0,
        own_kind: column(row, "kind")?,
        attributes: column::<Json<JsonObject>>(row, "attributes")?.0,
        origin,
        record: column(row, "external_id")?,
        thread: optional_id(row, "thread_id")?,
        sources: sources.into_iter().map(MessageId::from).collect(),
        built_on: built_on.into_iter().map(Into::into).collect(),
        pinned: column(row, "pinned")?,
        valid_from: column(row, "valid_from")?,
        valid_until: column(row, "valid_until")?,
        ended: column(row, "ended_at")?,
        superseded_by: optional_id(row, "superseded_by")?,
        made_by: column(row, "made_by")?,
        strategy,
        version: column(row, "version")?,
        created: column(row, "created_at")?,
        updated: column(row, "updated_at")?,
        persisted: column(row, "persisted_at")?,
        last_used: last_used.map(|day| day.midnight().assume_utc()),
        ordinal: column(row, "ordinal")?,
    })
}

/// Whether the row has a memory.
pub(super) fn has_memory(row: &Row) -> Result<bool, StoreError> {
    Ok(column::<Option<Uuid>>(row, "memory_id")?.is_some())
}

/// Today, as uses are kept.
pub(super) fn today() -> OffsetDateTime {
    OffsetDateTime::now_utc().replace_time(time::Time::MIDNIGHT)
}
