//! Claude's data export: `conversations.json`, a list of conversations with `chat_messages`.
//! Messages of newer exports name the one that they follow; of edits and retries, the newest
//! is where the conversation was left.

use memory_contract::proto::{FileType, MessageInput, Part, Role, SessionRef};
use prost_types::Timestamp;
use serde_json::{Map, Value};

use super::fields::time_in;
use super::parts::{NamedFile, call, cut, list, result, string, text};
use super::reader::{Reader, identified};
use super::tree::{self, Node};
use crate::openai::role;
use crate::values::object_text;

/// Fields of conversations that become metadata of the thread.
const KEPT: [&str; 3] = ["created_at", "updated_at", "summary"];

/// Whether a document is a conversation of an export.
pub(super) fn is_conversation(json: &Value) -> bool {
    json.get("chat_messages").is_some_and(Value::is_array)
}

pub(super) fn read(reader: &mut Reader<'_>, at: &str, json: &Value) {
    if let Err(problem) = conversation(reader, at, json) {
        reader.put(at, Err(problem));
    }
}

fn conversation(reader: &mut Reader<'_>, at: &str, json: &Value) -> Result<(), String> {
    let id = string(json, &["uuid"]);
    if !is_conversation(json) {
        return Err("`chat_messages` is missing".to_owned());
    }
    if id.is_empty() {
        return Err("`uuid` is missing".to_owned());
    }
    let session = SessionRef {
        app_id: reader.app(None),
        user_id: reader.user(None),
        session_key: id.to_owned(),
        agent_session_key: String::new(),
    };
    let all = list(json, "chat_messages");
    // Without them each message follows the one before it.
    let names_parents = all.iter().any(|one| one["parent_message_uuid"].is_string());
    let mut nodes: Vec<Node> = Vec::with_capacity(all.len());
    for (index, message) in all.iter().enumerate() {
        let place = match at {
            "" => format!("chat_messages[{index}]"),
            at => format!("{at}.chat_messages[{index}]"),
        };
        let id = match string(message, &["uuid"]) {
            "" => format!("{id}/{index}"),
            id => id.to_owned(),
        };
        let parent = match names_parents {
            true => string(message, &["parent_message_uuid"]).to_owned(),
            false => nodes.last().map(|node| node.id.clone()).unwrap_or_default(),
        };
        let time = time_in(message, "created_at");
        let read = match &time {
            Ok(time) => said(reader, &session, &id, *time, message),
            Err(problem) => Err(problem.clone()),
        };
        let messages = match read {
            Ok(messages) => messages,
            Err(problem) => {
                reader.put(&place, Err(problem));
                Vec::new()
            }
        };
        nodes.push(Node {
            id,
            parent,
            at: place,
            time: time.unwrap_or_default(),
            messages,
        });
    }
    if nodes.iter().all(|node| node.messages.is_empty()) {
        reader.leave_out("conversations without messages", 1);
        return Ok(());
    }
    let kept = KEPT.iter().filter_map(|name| {
        let value = string(json, &[name]);
        (!value.is_empty()).then(|| ((*name).to_owned(), Value::from(value)))
    });
    let kept: Map<String, Value> = kept.collect();
    reader.thread(at, &session, string(json, &["name"]), object_text(&kept));
    let head = json["current_leaf_message_uuid"].as_str();
    tree::put(reader, &session, nodes, head);
    Ok(())
}

/// What a message of the export says: one message, or several where it calls tools, because
/// the results of tools are messages of their own.
fn said(
    reader: &mut Reader<'_>,
    session: &SessionRef,
    id: &str,
    create_time: Option<Timestamp>,
    message: &Value,
) -> Result<Vec<MessageInput>, String> {
    let role = role(string(message, &["sender"]))?;
    let mut said = Said {
        role,
        id,
        messages: Vec::new(),
        calls: Vec::new(),
    };
    let blocks = list(message, "content");
    for block in blocks {
        said.block(reader, block);
    }
    if blocks.is_empty() {
        said.text(string(message, &["text"]));
    }
    let files = attached(reader, message);
    if !files.is_empty() {
        said.parts(role).extend(files);
    }
    let messages = said.messages.into_iter().enumerate();
    let messages = messages.map(|(index, (role, parts))| {
        let id = match index {
            0 => id.to_owned(),
            index => format!("{id}#{}", index + 1),
        };
        MessageInput {
            role: role.into(),
            parts,
            create_time,
            ..identified(session, Some(id))
        }
    });
    Ok(messages.collect())
}

