//! mem0: what `Memory.get_all` and `MemoryClient.get_all` return, with the changes of each
//! memory in `history` if they were added.

use memory_contract::limits;
use memory_contract::proto::Memory;
use prost_types::Timestamp;
use serde_json::Value;

use super::fields::Fields;
use super::parts::list;
use super::reader::{Owner, Reader, derived_id, memory_of};

/// Fields that mem0 computes.
const COMPUTED: [&str; 4] = ["hash", "score", "text_lemmatized", "embedding"];

/// Whether a document is a memory, or a page of them.
pub(super) fn is_memory(json: &Value) -> bool {
    let is_one = |json: &Value| {
        let has_owner = ["user_id", "hash", "id"]
            .iter()
            .any(|name| json.get(*name).is_some());
        json["memory"].is_string() && has_owner
    };
    let begins = |name: &str| list(json, name).first().is_some_and(is_one);
    is_one(json) || begins("results") || begins("memories")
}

pub(super) fn read(reader: &mut Reader<'_>, json: Value) {
    let mut fields = match json {
        Value::Array(items) => return reader.each("", items, memory),
        other => match Fields::from_json(other) {
            Ok(fields) => fields,
            Err(problem) => return reader.put("", Err(problem)),
        },
    };
    let list = ["results", "memories"]
        .into_iter()
        .find(|name| fields.has(name));
    match list {
        Some(list) => {
            let items = fields.list(list);
            reader.each(list, items, memory);
            let relations = fields.list("relations").len();
            reader.leave_out("relations of the graph store", relations);
        }
        None => {
            if let Err(problem) = memory(reader, "", fields) {
                reader.put("", Err(problem));
            }
        }
    }
}

fn memory(reader: &mut Reader<'_>, at: &str, mut fields: Fields) -> Result<(), String> {
    let text = fields
        .text(&["memory", "text", "data"])
        .ok_or("`memory` is missing")?;
    let owner = Owner {
        app: reader.app(fields.text(&["app_id"])),
        user: reader.user(fields.text(&["user_id"])),
    };
    let id = fields.text(&["id"]);
    let id = id.unwrap_or_else(|| derived_id(&["mem0", &owner.app, &owner.user, &text]));
    let created = fields.time(&["created_at"])?;
    let updated = fields.time(&["updated_at"])?;
    let mut changes = changes(fields.list("history"))?;
    let expires = usize::from(fields.has("expiration_date"));
    reader.leave_out("expiration dates (kept as metadata)", expires);
    fields.discard(&COMPUTED);
    fields.take_metadata();
    let mut memory = Memory {
        topics: fields.labels("categories", limits::TOPICS, limits::TOPIC_CHARS),
        pinned: Some(fields.flag("immutable")),
        create_time: created.or(updated),
        valid_from: changes
            .last()
            .map(|change| change.at)
            .or(updated)
            .or(created),
        ..memory_of("mem0", &owner, &id, text)
    };
    memory.metadata = reader.metadata(fields);

    // Earlier texts end where the next one begins.
    let mut successor = memory.memory_id.clone();
    let mut earlier = Vec::new();
    while let Some(change) = changes.pop() {
        let begin = changes.last().map(|change| change.at).or(created);
        let old = Memory {
            external_id: String::new(),
            create_time: created.or(Some(change.at)),
            valid_from: begin.or(Some(change.at)),
            valid_until: Some(change.at),
            metadata: memory.metadata.clone(),
            ..memory_of("mem0", &owner, &change.id, change.old)
        };
        let superseded_by = std::mem::replace(&mut successor, old.memory_id.clone());
        earlier.push(Memory {
            superseded_by,
            ..old
        });
    }
    reader.memory(at, memory);
    for memory in earlier {
        reader.memory(at, memory);
    }
    Ok(())
}

/// A text that was replaced.
struct Change {
    id: String,
    old: String,
    at: Timestamp,
}

/// The updates of a memory, the oldest first.
fn changes(history: Vec<Value>) -> Result<Vec<Change>, String> {
    let mut changes = Vec::new();
    for entry in history {
        let mut entry = Fields::from_json(entry)?;
        let is_update = entry.text(&["event"]).as_deref() == Some("UPDATE");
        let old = entry.text(&["old_memory", "previous_value"]);
        let at = entry.time(&["updated_at", "created_at"])?;
        if let (true, Some(id), Some(old), Some(at)) = (is_update, entry.text(&["id"]), old, at) {
            changes.push(Change { id, old, at });
        }
    }
    changes.sort_by_key(|change| (change.at.seconds, change.at.nanos));
    Ok(changes)
}
