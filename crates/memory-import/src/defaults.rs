//! The owners of conversations that do not name them.

use memory_contract::proto::SessionRef;
use memory_contract::{
    AppId, SessionKey, UserId,
    thread::{KeySource, SessionNames},
};
use serde_json::Value;

/// The fields that name an app.
const APP: [&str; 2] = ["app_id", "app"];
/// The fields that name a user.
const USER: [&str; 2] = ["user_id", "user"];
/// The fields that name a session, as stores of messages write them too.
const SESSION: [&str; 6] = [
    "session_key",
    "session_id",
    "sessionId",
    "SessionId",
    "conversation_id",
    "thread_id",
];

/// What conversations belong to that do not say so themselves.
#[derive(Debug, Clone)]
pub struct Defaults {
    /// The app.
    pub app: String,
    /// The user; `None` means the file's name without its ending, or none where the session
    /// key says whose conversation it is.
    pub user: Option<String>,
    /// The session key; `None` means `session:` and the file's name without
    /// its ending.
    pub session: Option<String>,
}

impl Defaults {
    /// The session of a conversation in the file `stem`; `part` distinguishes several
    /// conversations of one file.
    pub(crate) fn session(&self, stem: &str, part: Option<usize>) -> SessionRef {
        let key = self
            .session
            .clone()
            .unwrap_or_else(|| format!("session:{stem}"));
        let session_key = match part {
            Some(part) => format!("{key}/{part}"),
            None => key,
        };
        SessionRef {
            app_id: self.app.clone(),
            user_id: self.user(stem, &self.app, &session_key),
            session_key,
            agent_session_key: String::new(),
        }
    }

    /// The session of a document or message: what it names, and else what [`Self::session`]
    /// gives. A user that it names as empty is none.
    pub(crate) fn named(&self, stem: &str, part: Option<usize>, document: &Value) -> SessionRef {
        let usual = self.session(stem, part);
        let set = |names: &[&str]| named(document, names).filter(|name| !name.is_empty());
        let app_id = set(&APP).unwrap_or(usual.app_id);
        let session_key = set(&SESSION).unwrap_or(usual.session_key);
        let user = named(document, &USER);
        SessionRef {
            user_id: user.unwrap_or_else(|| self.user(stem, &app_id, &session_key)),
            app_id,
            session_key,
            agent_session_key: String::new(),
        }
    }

    /// The user of a conversation that names none.
    pub(crate) fn user(&self, stem: &str, app: &str, session_key: &str) -> String {
        if let Some(user) = &self.user {
            return user.clone();
        }
        let key = (SessionKey::new(session_key), KeySource::Session);
        let names = SessionNames::new(AppId::new(app), UserId::new(stem), Some(key));
        names.map_or_else(|_| String::new(), |_| stem.to_owned())
    }
}

/// The first of these fields that is a text, or a number as one.
fn named(document: &Value, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| match document.get(*name)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    })
}
