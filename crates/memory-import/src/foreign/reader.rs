//! Hands on the records of a document, and makes messages and memories of its fields.

use memory_checksum::id_of;
use memory_contract::limits;
use memory_contract::proto::{
    Memory, MemoryOrigin, MemoryType, MessageInput, ResolveThreadRequest, Role, SessionRef,
    SetHeadRequest, part::Content,
};
use prost::Message as _;
use serde_json::Value;

use super::fields::Fields;
use crate::defaults::Defaults;
use crate::openai::role;
use crate::record::{ImportRecord, Placed, Read};

/// Hands on what a document holds.
pub(super) struct Reader<'a> {
    /// The place of the document in its file, such as a line, or empty.
    place: String,
    defaults: &'a Defaults,
    each: &'a mut dyn FnMut(Read) -> bool,
    open: bool,
}

impl<'a> Reader<'a> {
    pub(super) fn new(
        place: &str,
        defaults: &'a Defaults,
        each: &'a mut dyn FnMut(Read) -> bool,
    ) -> Self {
        Self {
            place: place.to_owned(),
            defaults,
            each,
            open: true,
        }
    }

    /// Whether more is wanted.
    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    /// Hands on a record or its problem; `at` is its place in the document.
    pub(super) fn put(&mut self, at: &str, value: Result<ImportRecord, String>) {
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
    pub(super) fn leave_out(&mut self, what: &'static str, count: usize) {
        if count > 0 {
            self.put("", Ok(ImportRecord::LeftOut(what, count as u64)));
        }
    }

    /// Reads each item of a list with `read`.
    pub(super) fn each(
        &mut self,
        list: &str,
        items: Vec<Value>,
        mut read: impl FnMut(&mut Self, &str, Fields) -> Result<(), String>,
    ) {
        for (index, item) in items.into_iter().enumerate() {
            let at = format!("{list}[{index}]");
            let done = Fields::from_json(item).and_then(|fields| read(self, &at, fields));
            if let Err(problem) = done {
                self.put(&at, Err(problem));
            }
        }
    }

    pub(super) fn app(&self, named: Option<String>) -> String {
        named.unwrap_or_else(|| self.defaults.app.clone())
    }

    /// A user; empty for what belongs to the app and to no user.
    pub(super) fn user(&self, named: Option<String>) -> String {
        named
            .or_else(|| self.defaults.user.clone())
            .unwrap_or_default()
    }

    /// Hands on a session, with its thread's metadata.
    pub(super) fn session(&mut self, at: &str, session: &SessionRef, metadata: String) {
        self.thread(at, session, "", metadata);
    }

    /// Hands on a session, with its thread's title and metadata.
    pub(super) fn thread(&mut self, at: &str, session: &SessionRef, title: &str, metadata: String) {
        let request = ResolveThreadRequest {
            session: Some(session.clone()),
            title: shortened(title, limits::TITLE_CHARS),
            metadata,
            ..Default::default()
        };
        self.put(at, Ok(ImportRecord::Thread(Box::new(request))));
    }

    /// Makes `message_id` the head of a session whose last message is `last`.
    pub(super) fn head(&mut self, at: &str, session: &SessionRef, message_id: &str, last: &str) {
        let request = SetHeadRequest {
            thread: Some(session.clone().into()),
            head_message_id: message_id.to_owned(),
            expected_head: Some(last.to_owned()),
        };
        self.put(at, Ok(ImportRecord::Head(Box::new(request))));
    }

    pub(super) fn message(&mut self, at: &str, session: &SessionRef, message: MessageInput) {
        let record = ImportRecord::Message {
            session: session.clone(),
            message: Box::new(message),
        };
        self.put(at, Ok(record));
    }

    pub(super) fn memory(&mut self, at: &str, memory: Memory) {
        self.put(at, Ok(ImportRecord::Memory(Box::new(memory))));
    }

    /// What is left of a record, with the metadata that it had. Metadata beyond the limits
    /// is left out.
    pub(super) fn metadata(&mut self, fields: Fields) -> String {
        let (metadata, too_large) = fields.metadata();
        self.leave_out("metadata above 16 KiB or 5 levels", usize::from(too_large));
        metadata
    }
}

/// The owner of a memory: an app, and a user or none.
#[derive(Debug, Clone)]
pub(super) struct Owner {
    pub(super) app: String,
    pub(super) user: String,
}

/// A memory that a system knows by `id`, which becomes its external id.
pub(super) fn memory_of(system: &str, owner: &Owner, id: &str, text: String) -> Memory {
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
pub(super) fn message_id(session: &SessionRef, id: &str) -> String {
    id_of(&[b"message", &session.encode_to_vec(), id.as_bytes()]).to_string()
}

pub(super) fn derived_id(parts: &[&str]) -> String {
    let parts: Vec<&[u8]> = parts.iter().map(|part| part.as_bytes()).collect();
    id_of(&parts).to_string()
}

/// A message with text, of a role by any of the names in use; a role without a counterpart
/// is returned too.
pub(super) fn message_of(
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
        Err(_) => (Role::User, unknown),
    };
    let message = MessageInput {
        role: role.into(),
        parts: vec![Content::Text(text).into()],
        ..identified(session, id)
    };
    (message, unknown)
}

/// An empty message with the ids that follow from the one that it has in the source.
pub(super) fn identified(session: &SessionRef, id: Option<String>) -> MessageInput {
    MessageInput {
        message_id: id
            .as_ref()
            .map(|id| message_id(session, id))
            .unwrap_or_default(),
        external_id: id
            .filter(|id| id.chars().count() <= limits::EXTERNAL_ID_CHARS)
            .unwrap_or_default(),
        ..Default::default()
    }
}

/// The beginning of a text, in at most so many characters.
pub(super) fn shortened(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((end, _)) => text[..end].to_owned(),
        None => text.to_owned(),
    }
}
