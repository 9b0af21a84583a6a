//! Redis's agent memory server: working memories and long-term memory records, as its API
//! returns them.

use memory_contract::limits;
use memory_contract::proto::{
    Memory, MemoryOrigin, MemoryType, Message, MessageInput, Precondition, PutWorkingMemoryRequest,
    SessionRef, precondition::State,
};
use prost::Message as _;
use prost_types::Duration;
use serde_json::Value;

use super::fields::Fields;
use super::reader::{Owner, Reader, memory_of, message_id, message_of};
use crate::ids::thread_key;
use crate::record::ImportRecord;
use crate::values::object_text;

/// Fields that the server computes.
const COMPUTED: [&str; 7] = [
    "tokens",
    "last_accessed",
    "context_percentage_total_used",
    "context_percentage_until_summarization",
    "new_session",
    "unsaved",
    "total",
];
/// Fields of records that the server computes, or that say how far it is.
const STATE: [&str; 6] = [
    "memory_hash",
    "discrete_memory_extracted",
    "persisted_at",
    "access_count",
    "dist",
    "score",
];
/// Fields with lists of working memories and records.
const LISTS: [&str; 4] = ["sessions", "working_memory", "memories", "long_term_memory"];
const NOTHING: &str = "it has no sessions or records of Redis's agent memory server";
/// Bytes of the messages that are put with their working memory; others follow.
const PUT_BYTES: usize = 2 * 1024 * 1024;

pub(super) fn read(reader: &mut Reader<'_>, json: Value) {
    let is_empty = matches!(&json, Value::Array(items) if items.is_empty());
    let mut found = Found::default();
    found.sort(json);
    let Found {
        sessions,
        records,
        others,
    } = found;
    if others > 0 || is_empty {
        reader.put("", Err(NOTHING.to_owned()));
    }
    // Sessions first: records name them.
    reader.each("sessions", sessions, working_memory);
    reader.each("memories", records, |reader, at, fields| {
        let memory = record(reader, fields, None)?;
        reader.memory(at, memory);
        Ok(())
    });
}

/// The content of a document.
#[derive(Default)]
struct Found {
    /// Working memories.
    sessions: Vec<Value>,
    records: Vec<Value>,
    /// Objects that are neither and have none.
    others: usize,
}

impl Found {
    fn sort(&mut self, json: Value) {
        match json {
            Value::Array(items) => items.into_iter().for_each(|item| self.sort(item)),
            Value::Object(fields) if is_session(&fields) => {
                self.sessions.push(Value::Object(fields));
            }
            Value::Object(mut fields) if !is_record(&fields) => {
                let lists = LISTS.map(|list| fields.remove(list));
                let lists: Vec<Value> = lists.into_iter().flatten().collect();
                if lists.is_empty() {
                    self.others += 1;
                }
                let lists = lists.into_iter();
                let lists = lists.filter(|list| list.is_array() || list.is_object());
                lists.for_each(|list| self.sort(list));
            }
            // Reading another value as a record reports that it lacks its text.
            other => self.records.push(other),
        }
    }
}

fn is_record(fields: &serde_json::Map<String, Value>) -> bool {
    fields.contains_key("text")
}

fn is_session(fields: &serde_json::Map<String, Value>) -> bool {
    fields.contains_key("session_id") && !is_record(fields)
}

fn working_memory(reader: &mut Reader<'_>, at: &str, mut fields: Fields) -> Result<(), String> {
    let session = SessionRef {
        app_id: reader.app(fields.text(&["namespace"])),
        user_id: reader.user(fields.text(&["user_id"])),
        session_key: fields
            .text(&["session_id"])
            .ok_or("`session_id` is missing")?,
        agent_session_key: String::new(),
    };
    let summary = fields.text(&["context"]);
    let data = fields.object("data").filter(|data| !data.is_empty());
    let ttl = fields.number("ttl_seconds").filter(|seconds| *seconds > 0);
    let strategy = fields.object("long_term_memory_strategy");
    let strategy =
        strategy.and_then(|strategy| strategy.get("strategy")?.as_str().map(str::to_owned));
    let is_default = strategy.is_none_or(|name| name == "discrete");
    reader.leave_out(
        "extraction strategies (set the policy of the app)",
        usize::from(!is_default),
    );
    let (messages, memories) = (fields.list("messages"), fields.list("memories"));
    fields.discard(&COMPUTED);
    let metadata = reader.metadata(fields);
    reader.session(at, &session, metadata);

    let mut listed = Vec::new();
    reader.each(&format!("{at}.memories"), memories, |reader, at, item| {
        let memory = record(reader, item, Some(&session))?;
        // By its external_id: its UUID is that of the import, which follows.
        listed.push(Memory {
            memory_id: String::new(),
            source_message_ids: Vec::new(),
            ..memory.clone()
        });
        reader.memory(at, memory);
        Ok(())
    });
    let mut said = Vec::new();
    reader.each(&format!("{at}.messages"), messages, |reader, at, item| {
        let message = message(reader, &session, item)?;
        said.push((at.to_owned(), message));
        Ok(())
    });
    let has_more = summary.is_some() || data.is_some() || ttl.is_some() || !listed.is_empty();
    let first = if has_more { put_together(&said) } else { 0 };
    if has_more {
        let request = PutWorkingMemoryRequest {
            thread: Some(session.clone().into()),
            messages: said
                .drain(..first)
                .map(|(_, message)| put_of(message))
                .collect(),
            summary,
            memories: listed,
            data: data.as_ref().map(object_text),
            ttl: ttl.map(|seconds| Duration { seconds, nanos: 0 }),
            precondition: Some(Precondition {
                state: Some(State::Absent(())),
            }),
            ..Default::default()
        };
        reader.put(at, Ok(ImportRecord::WorkingMemory(Box::new(request))));
    }
    for (at, message) in said {
        reader.message(&at, &session, message);
    }
    Ok(())
}

