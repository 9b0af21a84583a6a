//! ChatGPT's data export: `conversations.json` or its parts `conversations-000.json`, a list
//! of conversations. Each is a tree of nodes: edits and regenerated answers are branches, and
//! `current_node` is where the conversation was left.

mod content;

use memory_contract::proto::{MessageInput, Role, SessionRef, part::Content};
use prost_types::Timestamp;
use serde_json::{Map, Value, json};

use super::parts::{call, result, string};
use super::reader::{Reader, identified};
use super::tree::{self, Node};
use crate::openai::role;
use crate::values::{object_text, time_from};
use content::parts_of;

/// Fields of conversations that become metadata of the thread.
const KEPT: [&str; 5] = [
    "create_time",
    "update_time",
    "default_model_slug",
    "gizmo_id",
    "is_archived",
];
const HIDDEN: &str = "hidden messages (system prompts, custom instructions, tools' notes)";
const THOUGHTS: &str = "thoughts of the model";

/// Whether a document is a conversation of an export. One without messages may have no nodes.
pub(super) fn is_conversation(json: &Value) -> bool {
    let is_node = |node: &Value| node.get("parent").is_some() || node.get("children").is_some();
    match json.get("mapping") {
        Some(Value::Object(nodes)) if !nodes.is_empty() => nodes.values().any(is_node),
        Some(Value::Object(_) | Value::Null) => {
            json.get("current_node").is_some() || json.get("conversation_id").is_some()
        }
        _ => false,
    }
}

pub(super) fn read(reader: &mut Reader<'_>, at: &str, json: Value) {
    if let Err(problem) = conversation(reader, at, json) {
        reader.put(at, Err(problem));
    }
}

fn conversation(reader: &mut Reader<'_>, at: &str, mut json: Value) -> Result<(), String> {
    let fields = json.as_object_mut().ok_or("it has to be an object")?;
    let mapping = match fields.remove("mapping") {
        Some(Value::Object(mapping)) => mapping,
        Some(Value::Null) => Map::new(),
        _ => return Err("`mapping` is missing".to_owned()),
    };
    let id = string(&json, &["conversation_id", "id"]);
    if id.is_empty() {
        return Err("`conversation_id` is missing".to_owned());
    }
    let session = SessionRef {
        app_id: reader.app(None),
        user_id: reader.user(None),
        session_key: id.to_owned(),
        agent_session_key: String::new(),
    };
    let begin = time(&json);
    let conversation = Conversation {
        session: &session,
        mapping: &mapping,
        begin,
    };
    // Hidden nodes and problems are counted once, whatever becomes of the thread.
    let nodes = conversation.nodes(reader, at);
    if nodes.iter().all(|node| node.messages.is_empty()) {
        reader.leave_out("conversations without messages", 1);
        return Ok(());
    }
    let kept = KEPT.iter().filter_map(|name| {
        let value = json
            .get(*name)
            .filter(|value| !value.is_null() && **value != json!(false));
        Some(((*name).to_owned(), value?.clone()))
    });
    let kept: Map<String, Value> = kept.collect();
    reader.thread(at, &session, string(&json, &["title"]), object_text(&kept));
    tree::put(reader, &session, nodes, json["current_node"].as_str());
    Ok(())
}

struct Conversation<'a> {
    session: &'a SessionRef,
    mapping: &'a Map<String, Value>,
    /// When the conversation began.
    begin: Option<Timestamp>,
}

