//! OpenMemory's backup: `memories.json`, an object with the user, apps, categories and
//! memories, and `memories.jsonl.gz`, which repeats the memories, one a line.

use std::collections::HashMap;

use memory_contract::limits;
use memory_contract::proto::Memory;
use serde_json::Value;

use super::fields::Fields;
use super::parts::string;
use super::reader::{Owner, Reader, memory_of};

/// Whether a document is a backup, or a line of `memories.jsonl.gz`.
pub(super) fn is_backup(json: &Value) -> bool {
    let is_whole = json["memories"].is_array()
        && (json.get("export_meta").is_some() || json.get("memory_categories").is_some());
    let is_line = json["content"].is_string()
        && json["state"].is_string()
        && json.get("categories").is_some()
        && json.get("role").is_none();
    is_whole || is_line
}

pub(super) fn read(reader: &mut Reader<'_>, json: Value) {
    let mut fields = match Fields::from_json(json) {
        Ok(fields) => fields,
        Err(problem) => return reader.put("", Err(problem)),
    };
    if !fields.has("memories") {
        let read = Names::default().memory(reader, "", fields);
        return read.unwrap_or_else(|problem| reader.put("", Err(problem)));
    }
    let user = fields.object("user").map(Value::Object).unwrap_or_default();
    let names = Names {
        user: Some(string(&user, &["user_id"]).to_owned()).filter(|user| !user.is_empty()),
        apps: names_of(fields.list("apps")),
        categories: names_of(fields.list("categories")),
    };
    let memories = fields.list("memories");
    reader.each("memories", memories, |reader, at, memory| {
        names.memory(reader, at, memory)
    });
    for (field, what) in [
        ("status_history", "changes of memories' states"),
        ("access_controls", "rules of access"),
    ] {
        let count = fields.list(field).len();
        reader.leave_out(what, count);
    }
}

fn names_of(items: Vec<Value>) -> HashMap<String, String> {
    let named = items.iter().map(|item| {
        let field = |name| string(item, &[name]).to_owned();
        (field("id"), field("name"))
    });
    named.collect()
}

/// What a backup says once for all of its memories.
#[derive(Default)]
struct Names {
    user: Option<String>,
    /// Names of apps and categories by their ids.
    apps: HashMap<String, String>,
    categories: HashMap<String, String>,
}

impl Names {
    fn memory(&self, reader: &mut Reader<'_>, at: &str, mut fields: Fields) -> Result<(), String> {
        let state = fields.text(&["state"]).unwrap_or_default();
        if state == "deleted" {
            reader.leave_out("deleted memories", 1);
            return Ok(());
        }
        let text = fields.text(&["content"]).ok_or("`content` is missing")?;
        let id = fields.text(&["id"]).ok_or("`id` is missing")?;
        let owner = Owner {
            app: reader.app(None),
            user: reader.user(self.user.clone()),
        };
        let created = fields.time(&["created_at"])?;
        let updated = fields.time(&["updated_at"])?;
        let archived = fields.time(&["archived_at"])?;
        let app = fields.text(&["app_id"]);
        let app = app.and_then(|id| self.apps.get(&id).cloned());
        let categories = fields.texts("category_ids").into_iter();
        let known = categories.filter_map(|id| self.categories.get(&id).cloned());
        let known: Vec<Value> = known.map(Value::String).collect();
        if !known.is_empty() {
            fields.keep("categories", Value::Array(known));
        }
        let topics = fields.labels("categories", limits::TOPICS, limits::TOPIC_CHARS);
        fields.discard(&["user_id", "deleted_at"]);
        if let Some(app) = app {
            fields.keep("app", Value::String(app));
        }
        let is_active = matches!(state.as_str(), "" | "active");
        if !is_active {
            fields.keep("state", Value::String(state));
        }
        fields.take_metadata();
        let memory = Memory {
            topics,
            create_time: created.or(updated),
            valid_from: if is_active {
                updated.or(created)
            } else {
                created
            },
            // Contexts take what holds now: neither archived nor paused memories.
            valid_until: (!is_active)
                .then(|| archived.or(updated).or(created))
                .flatten(),
            ..memory_of("openmemory", &owner, &id, text)
        };
        let metadata = reader.metadata(fields);
        reader.memory(at, Memory { metadata, ..memory });
        Ok(())
    }
}
