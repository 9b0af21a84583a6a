//! Reads what other products hold: conversations of ChatGPT, Claude, Slack, LangChain and n8n,
//! and the memories of mem0, OpenMemory, Zep and Redis's agent memory server.
//!
//! Fields that have a place here take it; the others become metadata. Ids follow from those
//! of the source, so that reading the same file again stores nothing twice.

mod chatgpt;
mod claude;
mod fields;
mod langchain;
mod mem0;
mod n8n;
mod openmemory;
mod parts;
mod reader;
mod redis;
mod slack;
#[cfg(test)]
mod tests;
mod tree;
mod zep;

use serde_json::Value;

use crate::defaults::Defaults;
use crate::format::System;
use crate::record::Read;
use reader::Reader;

pub(crate) use slack::Workspace;

/// The system that a document is of: of a whole file, of one of its lines, or of an entry of
/// a list. Those of Zep and Redis's server have to be named.
pub(crate) fn detected(document: &Value) -> Option<System> {
    let items = match document {
        Value::Array(items) => items.as_slice(),
        document => std::slice::from_ref(document),
    };
    let first = items.first()?;
    // A broken or empty conversation may come first.
    let has_conversation = |test: fn(&Value) -> bool| {
        let mut all = items.iter();
        all.any(|item| test(item) || parts::list(item, "conversations").iter().any(test))
    };
    let is_langchain = langchain::is_message(first)
        || parts::list(first, "messages").first().is_some_and(langchain::is_message)
        // A list of conversations, or one a line.
        || first.get(0).is_some_and(langchain::is_message);
    [
        (has_conversation(chatgpt::is_conversation), System::Chatgpt),
        (has_conversation(claude::is_conversation), System::Claude),
        (slack::is_message(first), System::Slack),
        (n8n::is_row(first), System::N8n),
        (openmemory::is_backup(first), System::Openmemory),
        (is_langchain, System::Langchain),
        (mem0::is_memory(first), System::Mem0),
    ]
    .into_iter()
    .find_map(|(is_it, system)| is_it.then_some(system))
}

/// Whether the entries of a list of a system, of which this is the first one, are read one by
/// one. Others are read together.
pub(crate) fn reads_items(system: System, first: &Value) -> bool {
    match system {
        System::Chatgpt | System::Claude | System::N8n => true,
        System::Langchain => first["messages"].is_array(),
        _ => false,
    }
}

/// Reads the documents of one file, or of one export, in order.
pub(crate) struct Documents<'a> {
    system: System,
    defaults: &'a Defaults,
    /// The name of the file without its ending.
    stem: &'a str,
    messages: langchain::Messages,
    workspace: Workspace,
}

impl<'a> Documents<'a> {
    pub(crate) fn new(system: System, defaults: &'a Defaults, stem: &'a str) -> Self {
        Self {
            system,
            defaults,
            stem,
            messages: langchain::Messages::default(),
            workspace: Workspace::default(),
        }
    }

    /// The documents of a Slack workspace.
    pub(crate) fn of_workspace(workspace: Workspace, defaults: &'a Defaults) -> Self {
        Self {
            workspace,
            ..Self::new(System::Slack, defaults, "")
        }
    }

    /// Reads the messages of a day of the channel with this folder. Returns whether more is
    /// wanted.
    pub(crate) fn day(
        &mut self,
        folder: &str,
        json: &Value,
        place: &str,
        each: &mut dyn FnMut(Read) -> bool,
    ) -> bool {
        let mut reader = Reader::new(place, self.defaults, each);
        self.workspace.day(&mut reader, folder, json);
        reader.is_open()
    }

    /// Reads one document: a whole file, one of its lines, or an entry of its list; `part`
    /// is its number where there are several. Returns whether more is wanted.
    pub(crate) fn read(
        &mut self,
        json: Value,
        place: &str,
        part: Option<usize>,
        each: &mut dyn FnMut(Read) -> bool,
    ) -> bool {
        let mut reader = Reader::new(place, self.defaults, each);
        match self.system {
            System::Chatgpt => conversations(&mut reader, json, chatgpt::read),
            System::Claude => conversations(&mut reader, json, |reader, at, json| {
                claude::read(reader, at, &json);
            }),
            System::Slack => self.workspace.day(&mut reader, self.stem, &json),
            System::Langchain => self.langchain(&mut reader, &json, part),
            System::N8n => match json {
                Value::Array(rows) => {
                    for (index, row) in rows.iter().enumerate() {
                        let at = format!("[{index}]");
                        n8n::read(&mut self.messages, &mut reader, &at, row);
                    }
                }
                row => n8n::read(&mut self.messages, &mut reader, "", &row),
            },
            System::Mem0 => mem0::read(&mut reader, json),
            System::Openmemory => match json {
                Value::Array(items) => {
                    for item in items {
                        openmemory::read(&mut reader, item);
                    }
                }
                json => openmemory::read(&mut reader, json),
            },
            System::Zep => zep::read(&mut reader, json),
            System::Redis => redis::read(&mut reader, json),
        }
        reader.is_open()
    }

    fn langchain(&mut self, reader: &mut Reader<'_>, json: &Value, part: Option<usize>) {
        let conversation = |part| self.defaults.session(self.stem, part);
        match json {
            // Several conversations.
            Value::Array(lists) if lists.iter().all(Value::is_array) => {
                for (index, list) in lists.iter().enumerate() {
                    let session = conversation(Some(index + 1));
                    let at = format!("[{index}]");
                    self.messages.read(reader, &at, &session, list);
                }
            }
            Value::Array(_) => {
                let session = conversation(part);
                self.messages.read(reader, "", &session, json);
            }
            // The state of a graph, or what other stores of messages write.
            Value::Object(fields) if fields.get("messages").is_some_and(Value::is_array) => {
                let session = self.defaults.named(self.stem, part, json);
                self.messages
                    .read(reader, "messages", &session, &fields["messages"]);
            }
            message => {
                let session = conversation(None);
                self.messages.read(reader, "", &session, message);
            }
        }
    }
}

/// Reads a conversation, or a list of them.
fn conversations(
    reader: &mut Reader<'_>,
    json: Value,
    read: impl Fn(&mut Reader<'_>, &str, Value),
) {
    let (list, items) = match json {
        Value::Array(items) => ("", items),
        Value::Object(mut fields) => match fields.remove("conversations") {
            Some(Value::Array(items)) => ("conversations", items),
            _ => return read(reader, "", Value::Object(fields)),
        },
        other => return read(reader, "", other),
    };
    for (index, item) in items.into_iter().enumerate() {
        read(reader, &format!("{list}[{index}]"), item);
    }
}
