//! Which conversation a response belongs to.
//!
//! A request to OpenAI's responses may name the response that it continues instead of the
//! messages before it. The proxy remembers the conversations of the newest responses.

use moka::sync::Cache;

use crate::whose::Whose;

/// How many responses are remembered.
const RESPONSES: u64 = 100_000;
/// The longest id that is remembered; gateways write routes into ids, which then have some
/// hundred bytes.
const ID_BYTES: usize = 1_024;

/// Conversations by app, user and response.
#[derive(Clone, Debug)]
pub(crate) struct Sessions(Cache<(String, String, String), String>);

impl Sessions {
    pub(crate) fn new() -> Self {
        Self(Cache::new(RESPONSES))
    }

    /// The session of a response that a user of an app got.
    pub(crate) fn of(&self, app: &str, user: &str, response: &str) -> Option<String> {
        let key = (app.to_owned(), user.to_owned(), response.to_owned());
        self.0.get(&key)
    }

    /// Remembers a response of a conversation, unless its id is empty or too long.
    pub(crate) fn remember(&self, whose: &Whose, response: &str) {
        if response.is_empty() || response.len() > ID_BYTES {
            return;
        }
        let key = (whose.app.clone(), whose.user.clone(), response.to_owned());
        self.0.insert(key, whose.session.clone());
    }
}