struct Said<'a> {
    /// Who says it.
    role: Role,
    /// The id of the message.
    id: &'a str,
    messages: Vec<(Role, Vec<Part>)>,
    /// The ids and names of calls so far.
    calls: Vec<(String, String)>,
}

impl Said<'_> {
    /// The parts of the last message, if it is of that role, or of a new one.
    fn parts(&mut self, role: Role) -> &mut Vec<Part> {
        if self.messages.last().is_none_or(|(last, _)| *last != role) {
            self.messages.push((role, Vec::new()));
        }
        let last = self.messages.len() - 1;
        &mut self.messages[last].1
    }

    fn text(&mut self, written: &str) {
        if !written.trim().is_empty() {
            self.parts(self.role).push(text(written));
        }
    }

    fn block(&mut self, reader: &mut Reader<'_>, block: &Value) {
        match string(block, &["type"]) {
            "text" => self.text(string(block, &["text"])),
            "thinking" | "redacted_thinking" => reader.leave_out("thoughts of the model", 1),
            "tool_use" => {
                let id = match string(block, &["id"]) {
                    "" => format!("{}/{}", self.id, self.calls.len() + 1),
                    id => id.to_owned(),
                };
                let name = match string(block, &["name"]) {
                    "" => "tool",
                    name => name,
                };
                let part = call(&id, name, block.get("input"));
                self.calls.push((id, name.to_owned()));
                self.parts(Role::Assistant).push(part);
            }
            "tool_result" => {
                let named = string(block, &["tool_use_id"]);
                let called = self.calls.iter().find(|(id, _)| id == named);
                let called = called.or(self.calls.last()).cloned();
                let (last, name) = called.unwrap_or_else(|| (self.id.to_owned(), String::new()));
                let id = if named.is_empty() { &last } else { named };
                let name = match string(block, &["name"]) {
                    "" => &name,
                    name => name,
                };
                let parts = results(reader, &block["content"]);
                let is_error = block["is_error"] == Value::Bool(true);
                let part = result(reader, id, name, parts, is_error);
                self.parts(Role::Tool).push(part);
            }
            // They show how far the context is filled.
            "token_budget" => {}
            _ => match string(block, &["text"]) {
                "" => reader.leave_out("blocks of unknown kinds", 1),
                written => self.text(written),
            },
        }
    }
}

/// What a tool returned: a text, or a list of texts and pages.
fn results(reader: &mut Reader<'_>, content: &Value) -> Vec<Part> {
    if let Some(written) = content.as_str() {
        return vec![text(written)];
    }
    let mut parts = Vec::new();
    for piece in content.as_array().into_iter().flatten() {
        let field = |name| string(piece, &[name]);
        let lines: Vec<&str> = [field("title"), field("url"), field("text")]
            .into_iter()
            .filter(|line| !line.is_empty())
            .collect();
        match lines.is_empty() {
            true => reader.leave_out("results of tools without text, such as images", 1),
            false => parts.push(text(lines.join("\n"))),
        }
    }
    parts
}

/// Files of a message. Those whose text the export has become texts.
fn attached(reader: &mut Reader<'_>, message: &Value) -> Vec<Part> {
    let mut parts = Vec::new();
    let attachments = list(message, "attachments");
    // `files` repeats an attachment by its name, without its text.
    let mut repeated: Vec<&str> = attachments
        .iter()
        .map(|file| string(file, &["file_name"]))
        .filter(|name| !name.is_empty())
        .collect();
    let attachments = attachments.iter().map(|file| (file, true));
    let files = list(message, "files").iter().map(|file| (file, false));
    for (file, is_attachment) in attachments.chain(files) {
        let name = string(file, &["file_name"]);
        let content = string(file, &["extracted_content"]);
        let has_text = !content.trim().is_empty();
        if !is_attachment && !has_text {
            let known = repeated.iter().position(|known| *known == name);
            if let Some(index) = known {
                repeated.swap_remove(index);
                continue;
            }
        }
        if has_text {
            let content = format!("[{name}]\n{content}");
            parts.push(text(cut(reader, content, "ends of attached texts")));
            continue;
        }
        let kind = string(file, &["file_kind"]);
        let mime_type = string(file, &["file_type"]);
        parts.push(
            NamedFile {
                id: string(file, &["file_uuid", "id"]).to_owned(),
                name: name.to_owned(),
                mime_type: mime_type.to_owned(),
                size_bytes: file["file_size"].as_i64().unwrap_or_default(),
                kind: (kind == "image").then_some(FileType::Image),
                ..Default::default()
            }
            .part(reader),
        );
    }
    parts
}
