//! Ids that follow from content, so that reading a file again stores nothing twice.

use memory_checksum::id_of;
use memory_contract::proto::{SessionRef, ThreadRef, thread_ref};
use prost::Message as _;

/// An id that stands for a session until it is known which thread it is.
pub fn thread_key(session: &SessionRef) -> String {
    id_of(&[b"thread", &session.encode_to_vec()]).to_string()
}

/// The session that a request names.
pub fn named_session(thread: Option<&ThreadRef>) -> Option<&SessionRef> {
    match thread?.thread.as_ref()? {
        thread_ref::Thread::Session(session) => Some(session),
        thread_ref::Thread::ThreadId(_) => None,
    }
}
