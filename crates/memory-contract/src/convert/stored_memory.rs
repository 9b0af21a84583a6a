//! Converts memories of an export, with their history.

use time::OffsetDateTime;

use super::memory::{all_of, ids_from, memory_of, origin_from};
use super::{policy::extraction_from, text_origin::EXTRACTIVE, timestamp_of};
use crate::{
    Invalid, InvalidFields, check, limits,
    memory::{Memory, MemoryOrigin, MemoryOwner, NewMemory},
    policy::ExtractionStrategy,
    proto,
};

/// Reads the memories of one import: 1 to 100 of one user. Every wrong field is
/// named, up to the first 20.
///
/// # Errors
/// Any field beyond its limit; then nothing may be stored.
pub fn stored_memories_from(
    field: &str,
    owner: &MemoryOwner,
    memories: Vec<proto::Memory>,
) -> Result<Vec<Memory>, InvalidFields> {
    all_of(field, memories, |field, memory| {
        stored_memory_from(owner, memory).map_err(|InvalidFields(problems)| {
            let problems = problems.into_iter();
            InvalidFields(problems.map(|invalid| invalid.within(field)).collect())
        })
    })
}

/// Reads one exported memory.
fn stored_memory_from(owner: &MemoryOwner, memory: proto::Memory) -> Result<Memory, InvalidFields> {
    let proto::Memory {
        memory_id,
        app_id: _,
        user_id: _,
        text,
        r#type,
        topics,
        entities,
        event_time,
        origin,
        external_id,
        thread_id,
        source_message_ids,
        pinned,
        valid_from,
        valid_until,
        superseded_by,
        create_time,
        update_time: _,
        persist_time: _,
        last_use_time,
        made_by,
        extraction_strategy,
        etag: _,
        metadata,
        built_on_memory_ids,
        known_until,
        kind,
        attributes,
    } = memory;
    let input = proto::MemoryInput {
        external_id,
        text,
        r#type,
        topics,
        entities,
        event_time,
        source_message_ids,
        pinned,
        metadata,
        kind,
        attributes,
    };
    let mut invalid = Vec::new();
    let new = memory_of(input).map_err(|InvalidFields(problems)| invalid.extend(problems));
    let mut take = Taker(&mut invalid);
    let id = take.get(check::uuid("memory_id", &memory_id));
    let origin = take.get(origin_from("origin", origin));
    let thread = take.get(check::optional_uuid("thread_id", &thread_id));
    let made_by = take.get(check::text("made_by", made_by, limits::MODEL_CHARS));
    let strategy = take.get(strategy_from(extraction_strategy, origin));
    let created = take.get(timestamp_of("create_time", create_time));
    let valid_from = take.get(timestamp_of("valid_from", valid_from));
    let valid_until = take.get(timestamp_of("valid_until", valid_until));
    let ended = timestamp_of("known_until", known_until);
    let ended = take.get(ended.and_then(|ended| match valid_until {
        Some(None) if ended.is_some() => Err(Invalid::new("known_until", "requires valid_until")),
        _ => Ok(ended),
    }));
    let last_used = take.get(timestamp_of("last_use_time", last_use_time));
    let successor = check::optional_uuid("superseded_by", &superseded_by);
    let superseded_by = take.get(successor.and_then(|successor| match valid_until {
        Some(None) if successor.is_some() => {
            Err(Invalid::new("superseded_by", "requires valid_until"))
        }
        _ => Ok(successor),
    }));
    let built_on = take.get(ids_from(
        "built_on_memory_ids",
        &built_on_memory_ids,
        limits::MEMORY_ANCESTORS,
    ));
    let (Ok(new), Some(id), Some(origin), Some(created)) = (new, id, origin, created) else {
        return Err(InvalidFields(invalid));
    };
    if !invalid.is_empty() {
        return Err(InvalidFields(invalid));
    }
    let NewMemory {
        record,
        text,
        kind,
        topics,
        entities,
        event,
        metadata,
        own_kind,
        attributes,
        sources,
        pinned,
    } = new;
    let created = created.unwrap_or_else(OffsetDateTime::now_utc);
    let valid_until = valid_until.flatten();
    Ok(Memory {
        id: id.into(),
        owner: owner.clone(),
        text,
        kind,
        topics,
        entities,
        event,
        metadata,
        own_kind,
        attributes,
        origin,
        record,
        thread: thread.flatten().map(Into::into),
        sources,
        built_on: built_on.unwrap_or_default(),
        pinned,
        valid_from: valid_from.flatten().unwrap_or(created),
        valid_until,
        // Another system's end of validity is mostly when it learned of it.
        ended: valid_until.map(|until| ended.flatten().unwrap_or(until.max(created))),
        superseded_by: superseded_by.flatten().map(Into::into),
        made_by: match made_by.unwrap_or_default() {
            by if by.is_empty() && origin == MemoryOrigin::Extracted => EXTRACTIVE.to_owned(),
            by => by,
        },
        strategy: strategy.flatten(),
        version: 1,
        created,
        updated: created,
        persisted: None,
        last_used: last_used.flatten(),
        ordinal: 0,
    })
}

/// Reads the strategy that extracted a memory; only memories of that origin may have one.
fn strategy_from(
    strategy: i32,
    origin: Option<MemoryOrigin>,
) -> Result<Option<ExtractionStrategy>, Invalid> {
    let wrong = |why| Err(Invalid::new("extraction_strategy", why));
    match (extraction_from("extraction_strategy", strategy), origin) {
        (Ok(Some(ExtractionStrategy::None)) | Err(_), _) => {
            wrong("must be EXTRACTION_STRATEGY_DISCRETE, _SUMMARY, _PREFERENCES or _CUSTOM")
        }
        (Ok(Some(_)), Some(MemoryOrigin::Caller | MemoryOrigin::WorkingMemory)) => {
            wrong("requires the origin MEMORY_ORIGIN_EXTRACTED")
        }
        (Ok(strategy), _) => Ok(strategy),
    }
}

/// Collects the errors of fields.
struct Taker<'a>(&'a mut Vec<Invalid>);

impl Taker<'_> {
    fn get<T>(&mut self, value: Result<T, Invalid>) -> Option<T> {
        value.map_err(|invalid| self.0.push(invalid)).ok()
    }
}
