//! Converts long-term memories.

use prost_types::{FieldMask, Timestamp};
use time::OffsetDateTime;
use uuid::Uuid;

use super::filter::conditions_from;
use super::kind::{attributes_from, attributes_have_kind, kind_name_from};
use super::text_origin::EXTRACTIVE;
use super::update::{UpdateMask, nothing_to_change};
use super::{check_period, check_period_of, metadata_from, timestamp, timestamp_of};
use crate::{
    Fields, Invalid, InvalidFields, MessageId, check, limits,
    memory::{
        Memory, MemoryChange, MemoryFilter, MemoryOrigin, MemoryOwner, MemoryTimes, MemoryType,
        NewMemory,
    },
    proto,
};

/// Most wrong fields that an error names.
const NAMED: usize = 20;

/// Reads the memories of one request: 1 to 100. Every wrong field is named, up to
/// the first 20.
///
/// # Errors
/// Any field beyond its limit; then nothing may be stored.
pub fn memories_from(
    field: &str,
    inputs: Vec<proto::MemoryInput>,
) -> Result<Vec<NewMemory>, InvalidFields> {
    all_of(field, inputs, |field, input| {
        memory_from(field, Some(input))
    })
}

/// Reads 1 to 100 items with `read`, which is given the path of each.
pub(super) fn all_of<T, M>(
    field: &str,
    inputs: Vec<T>,
    read: impl Fn(&str, T) -> Result<M, InvalidFields>,
) -> Result<Vec<M>, InvalidFields> {
    if inputs.is_empty() || inputs.len() > limits::MEMORIES {
        let problem = format!("must be 1 to {}, are {}", limits::MEMORIES, inputs.len());
        return Err(Invalid::new(field, problem).into());
    }
    each_from(field, inputs, read)
}

/// Reads items with `read`, which is given the path of each. The error names the first 20
/// wrong fields.
pub(super) fn each_from<T, M>(
    field: &str,
    inputs: Vec<T>,
    read: impl Fn(&str, T) -> Result<M, InvalidFields>,
) -> Result<Vec<M>, InvalidFields> {
    let mut memories = Vec::with_capacity(inputs.len());
    let mut invalid = Vec::new();
    for (index, input) in inputs.into_iter().enumerate() {
        match read(&format!("{field}[{index}]"), input) {
            Ok(memory) => memories.push(memory),
            Err(InvalidFields(problems)) => invalid.extend(problems),
        }
        if invalid.len() >= NAMED {
            invalid.truncate(NAMED);
            break;
        }
    }
    match invalid.is_empty() {
        true => Ok(memories),
        false => Err(InvalidFields(invalid)),
    }
}

/// Reads one memory, and names every wrong field with the path below `field`.
///
/// # Errors
/// A missing memory, and fields beyond their limits.
pub fn memory_from(
    field: &str,
    input: Option<proto::MemoryInput>,
) -> Result<NewMemory, InvalidFields> {
    let input = input.ok_or_else(|| Invalid::missing(field))?;
    memory_of(input).map_err(|InvalidFields(problems)| {
        let problems = problems.into_iter();
        InvalidFields(problems.map(|invalid| invalid.within(field)).collect())
    })
}

