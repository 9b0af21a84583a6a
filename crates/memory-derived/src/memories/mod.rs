//! Long-term memories.

mod extract;
mod forget;
mod hold;
mod indexing;
mod owners;
mod read;
mod rows;
mod transfer;
mod use_queue;
mod uses;
mod write;

use memory_contract::{
    MemoryId, ThreadId, json::JsonObject, key::KeyScope, memory::Memory, revision::Revision,
};
use memory_database::{StoreError, rows::column, words};
use memory_postgres::Caller;
use serde_json::{Value, json};
use tokio_postgres::Row;
use uuid::Uuid;

pub use extract::{Extracted, Extraction, Fact, Unextracted};
pub use forget::{Forget, Forgotten};
pub use hold::{HeldMemories, HeldMemory};
pub use indexing::MemoryRecord;
pub use owners::MemoryOwners;
pub use read::{MemoryMatch, MemoryWithHistory};
pub(crate) use rows::memory as memory_of;
pub use transfer::{ImportedMemories, ImportedMemory, MemoryPlace};
pub use use_queue::Uses;
pub(crate) use use_queue::describe_metrics;
pub use write::{AddedMemories, AddedMemory, ChangedMemory, DeletedMemory, SupersededMemory};
pub(crate) use write::{index as index_of, new_item, scope_of};

/// Reads a change from the columns `queue, revision`. The queue is one user's, and takes
/// the place of the thread; null means that no change waits for the index.
fn revision(row: &Row) -> Result<Revision, StoreError> {
    let queue: Option<Uuid> = column(row, "queue")?;
    let change: Option<i64> = column(row, "revision")?;
    Ok(Revision {
        thread: ThreadId::from(queue.unwrap_or_default()),
        change: change.unwrap_or_default(),
    })
}

/// The one that comes later.
fn newer(one: Revision, other: Revision) -> Revision {
    match one.change < other.change {
        true => other,
        false => one,
    }
}

/// Microseconds since 1970.
fn micros(time: time::OffsetDateTime) -> i64 {
    i64::try_from(time.unix_timestamp_nanos() / 1_000).unwrap_or_default()
}

/// Items as SQL functions take them. The first one says whether the caller may not erase:
/// see `memory-database/functions/memories/check_count.sql`.
pub(crate) fn items(caller: &Caller, items: impl Iterator<Item = Value>) -> Vec<Value> {
    let mut items: Vec<Value> = items.collect();
    if let Some(first) = items.first_mut()
        && !caller.scopes.allow(KeyScope::Delete)
    {
        first["keep_others"] = true.into();
    }
    items
}

/// A memory as `put_memory` takes it.
pub(crate) struct Item<'a> {
    id: MemoryId,
    record: &'a str,
    text: &'a str,
    kind: memory_contract::memory::MemoryType,
    topics: &'a [String],
    entities: &'a [String],
    event: Option<time::OffsetDateTime>,
    /// `None` for one without metadata.
    metadata: Option<&'a JsonObject>,
    own_kind: &'a str,
    attributes: &'a JsonObject,
    sources: Vec<Uuid>,
    supersedes: Vec<Uuid>,
    pinned: bool,
}

impl Item<'_> {
    pub(crate) fn json(&self) -> Value {
        json!({
            "id": self.id.uuid(),
            "record": self.record,
            "text": self.text,
            "words": self.words(),
            "hash": self.hash(),
            "type": self.kind.as_str(),
            "topics": self.topics,
            "entities": self.entities,
            "event": self.event.map(micros),
            "metadata": self.metadata.map_or("{}", JsonObject::as_str),
            "kind": self.own_kind,
            "attributes": self.attributes.as_str(),
            "sources": self.sources,
            "supersedes": self.supersedes,
            "pinned": self.pinned,
        })
    }

    /// The words that text search finds it by.
    fn words(&self) -> String {
        let labels = self.topics.iter().chain(self.entities);
        let mut text = self.text.to_owned();
        for label in labels {
            text.push('\n');
            text.push_str(label);
        }
        words::of_document(&text)
    }

    fn hash(&self) -> String {
        hex::encode(words::digest(&[&memory_contract::memory::normalized(
            self.text,
        )]))
    }
}

fn uuids(ids: &[MemoryId]) -> Vec<Uuid> {
    ids.iter().map(|id| id.uuid()).collect()
}

/// A memory as an item of `put_memory`, without the ids of other rows.
fn item_of(memory: &Memory) -> Item<'_> {
    Item {
        id: memory.id,
        record: &memory.record,
        text: &memory.text,
        kind: memory.kind,
        topics: &memory.topics,
        entities: &memory.entities,
        event: memory.event,
        metadata: Some(&memory.metadata),
        own_kind: &memory.own_kind,
        attributes: &memory.attributes,
        sources: Vec::new(),
        supersedes: Vec::new(),
        pinned: memory.pinned,
    }
}
