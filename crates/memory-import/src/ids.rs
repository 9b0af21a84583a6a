//! Ids that follow from content, so that reading a file again stores nothing twice.

use memory_contract::proto::{SessionRef, ThreadRef, thread_ref};
use prost::Message as _;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

/// An id that stands for a session until it is known which thread it is.
pub fn thread_key(session: &SessionRef) -> String {
    hashed(&[b"thread", &session.encode_to_vec()]).to_string()
}

/// The session that a request names.
pub fn named_session(thread: Option<&ThreadRef>) -> Option<&SessionRef> {
    match thread?.thread.as_ref()? {
        thread_ref::Thread::Session(session) => Some(session),
        thread_ref::Thread::ThreadId(_) => None,
    }
}

/// A UUID (version 8) made of the SHA-256 of its parts.
pub(crate) fn hashed(parts: &[&[u8]]) -> Uuid {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash.finalize()[..16]);
    uuid::Builder::from_custom_bytes(bytes).into_uuid()
}