pub(super) fn memory_of(input: proto::MemoryInput) -> Result<NewMemory, InvalidFields> {
    let proto::MemoryInput {
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
    } = input;
    let mut fields = Fields::default();
    let memory = NewMemory {
        record: fields.take(check::text(
            "external_id",
            external_id,
            limits::EXTERNAL_ID_CHARS,
        )),
        text: fields.take(text_from("text", text)),
        kind: fields.take(type_from("type", r#type)).unwrap_or_default(),
        topics: fields.take(topics_from("topics", topics)),
        entities: fields.take(entities_from("entities", entities)),
        event: fields.take(timestamp_of("event_time", event_time)),
        sources: fields.take(sources_from("source_message_ids", &source_message_ids)),
        metadata: fields.take(metadata_from("metadata", metadata)),
        own_kind: fields.take(kind_name_from("kind", kind)),
        attributes: fields.take(attributes_from("attributes", attributes)),
        pinned: pinned.unwrap_or_default(),
    };
    fields.take(attributes_have_kind(&memory.own_kind, &memory.attributes));
    fields.all(Some(memory))
}

/// The fields of a memory that an update can change.
const CHANGEABLE: &[&str] = &[
    "text",
    "type",
    "topics",
    "entities",
    "event_time",
    "pinned",
    "metadata",
    "kind",
    "attributes",
];

/// Reads the fields of a memory that a mask names; without a mask those that are set.
///
/// # Errors
/// No field to change, a path that cannot be changed, and values beyond their limits.
pub fn memory_change_from(
    memory: proto::Memory,
    mask: Option<FieldMask>,
) -> Result<MemoryChange, InvalidFields> {
    let mut fields = Fields::default();
    let mask = UpdateMask::read(&mut fields, mask, CHANGEABLE, |field| {
        is_set(&memory, field)
    })?;
    if mask.is_empty() && !mask.is_given() {
        return Err(nothing_to_change(CHANGEABLE).into());
    }
    let within = |invalid: Invalid| invalid.within("memory");
    let proto::Memory {
        text,
        r#type,
        topics,
        entities,
        event_time,
        pinned,
        metadata,
        kind,
        attributes,
        ..
    } = memory;
    let change = MemoryChange {
        text: mask
            .names("text")
            .then(|| fields.take(text_from("text", text).map_err(within))),
        kind: mask.names("type").then(|| {
            let kind = fields.take(type_from("type", r#type).map_err(within));
            kind.unwrap_or_default()
        }),
        topics: mask
            .names("topics")
            .then(|| fields.take(topics_from("topics", topics).map_err(within))),
        entities: mask
            .names("entities")
            .then(|| fields.take(entities_from("entities", entities).map_err(within))),
        event: mask
            .names("event_time")
            .then(|| fields.take(timestamp_of("event_time", event_time).map_err(within))),
        pinned: mask.names("pinned").then(|| pinned.unwrap_or_default()),
        metadata: mask
            .names("metadata")
            .then(|| fields.take(metadata_from("metadata", metadata).map_err(within))),
        own_kind: mask
            .names("kind")
            .then(|| fields.take(kind_name_from("kind", kind).map_err(within))),
        attributes: mask
            .names("attributes")
            .then(|| fields.take(attributes_from("attributes", attributes).map_err(within))),
    };
    fields.all(Some(change))
}

/// Whether a memory to update sets a field of [`CHANGEABLE`].
fn is_set(memory: &proto::Memory, field: &str) -> bool {
    match field {
        "text" => !memory.text.is_empty(),
        "type" => memory.r#type != 0,
        "topics" => !memory.topics.is_empty(),
        "entities" => !memory.entities.is_empty(),
        "event_time" => memory.event_time.is_some(),
        "metadata" => !memory.metadata.is_empty(),
        "kind" => !memory.kind.is_empty(),
        "attributes" => !memory.attributes.is_empty(),
        _ => memory.pinned.is_some(),
    }
}

/// Reads a filter without its thread; a missing one keeps every memory that is not superseded.
///
/// # Errors
/// Fields beyond their limits.
pub fn memory_filter_from(filter: Option<proto::MemoryFilter>) -> Result<MemoryFilter, Invalid> {
    let Some(filter) = filter else {
        return Ok(MemoryFilter::default());
    };
    let read = |filter: proto::MemoryFilter| -> Result<MemoryFilter, Invalid> {
        let proto::MemoryFilter {
            r#type,
            topics,
            entities,
            thread: _,
            origins,
            start_time,
            end_time,
            include_superseded,
            metadata,
            event_start_time,
            event_end_time,
            as_of,
            known_at,
            kinds,
        } = filter;
        let after = timestamp_of("start_time", start_time)?;
        let before = timestamp_of("end_time", end_time)?;
        check_period(after, before)?;
        let event_from = timestamp_of("event_start_time", event_start_time)?;
        let event_until = timestamp_of("event_end_time", event_end_time)?;
        check_period_of("event_", event_from, event_until)?;
        Ok(MemoryFilter {
            kind: type_from("type", r#type)?,
            own_kinds: labels(
                "kinds",
                kinds,
                limits::FILTER_KINDS,
                limits::KIND_NAME_CHARS,
            )?,
            topics: topics_from("topics", topics)?,
            entities: entities_from("entities", entities)?,
            thread: None,
            origins: origins_from("origins", &origins)?,
            after,
            before,
            metadata: conditions_from("metadata", metadata)?,
            event_from,
            event_until,
            times: memory_times_from(as_of, known_at)?,
            superseded: include_superseded,
        })
    };
    read(filter).map_err(|invalid| invalid.within("filter"))
}

/// Reads `as_of` and `known_at`; both unset mean now.
///
/// # Errors
/// A time beyond its limits.
pub fn memory_times_from(
    as_of: Option<Timestamp>,
    known_at: Option<Timestamp>,
) -> Result<MemoryTimes, Invalid> {
    Ok(MemoryTimes {
        valid_at: timestamp_of("as_of", as_of)?,
        known_at: timestamp_of("known_at", known_at)?,
    })
}

fn text_from(field: &str, text: String) -> Result<String, Invalid> {
    let text = check::required_text(field, text, limits::MEMORY_CHARS)?;
    match text.trim().is_empty() {
        true => Err(Invalid::new(field, "must have more than spaces")),
        false => Ok(text),
    }
}

fn topics_from(field: &str, topics: Vec<String>) -> Result<Vec<String>, Invalid> {
    labels(field, topics, limits::TOPICS, limits::TOPIC_CHARS)
}

fn entities_from(field: &str, entities: Vec<String>) -> Result<Vec<String>, Invalid> {
    labels(field, entities, limits::ENTITIES, limits::ENTITY_CHARS)
}

/// Removes duplicates and keeps the order.
fn labels(
    field: &str,
    labels: Vec<String>,
    most: usize,
    chars: usize,
) -> Result<Vec<String>, Invalid> {
    if labels.len() > most {
        return Err(Invalid::new(field, format!("must be at most {most}")));
    }
    let mut read: Vec<String> = Vec::with_capacity(labels.len());
    for (index, label) in labels.into_iter().enumerate() {
        let label = check::required_text(&format!("{field}[{index}]"), label, chars)?;
        if !read.contains(&label) {
            read.push(label);
        }
    }
    Ok(read)
}

fn sources_from(field: &str, sources: &[String]) -> Result<Vec<MessageId>, Invalid> {
    ids_from(field, sources, limits::MEMORY_SOURCES)
}

/// Reads at most `max` ids.
pub(super) fn ids_from<T: From<Uuid>>(
    field: &str,
    ids: &[String],
    max: usize,
) -> Result<Vec<T>, Invalid> {
    if ids.len() > max {
        return Err(Invalid::new(field, format!("must be at most {max}")));
    }
    ids.iter()
        .enumerate()
        .map(|(index, id)| check::uuid(&format!("{field}[{index}]"), id).map(Into::into))
        .collect()
}

/// Reads a type; unspecified is `None`.
fn type_from(field: &str, number: i32) -> Result<Option<MemoryType>, Invalid> {
    match proto::MemoryType::try_from(number) {
        Ok(proto::MemoryType::Unspecified) => Ok(None),
        Ok(proto::MemoryType::Semantic) => Ok(Some(MemoryType::Semantic)),
        Ok(proto::MemoryType::Episodic) => Ok(Some(MemoryType::Episodic)),
        Err(_) => Err(Invalid::new(
            field,
            "must be MEMORY_TYPE_SEMANTIC or _EPISODIC",
        )),
    }
}

/// Removes duplicates and keeps the order.
fn origins_from(field: &str, origins: &[i32]) -> Result<Vec<MemoryOrigin>, Invalid> {
    if origins.len() > limits::ORIGINS {
        return Err(Invalid::new(
            field,
            format!("must be at most {}", limits::ORIGINS),
        ));
    }
    let mut read = Vec::new();
    for origin in origins {
        let origin = origin_from(field, *origin)?;
        if !read.contains(&origin) {
            read.push(origin);
        }
    }
    Ok(read)
}

pub(super) fn origin_from(field: &str, number: i32) -> Result<MemoryOrigin, Invalid> {
    match proto::MemoryOrigin::try_from(number) {
        Ok(proto::MemoryOrigin::Caller) => Ok(MemoryOrigin::Caller),
        Ok(proto::MemoryOrigin::WorkingMemory) => Ok(MemoryOrigin::WorkingMemory),
        Ok(proto::MemoryOrigin::Extracted) => Ok(MemoryOrigin::Extracted),
        Ok(proto::MemoryOrigin::Unspecified) | Err(_) => Err(Invalid::new(
            field,
            "must be MEMORY_ORIGIN_CALLER, _WORKING_MEMORY or _EXTRACTED",
        )),
    }
}

impl From<MemoryType> for proto::MemoryType {
    fn from(kind: MemoryType) -> Self {
        match kind {
            MemoryType::Semantic => Self::Semantic,
            MemoryType::Episodic => Self::Episodic,
        }
    }
}

impl From<MemoryOrigin> for proto::MemoryOrigin {
    fn from(origin: MemoryOrigin) -> Self {
        match origin {
            MemoryOrigin::Caller => Self::Caller,
            MemoryOrigin::WorkingMemory => Self::WorkingMemory,
            MemoryOrigin::Extracted => Self::Extracted,
        }
    }
}

impl From<Memory> for proto::Memory {
    fn from(memory: Memory) -> Self {
        let etag = memory.etag();
        let Memory {
            id,
            owner: MemoryOwner { app, user },
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
            thread,
            sources,
            built_on,
            pinned,
            valid_from,
            valid_until,
            ended,
            superseded_by,
            made_by,
            strategy,
            version: _,
            created,
            updated,
            persisted,
            last_used,
            ordinal: _,
        } = memory;
        let time = |time: Option<OffsetDateTime>| time.map(timestamp);
        Self {
            memory_id: id.to_string(),
            app_id: app.into(),
            user_id: user.into(),
            text,
            r#type: proto::MemoryType::from(kind).into(),
            topics,
            entities,
            event_time: time(event),
            origin: proto::MemoryOrigin::from(origin).into(),
            external_id: record,
            thread_id: thread.map(|id| id.to_string()).unwrap_or_default(),
            source_message_ids: sources.iter().map(ToString::to_string).collect(),
            pinned: Some(pinned),
            valid_from: Some(timestamp(valid_from)),
            valid_until: time(valid_until),
            superseded_by: superseded_by.map(|id| id.to_string()).unwrap_or_default(),
            create_time: Some(timestamp(created)),
            update_time: Some(timestamp(updated)),
            persist_time: time(persisted),
            last_use_time: time(last_used),
            made_by: Some(made_by)
                .filter(|by| by != EXTRACTIVE)
                .unwrap_or_default(),
            extraction_strategy: strategy.map_or(0, |strategy| {
                proto::ExtractionStrategy::from(strategy).into()
            }),
            etag,
            metadata: metadata.into_text(),
            built_on_memory_ids: built_on.iter().map(ToString::to_string).collect(),
            known_until: time(ended),
            kind: own_kind,
            attributes: attributes.into_text(),
        }
    }
}
