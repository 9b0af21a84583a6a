//! Collects messages into requests.

use std::collections::HashMap;

use memory_contract::proto::{ImportMessagesRequest, MessageInput, SessionRef};
use prost::Message as _;
use uuid::Uuid;

use crate::ids::hashed;
use crate::record::Placed;

/// Messages in a request: far below the limit of 256, so that progress shows.
const MESSAGES: usize = 100;
/// Bytes of a request; the limit is 3 MiB.
const BYTES: usize = 2 * 1024 * 1024;

/// A request with its place: that of its first message.
pub type Batch = Placed<ImportMessagesRequest>;

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
        if message.message_id.is_empty() && !self.again {
            message.message_id = self.message_id(&session, &message);
        }
        if self.messages.is_empty() {
            self.place = place;
            self.session = session;
        }
        self.bytes += bytes;
        self.messages.push(message);
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
            false => hashed(&[&request.encode_to_vec()]),
        }
        .to_string();
        Some(Placed {
            place: std::mem::take(&mut self.place),
            value: request,
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
        hashed(&[
            &session.encode_to_vec(),
            &count.to_be_bytes(),
            &message.encode_to_vec(),
        ])
        .to_string()
    }
}

#[cfg(test)]
mod tests;
