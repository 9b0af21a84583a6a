//! Messages of LangChain: `{"type", "data"}` of `messages_to_dict`, constructors of `dumpd`
//! and `dumps`, and the fields of a message with its `type`, as LangGraph and n8n write them.

mod content;

use std::collections::HashSet;

use memory_contract::limits;
use memory_contract::proto::{MessageInput, Part, Role, SessionRef};
use serde_json::{Map, Value};

use super::fields::{Fields, time_in};
use super::parts::{call, list, result, string};
use super::reader::{Reader, identified, shortened};
use crate::openai::role;
use content::parts_of;

/// Fields that LangChain sets itself, or that are read elsewhere.
const OWN: [&str; 14] = [
    "content",
    "type",
    "example",
    "additional_kwargs",
    "response_metadata",
    "usage_metadata",
    "tool_calls",
    "invalid_tool_calls",
    "tool_call_chunks",
    "tool_call_id",
    "status",
    "artifact",
    "chunk_position",
    "lc_kwargs",
];

/// Whether a document is a message of LangChain in one of its shapes.
pub(super) fn is_message(json: &Value) -> bool {
    let kind = string(json, &["type"]);
    let content = &json["content"];
    is_constructor(json)
        || (json["data"].is_object() && json["data"].get("content").is_some() && !kind.is_empty())
        || (role_of(kind, json).is_some()
            && (content.is_string() || content.is_array())
            && json.get("role").is_none())
}

fn is_constructor(json: &Value) -> bool {
    json.get("lc").is_some() && json["kwargs"].is_object() && json["id"].is_array()
}

/// The messages of conversations, which name their calls.
#[derive(Debug, Default)]
pub(super) struct Messages {
    session: SessionRef,
    /// The ids of messages so far.
    ids: HashSet<String>,
    /// The ids and names of calls without a result.
    open: Vec<(String, String)>,
    calls: usize,
}

impl Messages {
    /// Hands on a list of messages, or one message, of a session.
    pub(super) fn read(
        &mut self,
        reader: &mut Reader<'_>,
        at: &str,
        session: &SessionRef,
        json: &Value,
    ) {
        let single = std::slice::from_ref(json);
        let (messages, is_list) = match json.as_array() {
            Some(messages) => (messages.as_slice(), true),
            None => (single, false),
        };
        for (index, message) in messages.iter().enumerate() {
            let place = if is_list {
                format!("{at}[{index}]")
            } else {
                at.to_owned()
            };
            match self.message(reader, session, message, None) {
                Ok(Some(message)) => reader.message(&place, session, message),
                Ok(None) => {}
                Err(problem) => reader.put(&place, Err(problem)),
            }
        }
    }

    /// A message of a session; `id` is used in place of its own. `None` for one that only
    /// removes another.
    ///
    /// # Errors
    /// It is no message of LangChain, in words.
    pub(super) fn message(
        &mut self,
        reader: &mut Reader<'_>,
        session: &SessionRef,
        json: &Value,
        id: Option<String>,
    ) -> Result<Option<MessageInput>, String> {
        if *session != self.session {
            *self = Self {
                session: session.clone(),
                ..Self::default()
            };
        }
        let (kind, data) = unwrapped(json)?;
        if matches!(kind, "remove" | "RemoveMessage") {
            reader.leave_out("instructions to remove messages", 1);
            return Ok(None);
        }
        let role = role_of(kind, data)
            .ok_or_else(|| format!("its type \"{}\" is not known", shortened(kind, 64)))?;
        let parts = match role {
            Role::Tool => vec![self.answer(reader, data)?],
            Role::Assistant => {
                let mut parts = parts_of(reader, data)?;
                parts.extend(self.calls(data));
                parts
            }
            _ => parts_of(reader, data)?,
        };
        if parts.is_empty() {
            reader.leave_out("messages without content", 1);
            return Ok(None);
        }
        let create_time = time_in(data, "created_at")?;
        let own = Some(string(data, &["id"]).to_owned()).filter(|id| !id.is_empty());
        // A list may repeat a message; ids are unique in a thread.
        let id = id.or(own).filter(|id| self.ids.insert(id.clone()));
        let name = match role {
            Role::Tool => "",
            _ => string(data, &["name"]),
        };
        Ok(Some(MessageInput {
            role: role.into(),
            name: shortened(name, limits::NAME_CHARS),
            parts,
            metadata: metadata(reader, data),
            create_time,
            ..identified(session, id)
        }))
    }