/// How many messages fit into the request that puts the working memory.
fn put_together(messages: &[(String, MessageInput)]) -> usize {
    let mut bytes = 0;
    let fit = messages
        .iter()
        .take(limits::WORKING_MESSAGES)
        .take_while(|(_, message)| {
            bytes += message.encoded_len() + 64;
            bytes <= PUT_BYTES
        });
    fit.count()
}

fn message(
    reader: &mut Reader<'_>,
    session: &SessionRef,
    mut fields: Fields,
) -> Result<MessageInput, String> {
    let text = fields.text(&["content"]).ok_or("`content` is missing")?;
    let said_by = fields.text(&["role"]).ok_or("`role` is missing")?;
    let id = fields.text(&["id"]);
    let create_time = fields.time(&["created_at"])?;
    fields.discard(&STATE);
    fields.take_metadata();
    let (message, unknown) = message_of(session, id, &said_by, text);
    if let Some(unknown) = unknown {
        fields.keep("role", Value::String(unknown));
    }
    Ok(MessageInput {
        create_time,
        metadata: reader.metadata(fields),
        ..message
    })
}

/// A record; a record of a working memory belongs to its session.
fn record(
    reader: &mut Reader<'_>,
    mut fields: Fields,
    listed_in: Option<&SessionRef>,
) -> Result<Memory, String> {
    let text = fields.text(&["text"]).ok_or("`text` is missing")?;
    let id = fields.text(&["id", "id_"]).ok_or("`id` is missing")?;
    let (namespace, user) = (fields.text(&["namespace"]), fields.text(&["user_id"]));
    let named = fields.text(&["session_id"]);
    let session = match (listed_in, named) {
        (Some(session), _) => Some(session.clone()),
        (None, named) => named.map(|session_key| SessionRef {
            app_id: reader.app(namespace.clone()),
            user_id: reader.user(user.clone()),
            session_key,
            agent_session_key: String::new(),
        }),
    };
    let owner = match &session {
        Some(session) => Owner {
            app: session.app_id.clone(),
            user: session.user_id.clone(),
        },
        None => Owner {
            app: reader.app(namespace),
            user: reader.user(user),
        },
    };
    let kind = fields.text(&["memory_type"]);
    if kind.as_deref() == Some("message") {
        fields.keep("memory_type", "message".into());
    }
    let extracted_from = fields.texts("extracted_from");
    let sources: Vec<String> = match (&session, listed_in) {
        // Its messages are stored after it.
        (Some(session), None) => extracted_from
            .iter()
            .take(limits::MEMORY_SOURCES)
            .map(|id| message_id(session, id))
            .collect(),
        _ => Vec::new(),
    };
    if extracted_from.len() > sources.len() {
        fields.keep("extracted_from", extracted_from.into());
    }
    let origin = match (listed_in, sources.is_empty()) {
        (Some(_), _) => MemoryOrigin::WorkingMemory,
        (None, true) => MemoryOrigin::Caller,
        (None, false) => MemoryOrigin::Extracted,
    };
    if let (Some(session), None) = (&session, listed_in) {
        fields.keep("session_id", session.session_key.clone().into());
    }
    let created = fields.time(&["created_at"])?;
    let memory = Memory {
        r#type: match kind.as_deref() {
            Some("episodic") => MemoryType::Episodic.into(),
            _ => MemoryType::Semantic.into(),
        },
        topics: fields.labels("topics", limits::TOPICS, limits::TOPIC_CHARS),
        entities: fields.labels("entities", limits::ENTITIES, limits::ENTITY_CHARS),
        event_time: fields.time(&["event_date"])?,
        origin: origin.into(),
        made_by: match origin {
            MemoryOrigin::Extracted => "agent-memory-process".to_owned(),
            _ => String::new(),
        },
        thread_id: session.as_ref().map(thread_key).unwrap_or_default(),
        source_message_ids: sources,
        pinned: Some(fields.flag("pinned")),
        valid_from: fields.time(&["updated_at"])?.or(created),
        create_time: created,
        last_use_time: fields.time(&["last_accessed"])?,
        ..memory_of("redis", &owner, &id, text)
    };
    fields.discard(&STATE);
    fields.take_metadata();
    Ok(Memory {
        metadata: reader.metadata(fields),
        ..memory
    })
}

fn put_of(message: MessageInput) -> Message {
    Message {
        message_id: message.message_id,
        role: message.role,
        name: message.name,
        parts: message.parts,
        metadata: message.metadata,
        create_time: message.create_time,
        external_id: message.external_id,
        user_id: message.user_id,
        ..Default::default()
    }
}
