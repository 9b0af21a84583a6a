//! Reads what other memory systems hold, in the JSON of their APIs: mem0, Zep, and Redis's
//! agent memory server.
//!
//! Fields that have a place here take it; the others become metadata. Ids follow from those
//! of the source, so that reading the same file again stores nothing twice.

mod fields;
mod mem0;
mod redis;
#[cfg(test)]
mod tests;
mod zep;

use memory_contract::limits;
use memory_contract::proto::{
    Memory, MemoryOrigin, MemoryType, MessageInput, ResolveThreadRequest, SessionRef, part::Content,
};
use prost::Message as _;
use serde_json::Value;

use super::batch::hashed;
use super::openai::role;
use super::{Defaults, ImportRecord, Placed, Read};
use crate::cli::args::Format;
use fields::Fields;

/// Reads one document of a format: a whole file, or one of its lines. Returns whether more
/// is wanted.
pub fn document(
    format: Format,
    json: Value,
    place: &str,
    defaults: &Defaults,
    each: &mut dyn FnMut(Read) -> bool,
) -> bool {
    let mut reader = Reader {
        place: place.to_owned(),
        defaults,
        each,
        open: true,
    };
    match format {
        Format::Mem0 => mem0::read(&mut reader, json),
        Format::Zep => zep::read(&mut reader, json),
        _ => redis::read(&mut reader, json),
    }
    reader.open
}

/// An id that stands for a session until it is known which thread it is.
pub fn thread_key(session: &SessionRef) -> String {
    hashed(&[b"thread", &session.encode_to_vec()]).to_string()
}

/// Hands on what a document holds.
struct Reader<'a> {
    /// The place of the document in its file: a line, or empty.
    place: String,
    defaults: &'a Defaults,
    each: &'a mut dyn FnMut(Read) -> bool,
    open: bool,
}

impl Reader<'_> {
    /// Hands on a record, or what is wrong with it; `at` is its place in the document.
    fn put(&mut self, at: &str, value: Result<ImportRecord, String>) {
        if !self.open {
            return;
        }
        let place = match (self.place.as_str(), at) {
            ("", at) => at.to_owned(),
            (line, "") => line.to_owned(),
            (line, at) => format!("{line}, {at}"),
        };
        self.open = (self.each)(Placed { place, value });
    }

    /// Counts things that have no place here.
    fn leave_out(&mut self, what: &'static str, count: usize) {
        if count > 0 {
            self.put("", Ok(ImportRecord::LeftOut(what, count as u64)));
        }
    }

    /// Reads each item of a list with `read`.
    fn each(
        &mut self,
        list: &str,
        items: Vec<Value>,
        mut read: impl FnMut(&mut Self, &str, Fields) -> Result<(), String>,
    ) {
        for (index, item) in items.into_iter().enumerate() {
            let at = format!("{list}[{index}]");
            let done = Fields::of(item).and_then(|fields| read(self, &at, fields));
            if let Err(problem) = done {
                self.put(&at, Err(problem));
            }
        }
    }

    fn app(&self, named: Option<String>) -> String {
        named.unwrap_or_else(|| self.defaults.app.clone())
    }

    /// A user; empty for what belongs to the app and to no user.
    fn user(&self, named: Option<String>) -> String {
        named
            .or_else(|| self.defaults.user.clone())
            .unwrap_or_default()
    }

    /// Hands on a session, with its thread's metadata.
    fn session(&mut self, at: &str, session: &SessionRef, metadata: String) {
        let request = ResolveThreadRequest {
            session: Some(session.clone()),
            metadata,
            ..Default::default()
        };
        self.put(at, Ok(ImportRecord::Thread(Box::new(request))));
    }

    fn message(&mut self, at: &str, session: &SessionRef, message: MessageInput) {
        let record = ImportRecord::Message {
            session: session.clone(),
            message: Box::new(message),
        };
        self.put(at, Ok(record));
    }

    fn memory(&mut self, at: &str, memory: Memory) {
        self.put(at, Ok(ImportRecord::Memory(Box::new(memory))));
    }

    /// What is left of a record, with the metadata that it had. Metadata beyond the limits
    /// is left out.
    fn metadata(&mut self, fields: Fields) -> String {
        let (metadata, too_large) = fields.metadata();
        self.leave_out("metadata above 16 KiB or 5 levels", usize::from(too_large));
        metadata
    }
}

/// The owner of a memory: an app, and a user or none.
#[derive(Debug, Clone)]
struct Owner {
    app: String,
    user: String,
}

/// A memory that a system knows by `id`, which becomes its external id.
fn memory_of(system: &str, owner: &Owner, id: &str, text: String) -> Memory {
    let external_id = match id.chars().count() <= limits::EXTERNAL_ID_CHARS {
        true => id.to_owned(),
        false => String::new(),
    };
    Memory {
        memory_id: derived_id(&[system, &owner.app, &owner.user, id]),
        app_id: owner.app.clone(),
        user_id: owner.user.clone(),
        text,
        // What the server takes where none is given; the answer is compared with this.
        r#type: MemoryType::Semantic.into(),
        pinned: Some(false),
        origin: MemoryOrigin::Caller.into(),
        external_id,
        ..Default::default()
    }
}

/// The id that a message gets, so that memories can name it as their source.
fn message_id(session: &SessionRef, id: &str) -> String {
    hashed(&[b"message", &session.encode_to_vec(), id.as_bytes()]).to_string()
}

fn derived_id(parts: &[&str]) -> String {
    let parts: Vec<&[u8]> = parts.iter().map(|part| part.as_bytes()).collect();
    hashed(&parts).to_string()
}

/// A message with text, of a role by any of the names in use; a role without a counterpart
/// is returned too.
fn message_of(
    session: &SessionRef,
    id: Option<String>,
    said_by: &str,
    text: String,
) -> (MessageInput, Option<String>) {
    let (known, unknown) = match said_by {
        "function" => (role("tool"), None),
        named => (role(named), Some(named.to_owned())),
    };
    let (role, unknown) = match known {
        Ok(role) => (role, None),
        Err(_) => (memory_contract::proto::Role::User, unknown),
    };
    let message = MessageInput {
        message_id: id
            .as_ref()
            .map(|id| message_id(session, id))
            .unwrap_or_default(),
        external_id: id
            .filter(|id| id.chars().count() <= limits::EXTERNAL_ID_CHARS)
            .unwrap_or_default(),
        role: role.into(),
        parts: vec![Content::Text(text).into()],
        ..Default::default()
    };
    (message, unknown)
}
