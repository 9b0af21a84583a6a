//! What is made of a new message before anything is locked.

use std::sync::Arc;

use memory_contract::{Message, NewMessage, Parent, ThreadId};
use serde_json::{Map, Value};
use time::OffsetDateTime;

use super::search;
use crate::{CountedMessage, size, words};

/// Places of a message in maps: by id twice, by depth, and by seq.
const PLACES: usize = 4;

/// A message that only lacks its place.
pub(super) struct Prepared {
    pub(super) message: Message,
    pub(super) follows: Parent,
    pub(super) said: Option<OffsetDateTime>,
    pub(super) stored_bytes: i64,
    pub(super) words: Arc<[u64]>,
    pub(super) bytes: usize,
}

impl Prepared {
    pub(super) fn of(thread: ThreadId, counted: &CountedMessage) -> Self {
        let CountedMessage { message, tokens } = counted;
        let NewMessage {
            id,
            caller_chose_id: _,
            parent,
            role,
            name,
            parts,
            metadata,
            created,
        } = message;
        let parts_bytes = serde_json::to_vec(parts).map_or(0, |text| text.len());
        let stored_bytes = parts_bytes + object_bytes(metadata);
        let words = search::words(&words::of_message(name, parts));
        let message = Message {
            id: *id,
            thread,
            parent: None,
            seq: 0,
            branch: 0,
            depth: 0,
            role: *role,
            name: name.clone(),
            parts: parts.clone(),
            metadata: metadata.clone(),
            tokens: *tokens,
            created: OffsetDateTime::UNIX_EPOCH,
        };
        Self {
            bytes: entry_bytes(&message, words.len()),
            message,
            follows: *parent,
            said: created.map(micros),
            stored_bytes: i64::try_from(stored_bytes).unwrap_or(i64::MAX),
            words: words.into(),
        }
    }
}

/// What a message takes in memory.
pub(super) fn entry_bytes(message: &Message, words: usize) -> usize {
    size::of_message(message)
        + size_of::<super::conversation::Entry>()
        + words * size_of::<u64>()
        + PLACES * size::ENTRY
}

/// A time as exactly as the database keeps it.
pub(super) fn micros(time: OffsetDateTime) -> OffsetDateTime {
    time.replace_nanosecond(time.nanosecond() / 1_000 * 1_000)
        .unwrap_or(time)
}

/// Bytes of an object as Postgres writes `jsonb`: with a space after each colon
/// and comma.
fn object_bytes(object: &Map<String, Value>) -> usize {
    let entry = |(key, value): (&String, &Value)| plain_bytes(key) + 2 + value_bytes(value);
    2 + object.iter().map(entry).sum::<usize>() + 2 * object.len().saturating_sub(1)
}

fn value_bytes(value: &Value) -> usize {
    match value {
        Value::Array(values) => {
            2 + values.iter().map(value_bytes).sum::<usize>() + 2 * values.len().saturating_sub(1)
        }
        Value::Object(object) => object_bytes(object),
        other => plain_bytes(other),
    }
}

fn plain_bytes(value: &impl serde::Serialize) -> usize {
    serde_json::to_vec(value).map_or(0, |text| text.len())
}