impl Conversation<'_> {
    /// The nodes, the oldest first.
    fn nodes(&self, reader: &mut Reader<'_>, at: &str) -> Vec<Node> {
        let mut nodes = Vec::with_capacity(self.mapping.len());
        for (id, node) in self.mapping {
            let place = match at {
                "" => format!("mapping.{id}"),
                at => format!("{at}.mapping.{id}"),
            };
            let said_at = self.time_of(id);
            let messages = match self.said(reader, id, &node["message"]) {
                Ok(message) => message.into_iter().collect(),
                Err(problem) => {
                    reader.put(&place, Err(problem));
                    Vec::new()
                }
            };
            nodes.push(Node {
                id: id.clone(),
                parent: string(node, &["parent"]).to_owned(),
                at: place,
                time: said_at,
                messages,
            });
        }
        nodes.sort_by_key(|node| {
            let time = node.time.unwrap_or_default();
            (time.seconds, time.nanos)
        });
        nodes
    }

    /// When a node was said: its time, or that of the nearest node before it that has one.
    fn time_of(&self, id: &str) -> Option<Timestamp> {
        let above = self.above(id);
        above
            .filter_map(|(_, node)| time(&node["message"]))
            .next()
            .or(self.begin)
    }

    /// A node and those before it, the nearest first; at most as many as there are.
    fn above<'b>(&'b self, id: &'b str) -> impl Iterator<Item = (&'b str, &'b Value)> {
        let first = self.mapping.get(id).map(|node| (id, node));
        let next = |(_, node): &(&'b str, &'b Value)| {
            let parent = node["parent"].as_str()?;
            Some((parent, self.mapping.get(parent)?))
        };
        std::iter::successors(first, next).take(self.mapping.len())
    }

    /// What a node says; `None` for hidden and empty ones.
    fn said(
        &self,
        reader: &mut Reader<'_>,
        id: &str,
        message: &Value,
    ) -> Result<Option<MessageInput>, String> {
        if message.is_null() {
            return Ok(None);
        }
        let author = &message["author"];
        let role = role(string(author, &["role"]))?;
        let kind = string(&message["content"], &["content_type"]);
        if matches!(kind, "thoughts" | "reasoning_recap") {
            reader.leave_out(THOUGHTS, 1);
            return Ok(None);
        }
        if is_hidden(role, kind, message) {
            let is_empty = content::is_empty(&message["content"]);
            reader.leave_out(HIDDEN, usize::from(!is_empty));
            return Ok(None);
        }
        let parts = parts_of(reader, message)?;
        if parts.is_empty() {
            return Ok(None);
        }
        let parts = match (role, recipient(message)) {
            (Role::Assistant, Some(tool)) => {
                let written = parts.into_iter().filter_map(|part| match part.content {
                    Some(Content::Text(text)) => Some(text),
                    _ => None,
                });
                let written: Vec<String> = written.collect();
                vec![call(id, tool, Some(&Value::String(written.join("\n"))))]
            }
            (Role::Tool, _) => {
                let is_error = kind == "system_error";
                let name = string(author, &["name"]);
                vec![result(reader, self.call_of(id), name, parts, is_error)]
            }
            _ => parts,
        };
        let mut metadata = Map::new();
        let model = string(&message["metadata"], &["model_slug"]);
        if role == Role::Assistant && !model.is_empty() {
            metadata.insert("model".to_owned(), model.into());
        }
        let own_id = match string(message, &["id"]) {
            "" => id,
            own => own,
        };
        Ok(Some(MessageInput {
            role: role.into(),
            parts,
            metadata: object_text(&metadata),
            create_time: self.time_of(id),
            ..identified(self.session, Some(own_id.to_owned()))
        }))
    }

    /// The id of the call that a tool answers: the nearest one since the user's message, or
    /// the tool's own node.
    fn call_of<'b>(&'b self, id: &'b str) -> &'b str {
        let role_of = |node: &Value| string(&node["message"]["author"], &["role"]).to_owned();
        let mut before = self.above(id).skip(1);
        let since_asked = before
            .by_ref()
            .take_while(|(_, node)| role_of(node) != "user");
        let mut calls = since_asked.filter(|(_, node)| {
            role_of(node) == "assistant" && recipient(&node["message"]).is_some()
        });
        calls.next().map_or(id, |(call, _)| call)
    }
}

/// The tool that a message is for; `None` for everybody.
fn recipient(message: &Value) -> Option<&str> {
    let recipient = message["recipient"].as_str()?;
    (!matches!(recipient, "" | "all" | "assistant" | "user")).then_some(recipient)
}

/// Whether ChatGPT does not show a node.
fn is_hidden(role: Role, kind: &str, message: &Value) -> bool {
    let flag = &message["metadata"]["is_visually_hidden_from_conversation"];
    let has_no_weight = message["weight"].as_f64() == Some(0.0);
    let is_context = matches!(kind, "user_editable_context" | "model_editable_context");
    flag == &Value::Bool(true)
        || is_context
        || (has_no_weight && matches!(role, Role::System | Role::Tool))
}

fn time(json: &Value) -> Option<Timestamp> {
    let set = ["create_time", "update_time"].iter().filter_map(|name| {
        let value = json.get(*name)?;
        time_from(value).ok()
    });
    set.into_iter().next()
}
