//! Revisions: tokens that name a write, so that a caller can wait until the index has it.

use std::{fmt, str::FromStr};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use uuid::Uuid;

use crate::ThreadId;

const VERSION: u8 = 1;
const LENGTH: usize = 1 + 16 + 8;

/// A change of a thread, such as an append or an erasure, as a token for the caller. As
/// text it is opaque: base64url of a version, the thread and the number of the change in
/// the outbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Revision {
    /// The thread that was changed.
    pub thread: ThreadId,
    /// The number of the thread's newest change in the outbox at that moment.
    pub change: i64,
}

/// The text is not a revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("is not a revision that an append or a deletion returned")]
pub struct InvalidRevision;

impl Revision {
    /// There is nothing to wait for.
    pub fn none() -> Self {
        Self {
            thread: Uuid::nil().into(),
            change: 0,
        }
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = Vec::with_capacity(LENGTH);
        bytes.push(VERSION);
        bytes.extend_from_slice(self.thread.uuid().as_bytes());
        bytes.extend_from_slice(&self.change.to_be_bytes());
        f.write_str(&URL_SAFE_NO_PAD.encode(bytes))
    }
}

impl FromStr for Revision {
    type Err = InvalidRevision;

    fn from_str(text: &str) -> Result<Self, InvalidRevision> {
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| InvalidRevision)?;
        let (version, rest) = bytes.split_first().ok_or(InvalidRevision)?;
        let (thread, change) = rest.split_at_checked(16).ok_or(InvalidRevision)?;
        if *version != VERSION {
            return Err(InvalidRevision);
        }
        Ok(Self {
            thread: Uuid::from_slice(thread)
                .map_err(|_| InvalidRevision)?
                .into(),
            change: i64::from_be_bytes(change.try_into().map_err(|_| InvalidRevision)?),
        })
    }
}

#[cfg(test)]
mod tests;
