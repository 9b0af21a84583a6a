//! Zep: users, threads (or sessions) with their messages, edges (or facts) and nodes of the
//! graph, as its API returns them. Fields of the API's versions 2 to 4 are known.

use std::collections::HashMap;

use memory_contract::limits;
use memory_contract::proto::{Memory, MemoryOrigin, SessionRef};
use serde_json::{Map, Value};

use super::fields::Fields;
use super::reader::{Owner, Reader, memory_of, message_of};
use crate::ids::thread_key;

/// Fields of a document that are read, with what they are called where they are left out.
const LEFT_OUT: [(&str, &str); 4] = [
    ("thread_summaries", "summaries of threads"),
    ("episodes", "episodes of the graph"),
    ("communities", "communities of the graph"),
    ("relevant_facts", "search results"),
];

pub(super) fn read(reader: &mut Reader<'_>, json: Value) {
    if let Value::Array(items) = json {
        for item in items {
            read(reader, item);
        }
        return;
    }
    let mut fields = match Fields::from_json(json) {
        Ok(fields) => fields,
        Err(problem) => return reader.put("", Err(problem)),
    };
    let user = fields.object("user").and_then(|user| user_of(reader, user));
    let mut graph = Graph {
        owner: Owner {
            app: reader.app(None),
            user: reader.user(user.or_else(|| fields.text(&["user_id"]))),
        },
        names: HashMap::new(),
        messages: HashMap::new(),
    };
    // A thread or a fact by itself is a document too.
    if fields.has("messages") && !fields.has("threads") && !fields.has("sessions") {
        if let Err(problem) = graph.thread(reader, "", fields) {
            reader.put("", Err(problem));
        }
        return;
    }
    if fields.has("fact") {
        if let Err(problem) = graph.fact(reader, "", fields) {
            reader.put("", Err(problem));
        }
        return;
    }
    let lists = [
        "threads",
        "sessions",
        "edges",
        "facts",
        "nodes",
        "observations",
    ];
    if !lists.iter().any(|list| fields.has(list)) {
        let problem = "it has no threads, edges or nodes".to_owned();
        return reader.put("", Err(problem));
    }
    let nodes = fields.list("nodes");
    for node in &nodes {
        if let (Some(uuid), Some(name)) = (node["uuid"].as_str(), node["name"].as_str()) {
            graph.names.insert(uuid.to_owned(), name.to_owned());
        }
    }
    for list in ["threads", "sessions"] {
        let items = fields.list(list);
        reader.each(list, items, |reader, at, item| {
            graph.thread(reader, at, item)
        });
    }
    for list in ["edges", "facts"] {
        let items = fields.list(list);
        reader.each(list, items, |reader, at, item| graph.fact(reader, at, item));
    }
    reader.each("nodes", nodes, |reader, at, item| {
        graph.node(reader, at, item)
    });
    let observations = fields.list("observations");
    reader.each("observations", observations, |reader, at, item| {
        graph.node(reader, at, item)
    });
    for (list, what) in LEFT_OUT {
        let count = fields.list(list).len();
        reader.leave_out(what, count);
    }
}

/// The id of a user. The profile has no place here.
fn user_of(reader: &mut Reader<'_>, user: Map<String, Value>) -> Option<String> {
    let mut user = Fields::from_json(Value::Object(user)).ok()?;
    let (own, uuid) = (user.text(&["user_id"]), user.text(&["uuid", "uuid_"]));
    let profile = ["first_name", "last_name", "email", "metadata"];
    let has_profile = profile.iter().any(|name| user.has(name));
    reader.leave_out("profiles of users", usize::from(has_profile));
    own.or(uuid)
}

/// What a document has of one user.
struct Graph {
    owner: Owner,
    /// The names of nodes by their ids.
    names: HashMap<String, String>,
    /// Messages by the ids that they have in Zep: their id here, and their thread's key.
    messages: HashMap<String, (String, String)>,
}

impl Graph {
    fn thread(
        &mut self,
        reader: &mut Reader<'_>,
        at: &str,
        mut fields: Fields,
    ) -> Result<(), String> {
        let key = fields.text(&["thread_id", "session_id", "uuid", "uuid_"]);
        let user = fields.text(&["user_id"]);
        let session = SessionRef {
            app_id: self.owner.app.clone(),
            user_id: match user {
                Some(user) => user,
                None if !self.owner.user.is_empty() => self.owner.user.clone(),
                None => fields.text(&["user_uuid"]).unwrap_or_default(),
            },
            session_key: key.ok_or("`thread_id` is missing")?,
            agent_session_key: String::new(),
        };
        let messages = match fields.object("messages") {
            // A page of the API.
            Some(page) => {
                let mut page = Fields::from_json(Value::Object(page))?;
                let list = if page.has("items") {
                    "items"
                } else {
                    "messages"
                };
                page.list(list)
            }
            None => fields.list("messages"),
        };
        let summary = usize::from(fields.has("summary"));
        reader.leave_out("summaries of threads", summary);
        let facts = fields.list("facts").len();
        reader.leave_out("facts repeated in a session", facts);
        fields.discard(&[
            "summary",
            "context",
            "graph_uuid",
            "project_uuid",
            "user_uuid",
        ]);
        fields.take_metadata();
        let metadata = reader.metadata(fields);
        reader.session(at, &session, metadata);
        let list = match at {
            "" => "messages".to_owned(),
            at => format!("{at}.messages"),
        };
        reader.each(&list, messages, |reader, at, item| {
            self.message(reader, at, &session, item)
        });
        Ok(())
    }

