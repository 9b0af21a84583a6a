//! Numbers of messages and bytes.

use std::ops::{Add, AddAssign, SubAssign};

use memory_contract::message::NewMessage;
use serde::Serialize;

/// Stored messages and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Messages of threads and of nodes.
    pub messages: i64,
    /// Bytes of content, as they are stored.
    pub bytes: i64,
}

impl Amount {
    /// Messages as they are stored: the JSON of parts and metadata. Content of `data:` URLs
    /// counts as it was sent.
    pub(crate) fn of_messages(messages: &[NewMessage]) -> Self {
        let bytes =
            |message: &NewMessage| json_bytes(&message.parts) + json_bytes(&message.metadata);
        Self {
            messages: count(messages.len()),
            bytes: count(messages.iter().map(bytes).sum()),
        }
    }

    /// Messages and bytes of another kind: those of a request.
    pub(crate) fn of_request(messages: usize, bytes: usize) -> Self {
        Self {
            messages: count(messages),
            bytes: count(bytes),
        }
    }
}

impl Add for Amount {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            messages: self.messages.saturating_add(other.messages),
            bytes: self.bytes.saturating_add(other.bytes),
        }
    }
}

impl AddAssign for Amount {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl SubAssign for Amount {
    fn sub_assign(&mut self, other: Self) {
        self.messages = self.messages.saturating_sub(other.messages);
        self.bytes = self.bytes.saturating_sub(other.bytes);
    }
}

fn json_bytes(value: &impl Serialize) -> usize {
    let mut counter = Counter(0);
    // Counting does not fail, and what cannot be written is not stored.
    serde_json::to_writer(&mut counter, value).ok();
    counter.0
}

/// Counts what is written.
struct Counter(usize);

impl std::io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
