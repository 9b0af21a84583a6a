//! Threads: their life, the keys that name their sessions, and ephemeral ones.

mod by_session;
pub mod ephemeral;
mod lifecycle;
mod list_requests;
mod lists;
mod session_keys;
mod updating;