    /// The calls of tools in a model's message, those with broken arguments included.
    fn calls(&mut self, data: &Value) -> Vec<Part> {
        let older = &data["additional_kwargs"];
        let own = [list(data, "tool_calls"), list(data, "invalid_tool_calls")];
        let mut calls: Vec<Part> = Vec::new();
        for one in own.into_iter().flatten() {
            let (name, id) = (string(one, &["name"]), string(one, &["id"]));
            calls.push(self.call(id, name, one.get("args")));
        }
        if calls.is_empty() {
            for one in list(older, "tool_calls") {
                let function = &one["function"];
                let (name, id) = (string(function, &["name"]), string(one, &["id"]));
                calls.push(self.call(id, name, function.get("arguments")));
            }
        }
        let function = &older["function_call"];
        if calls.is_empty() && function.is_object() {
            let name = string(function, &["name"]);
            calls.push(self.call("", name, function.get("arguments")));
        }
        calls
    }

    fn call(&mut self, id: &str, name: &str, arguments: Option<&Value>) -> Part {
        self.calls += 1;
        let name = if name.is_empty() { "tool" } else { name };
        let id = match id {
            "" => format!("call_{}", self.calls),
            id => id.to_owned(),
        };
        let part = call(&id, name, arguments);
        self.open.push((id, name.to_owned()));
        part
    }

    /// The result of a call: of the one that it names, or else of the oldest one without a
    /// result that has its name.
    fn answer(&mut self, reader: &mut Reader<'_>, data: &Value) -> Result<Part, String> {
        let (id, name) = (string(data, &["tool_call_id"]), string(data, &["name"]));
        let answered = self.open.iter().position(|(open, called)| match id {
            "" => name.is_empty() || called == name,
            id => open == id,
        });
        let (open, called) = match answered {
            Some(index) => self.open.remove(index),
            None => (id.to_owned(), name.to_owned()),
        };
        if open.is_empty() {
            return Err("a tool's message lacks its `tool_call_id`".to_owned());
        }
        let parts = parts_of(reader, data)?;
        let name = if name.is_empty() { &called } else { name };
        let is_error = string(data, &["status"]) == "error";
        Ok(result(reader, &open, name, parts, is_error))
    }
}

/// The type of a message and its fields, in any of the shapes.
fn unwrapped(json: &Value) -> Result<(&str, &Value), String> {
    let kind = string(json, &["type"]);
    if is_constructor(json) {
        let class = list(json, "id").last().and_then(Value::as_str);
        let data = &json["kwargs"];
        let kind = match string(data, &["type"]) {
            "" => class.unwrap_or_default(),
            kind => kind,
        };
        return Ok((kind, data));
    }
    match (kind, &json["data"]) {
        ("", _) => Err("it is no message of LangChain: `type` is missing".to_owned()),
        (kind, data @ Value::Object(_)) => Ok((kind, data)),
        (kind, _) => Ok((kind, json)),
    }
}

/// The role of a message by its type, such as `human`, or its class, such as `HumanMessage`.
fn role_of(kind: &str, data: &Value) -> Option<Role> {
    let kind = kind.trim_end_matches("Chunk").trim_end_matches("Message");
    match kind {
        "human" | "Human" => Some(Role::User),
        "ai" | "AI" => Some(Role::Assistant),
        "system" | "System" => Some(Role::System),
        "tool" | "Tool" | "function" | "Function" => Some(Role::Tool),
        "chat" | "Chat" | "generic" => Some(role(string(data, &["role"])).unwrap_or(Role::User)),
        _ => None,
    }
}

/// What providers and callers added to a message, and the name of the model.
fn metadata(reader: &mut Reader<'_>, data: &Value) -> String {
    let mut added = match data["additional_kwargs"].as_object() {
        Some(added) => added.clone(),
        None => Map::new(),
    };
    for read in ["tool_calls", "function_call", "refusal"] {
        added.remove(read);
    }
    let model = string(&data["response_metadata"], &["model_name", "model"]);
    if !model.is_empty() {
        added.insert("model".to_owned(), model.into());
    }
    // What is written beside the fields of LangChain, such as by a front end.
    for (name, value) in data.as_object().into_iter().flatten() {
        let is_known = OWN.contains(&name.as_str())
            || matches!(name.as_str(), "id" | "name" | "role" | "created_at");
        if !is_known && !value.is_null() {
            added.entry(name.clone()).or_insert_with(|| value.clone());
        }
    }
    match Fields::from_json(Value::Object(added)) {
        Ok(fields) => reader.metadata(fields),
        Err(_) => String::new(),
    }
}
