//! Sessions as callers name them, and where their keys come from.

use uuid::Uuid;

use crate::{AppId, Invalid, Session, SessionKey, UserId, check, limits};

/// The session key that all users of an app share.
const GLOBAL: &str = "global";
/// In front of a user's id, a session key that is the user's only conversation.
const USER: &str = "user:";
/// In front of an app's id, the key of requests that bring none, where the app
/// allows it.
const SHARED: &str = "agent_memory:";

/// Where a session's key was taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeySource {
    /// The session names it.
    Session,
    /// The agent brings it along.
    Agent,
    /// The call's metadata.
    Metadata,
    /// The app shares one conversation.
    SharedDefault,
    /// The server made it.
    Generated,
}

/// The names that a request gives a conversation. They are within their
/// limits; a key may be missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionNames {
    app: AppId,
    user: UserId,
    key: Option<(SessionKey, KeySource)>,
}

impl SessionNames {
    /// Names that have been checked. A key `user:ID` names the user where
    /// `user` is empty; a shared key belongs to none.
    ///
    /// # Errors
    /// The user's id in a key is over its limit.
    pub fn new(
        app: AppId,
        user: UserId,
        key: Option<(SessionKey, KeySource)>,
    ) -> Result<Self, Invalid> {
        let mut names = Self { app, user, key };
        if let Some((key, source)) = &names.key {
            let key = key.as_str();
            if key == GLOBAL || names.wants_shared() {
                names.user = UserId::default();
            } else if let (Some(id), true) = (key.strip_prefix(USER), names.user.is_empty()) {
                let id = check::text(source.field(), id.to_owned(), limits::USER_ID_CHARS)?;
                names.user = UserId::new(id);
            }
        }
        Ok(names)
    }

    /// The app.
    pub fn app(&self) -> &AppId {
        &self.app
    }

    /// Where the key comes from; `None`: there is none yet.
    pub fn source(&self) -> Option<KeySource> {
        self.key.as_ref().map(|(_, source)| *source)
    }

    /// Whether it is the key that the app has to allow.
    pub fn wants_shared(&self) -> bool {
        let key = self.key.as_ref().map(|(key, _)| key.as_str());
        key.and_then(|key| key.strip_prefix(SHARED)) == Some(self.app.as_str())
    }

    /// The conversation that all users of the app share.
    pub fn shared(self) -> Self {
        let key = SessionKey::new(format!("{SHARED}{}", self.app));
        Self {
            key: Some((key, KeySource::SharedDefault)),
            user: UserId::default(),
            ..self
        }
    }

    /// The same with a new key where there is none.
    pub fn or_generated(self) -> Self {
        let new = || {
            let key = SessionKey::new(format!("session:{}", Uuid::now_v7()));
            (key, KeySource::Generated)
        };
        Self {
            key: Some(self.key.unwrap_or_else(new)),
            ..self
        }
    }

    /// The session and where its key comes from; the names where there is none.
    ///
    /// # Errors
    /// The names themselves, without a key.
    pub fn complete(self) -> Result<(Session, KeySource), Self> {
        match self.key {
            Some((key, source)) => {
                let (app, user) = (self.app, self.user);
                Ok((Session { app, user, key }, source))
            }
            None => Err(self),
        }
    }
}

impl KeySource {
    /// What a caller has to mend where the key is wrong: a field of the session,
    /// or a key of the call's metadata.
    pub fn field(self) -> &'static str {
        match self {
            Self::Agent => "agent_session_key",
            Self::Metadata => SESSION_METADATA,
            Self::Session | Self::SharedDefault | Self::Generated => "session_key",
        }
    }
}

/// The call's metadata that may hold a session key.
pub const SESSION_METADATA: &str = "x-recollect-session-id";

#[cfg(test)]
mod tests {
    use super::*;

    fn names(user: &str, key: Option<&str>) -> SessionNames {
        let key = key.map(|key| (SessionKey::new(key), KeySource::Session));
        SessionNames::new(AppId::new("app"), UserId::new(user), key).unwrap()
    }

    #[test]
    fn a_key_may_name_the_user_or_nobody() {
        let check = |user: &str, key: &str, expected: &str| {
            let (session, source) = names(user, Some(key)).complete().unwrap();
            assert_eq!(
                (session.user.as_str(), session.key.as_str()),
                (expected, key)
            );
            assert_eq!(source, KeySource::Session);
        };
        check("ada", "thread:1", "ada");
        check("", "thread:1", "");
        check("", "user:ada", "ada");
        check("bob", "user:ada", "bob");
        check("ada", "global", "");
        check("ada", "agent_memory:app", "");
        check("ada", "agent_memory:other", "ada");
    }

    #[test]
    fn a_missing_key_can_be_shared_or_made() {
        let without = names("ada", None);
        assert_eq!(without.clone().complete(), Err(without.clone()));
        let (shared, source) = without.clone().shared().complete().unwrap();
        assert_eq!(shared.key.as_str(), "agent_memory:app");
        assert_eq!(
            (shared.user.as_str(), source),
            ("", KeySource::SharedDefault)
        );
        let (made, source) = without.or_generated().complete().unwrap();
        assert!(made.key.as_str().starts_with("session:"));
        assert_eq!((made.user.as_str(), source), ("ada", KeySource::Generated));
    }
}
