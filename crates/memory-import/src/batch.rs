//! Collects messages into requests.

use std::collections::HashMap;

use memory_checksum::id_of;
use memory_contract::proto::{ImportMessagesRequest, MessageInput, SessionRef};
use prost::Message as _;
use uuid::Uuid;

/// Messages in a request: far below the limit of 256, so that progress shows.
const MESSAGES: usize = 100;
/// Bytes of a request; the limit is 3 MiB.
const BYTES: usize = 2 * 1024 * 1024;

/// A request, and where its messages come from.
#[derive(Debug)]
pub struct Batch {
    /// The place of its first message.
    pub place: String,
    /// The request.
    pub value: ImportMessagesRequest,
    /// Whether the id of each message follows from what it says.
    derived: Vec<bool>,
}

impl Batch {
    /// Whether the ids of all messages follow from what they say: a stored message with such
    /// an id is the same message.
    pub fn is_derived(&self) -> bool {
        self.derived.iter().all(|is_derived| *is_derived)
    }

    /// Each message in a request of its own, without a request id.
    pub fn singles(self) -> Vec<Self> {
        let Self {
            place,
            value,
            derived,
        } = self;
        let messages = value.messages.into_iter().zip(derived);
        let singles = messages.map(|(message, is_derived)| Self {
            place: place.clone(),
            value: ImportMessagesRequest {
                thread: value.thread.clone(),
                messages: vec![message],
                ..Default::default()
            },
            derived: vec![is_derived],
        });
        singles.collect()
    }
}

/// Collects messages of one session into requests.
///
/// The same messages in the same order become the same requests with the same
/// ids, so that importing a file again stores nothing twice.
#[derive(Debug, Default)]
pub(crate) struct Batcher {
    again: bool,
    session: SessionRef,
    place: String,
    messages: Vec<MessageInput>,
    /// Whether the id of each message was made here.
    derived: Vec<bool>,
    bytes: usize,
    /// Messages of each session so far.
    counts: HashMap<(String, String, String), u64>,
}

impl Batcher {
    /// A batcher; `again` makes every request a new one.
    pub(crate) fn new(again: bool) -> Self {
        Self {
            again,
            ..Default::default()
        }
    }

    /// Takes a message, and returns the request that is full or ended by it.
    pub(crate) fn push(
        &mut self,
        place: String,
        session: SessionRef,
        mut message: MessageInput,
    ) -> Option<Batch> {
        let bytes = message.encoded_len() + 64;
        let full = self.messages.len() == MESSAGES || self.bytes + bytes > BYTES;
        let done = match full || session != self.session {
            true => self.take(),
            false => None,
        };
        let is_derived = message.message_id.is_empty() && !self.again;
        if is_derived {
            message.message_id = self.message_id(&session, &message);
        }
        if self.messages.is_empty() {
            self.place = place;
            self.session = session;
        }
        self.bytes += bytes;
        self.messages.push(message);
        self.derived.push(is_derived);
        done
    }

    /// The request of the collected messages; `None` if there are none.
    pub(crate) fn take(&mut self) -> Option<Batch> {
        if self.messages.is_empty() {
            return None;
        }
        self.bytes = 0;
        let mut request = ImportMessagesRequest {
            thread: Some(self.session.clone().into()),
            messages: std::mem::take(&mut self.messages),
            provider_messages: Vec::new(),
            request_id: String::new(),
        };
        request.request_id = match self.again {
            true => Uuid::now_v7(),
            false => id_of(&[&request.encode_to_vec()]),
        }
        .to_string();
        Some(Batch {
            place: std::mem::take(&mut self.place),
            value: request,
            derived: std::mem::take(&mut self.derived),
        })
    }

    /// An id that follows from the session, the message's place in it, and what
    /// it says: longer than the server remembers requests, it remembers ids.
    fn message_id(&mut self, session: &SessionRef, message: &MessageInput) -> String {
        let SessionRef {
            app_id,
            user_id,
            session_key,
            agent_session_key: _,
        } = session.clone();
        let count = self
            .counts
            .entry((app_id, user_id, session_key))
            .or_default();
        *count += 1;
        id_of(&[
            &session.encode_to_vec(),
            &count.to_be_bytes(),
            &message.encode_to_vec(),
        ])
        .to_string()
    }
}

#[cfg(test)]
mod tests;
