//! The digest that a session is found by.

use memory_contract::thread::Session;

use crate::words;

/// SHA-256 of app, user and session key.
pub fn session_digest(session: &Session) -> Vec<u8> {
    words::digest(&[
        session.app.as_str(),
        session.user.as_str(),
        session.key.as_str(),
    ])
    .to_vec()
}
