//! The owners of conversations that do not name them.

use memory_contract::proto::SessionRef;
use memory_contract::{
    AppId, SessionKey, UserId,
    thread::{KeySource, SessionNames},
};

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