    fn message(
        &mut self,
        reader: &mut Reader<'_>,
        at: &str,
        session: &SessionRef,
        mut fields: Fields,
    ) -> Result<(), String> {
        let text = fields.text(&["content"]).ok_or("`content` is missing")?;
        let id = fields.text(&["uuid", "uuid_"]);
        // Version 2 has the kind of speaker in `role_type`, and the name in `role`.
        let (said_by, name) = match fields.text(&["role_type"]) {
            Some(kind) => (Some(kind), fields.text(&["role"])),
            None => (fields.text(&["role"]), fields.text(&["name"])),
        };
        let said_by = said_by.ok_or("`role` is missing")?;
        let create_time = fields.time(&["reference_time", "created_at"])?;
        fields.discard(&[
            "created_at",
            "processed",
            "token_count",
            "updated_at",
            "thread_uuid",
        ]);
        fields.take_metadata();
        let (mut message, unknown) = message_of(session, id.clone(), &said_by, text);
        if let Some(unknown) = unknown {
            fields.keep("role", Value::String(unknown));
        }
        (message.name, message.create_time) = (name.unwrap_or_default(), create_time);
        message.metadata = reader.metadata(fields);
        if let Some(id) = id {
            let place = (message.message_id.clone(), thread_key(session));
            self.messages.insert(id, place);
        }
        reader.message(at, session, message);
        Ok(())
    }

    fn fact(
        &mut self,
        reader: &mut Reader<'_>,
        at: &str,
        mut fields: Fields,
    ) -> Result<(), String> {
        let text = fields
            .text(&["fact", "content"])
            .ok_or("`fact` is missing")?;
        let id = fields.text(&["uuid", "uuid_"]).ok_or("`uuid` is missing")?;
        let created = fields.time(&["created_at"])?;
        let valid_from = fields.time(&["valid_at"])?.or(created);
        let invalid = fields.time(&["invalid_at"])?;
        let known_until = fields.time(&["expired_at"])?;
        let owner = self.owner_of(&mut fields);
        let mut entities = Vec::new();
        for end in ["source_node", "target_node"] {
            let named = fields.text(&[&format!("{end}_name")]);
            let uuid = fields.text(&[&format!("{end}_uuid")]);
            let known = uuid.as_ref().and_then(|uuid| self.names.get(uuid).cloned());
            if let Some(uuid) = uuid {
                fields.keep(&format!("{end}_uuid"), Value::String(uuid));
            }
            let name = named.or(known);
            entities.extend(name.filter(|name| name.chars().count() <= limits::ENTITY_CHARS));
        }
        entities.dedup();
        let relation = fields.text(&["name"]);
        let memory = Memory {
            topics: relation
                .filter(|name| name.chars().count() <= limits::TOPIC_CHARS)
                .into_iter()
                .collect(),
            entities,
            create_time: created.or(valid_from),
            valid_from,
            valid_until: invalid.or(known_until),
            known_until,
            ..memory_of("zep", &owner, &id, text)
        };
        let memory = self.with_sources(reader, fields, memory);
        reader.memory(at, memory);
        Ok(())
    }

    /// An entity or an observation with a summary.
    fn node(
        &mut self,
        reader: &mut Reader<'_>,
        at: &str,
        mut fields: Fields,
    ) -> Result<(), String> {
        let Some(summary) = fields.text(&["summary"]) else {
            reader.leave_out("nodes without a summary", 1);
            return Ok(());
        };
        let id = fields.text(&["uuid", "uuid_"]).ok_or("`uuid` is missing")?;
        let name = fields.text(&["name"]).unwrap_or_default();
        let text = match name.is_empty() || summary.contains(&name) {
            true => summary,
            false => format!("{name}: {summary}"),
        };
        let owner = self.owner_of(&mut fields);
        let created = fields.time(&["created_at"])?;
        let memory = Memory {
            topics: fields.labels("labels", limits::TOPICS, limits::TOPIC_CHARS),
            entities: Some(name)
                .filter(|name| !name.is_empty() && name.chars().count() <= limits::ENTITY_CHARS)
                .into_iter()
                .collect(),
            create_time: created,
            valid_from: created,
            ..memory_of("zep", &owner, &id, text)
        };
        fields.discard(&["degree", "episode_uuids_truncated"]);
        let memory = self.with_sources(reader, fields, memory);
        reader.memory(at, memory);
        Ok(())
    }

    fn owner_of(&self, fields: &mut Fields) -> Owner {
        let uuid = fields.text(&["user_uuid"]);
        match self.owner.user.is_empty() {
            true => Owner {
                app: self.owner.app.clone(),
                user: uuid.unwrap_or_default(),
            },
            false => self.owner.clone(),
        }
    }

    /// The memory with the messages that it came from, and with all that is left as metadata.
    fn with_sources(&self, reader: &mut Reader<'_>, mut fields: Fields, memory: Memory) -> Memory {
        let mut episodes = fields.texts("episode_uuids");
        episodes.extend(fields.texts("episodes"));
        let (mut sources, mut others, mut thread_id) = (Vec::new(), Vec::new(), String::new());
        for episode in episodes {
            match self.messages.get(&episode) {
                Some((message, thread)) if sources.len() < limits::MEMORY_SOURCES => {
                    if thread_id.is_empty() {
                        thread_id.clone_from(thread);
                    }
                    sources.push(message.clone());
                }
                _ => others.push(Value::String(episode)),
            }
        }
        fields.keep("episode_uuids", Value::Array(others));
        fields.discard(&["score", "relevance", "graph_uuid", "scope"]);
        fields.take_metadata();
        let is_extracted = !sources.is_empty();
        Memory {
            origin: match is_extracted {
                true => MemoryOrigin::Extracted.into(),
                false => memory.origin,
            },
            made_by: if is_extracted {
                "zep".to_owned()
            } else {
                String::new()
            },
            source_message_ids: sources,
            thread_id,
            metadata: reader.metadata(fields),
            ..memory
        }
    }
}
