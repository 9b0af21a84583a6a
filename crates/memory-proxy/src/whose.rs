//! Whose memory a request is about.
//!
//! Names come from the headers `x-recollect-…`, or else from the settings and the body. A name
//! that cannot be used is never replaced by another one: a failed look-up of a user must not
//! end in the memory of another user.

use http::HeaderMap;
use memory_contract::{
    AppId, SessionKey, UserId, limits,
    proto::{SessionRef, ThreadRef},
    thread::{KeySource, SessionNames},
};

use crate::asked::Named;
use crate::config::ProxyConfig;

/// What the names of headers that are for the proxy alone begin with.
pub(crate) const OWN_HEADERS: &str = "x-recollect-";
const APP_HEADER: &str = "x-recollect-app";
const USER_HEADER: &str = "x-recollect-user";
const SESSION_HEADER: &str = "x-recollect-session";

/// A conversation of a user of an app.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Whose {
    pub(crate) app: String,
    pub(crate) user: String,
    pub(crate) session: String,
    /// Whether the request names the conversation. Otherwise its beginning does.
    pub(crate) is_named: bool,
}

/// Why a request has no memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoMemory {
    /// It names no user.
    NoUser,
    /// The name of the user, the app or the conversation cannot be used.
    User,
    App,
    Session,
}

impl NoMemory {
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Self::NoUser => "no user",
            Self::User => "invalid user",
            Self::App => "invalid app",
            Self::Session => "invalid session",
        }
    }
}

impl Whose {
    /// Reads the names. `derived` is the session of a request that names none.
    pub(crate) fn read(
        config: &ProxyConfig,
        headers: &HeaderMap,
        named: &Named,
        derived: impl FnOnce(&str, &str) -> String,
    ) -> Result<Self, NoMemory> {
        let user = header(headers, USER_HEADER).map_err(|()| NoMemory::User)?;
        let user = user.or_else(|| config.user.clone());
        let user = user
            .or_else(|| named.user.clone())
            .ok_or(NoMemory::NoUser)?;
        if !is_name(&user, limits::USER_ID_CHARS) {
            return Err(NoMemory::User);
        }
        let app = header(headers, APP_HEADER).map_err(|()| NoMemory::App)?;
        let app = app.unwrap_or_else(|| config.app.clone());
        if !is_name(&app, limits::APP_ID_CHARS) {
            return Err(NoMemory::App);
        }
        let session = header(headers, SESSION_HEADER).map_err(|()| NoMemory::Session)?;
        let session = session.or_else(|| named.conversation.clone());
        let is_named = session.is_some();
        let session = session.unwrap_or_else(|| derived(&app, &user));
        let names = SessionNames::new(
            AppId::new(app.as_str()),
            UserId::new(user.as_str()),
            Some((SessionKey::new(session.as_str()), KeySource::Session)),
        );
        // Such as one that all users share.
        if names.is_err() || !is_name(&session, limits::SESSION_KEY_CHARS) {
            return Err(NoMemory::Session);
        }
        Ok(Self {
            app,
            user,
            session,
            is_named,
        })
    }

    /// The conversation as calls name it.
    pub(crate) fn thread(&self) -> ThreadRef {
        SessionRef {
            app_id: self.app.clone(),
            user_id: self.user.clone(),
            session_key: self.session.clone(),
            agent_session_key: String::new(),
        }
        .into()
    }
}

/// The value of a header; an error if it is there twice, or not UTF-8.
fn header(headers: &HeaderMap, name: &str) -> Result<Option<String>, ()> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    let text = std::str::from_utf8(value.as_bytes()).map_err(|_| ())?;
    match values.next() {
        None => Ok(Some(text.to_owned())),
        Some(_) => Err(()),
    }
}

fn is_name(text: &str, most: usize) -> bool {
    !text.trim().is_empty() && !text.contains('\0') && text.chars().count() <= most
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http::HeaderValue;

    use super::*;
    use crate::config::Upstreams;

    fn config(user: Option<&str>) -> ProxyConfig {
        ProxyConfig {
            upstreams: Upstreams::new("http://a", "http://b").unwrap(),
            hosts: Vec::new(),
            app: "default".to_owned(),
            user: user.map(str::to_owned),
            recall_timeout: Duration::from_millis(500),
            memory_tokens: 4_000,
        }
    }

    fn read(
        config: &ProxyConfig,
        headers: &[(&'static str, &str)],
        user: Option<&str>,
        conversation: Option<&str>,
    ) -> Result<Whose, NoMemory> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        let named = Named {
            user: user.map(str::to_owned),
            conversation: conversation.map(str::to_owned),
        };
        Whose::read(config, &map, &named, |_, _| "derived".to_owned())
    }

    #[test]
    fn a_header_comes_before_the_setting_and_the_setting_before_the_body() {
        let user = |config: &ProxyConfig, headers: &[(&'static str, &str)], body| {
            read(config, headers, body, None).map(|whose| whose.user)
        };
        let header = [("x-recollect-user", "Zoë")];
        let (open, fixed) = (config(None), config(Some("ada")));
        assert_eq!(user(&fixed, &header, Some("eve")), Ok("Zoë".to_owned()));
        assert_eq!(user(&fixed, &[], Some("eve")), Ok("ada".to_owned()));
        assert_eq!(user(&open, &[], Some("eve")), Ok("eve".to_owned()));
        assert_eq!(user(&open, &[], None), Err(NoMemory::NoUser));
    }

    #[test]
    fn a_name_that_cannot_be_used_is_not_replaced() {
        let fixed = config(Some("ada"));
        let check = |headers: &[(&'static str, &str)], expected| {
            assert_eq!(read(&fixed, headers, Some("eve"), None), Err(expected));
        };
        check(&[("x-recollect-user", "")], NoMemory::User);
        check(&[("x-recollect-user", " ")], NoMemory::User);
        check(
            &[("x-recollect-user", "a"), ("x-recollect-user", "b")],
            NoMemory::User,
        );
        check(&[("x-recollect-app", "")], NoMemory::App);
        check(&[("x-recollect-session", "")], NoMemory::Session);
        assert_eq!(read(&fixed, &[], None, Some("")), Err(NoMemory::Session));
        assert_eq!(
            read(&config(None), &[], Some(""), None),
            Err(NoMemory::User)
        );
    }

    #[test]
    fn a_conversation_of_others_has_no_memory() {
        let fixed = config(Some("ada"));
        for session in ["global", "user:eve", "agent_memory:default"] {
            let headers = [("x-recollect-session", session)];
            let refused = read(&fixed, &headers, None, None);
            assert_eq!(refused, Err(NoMemory::Session), "{session}");
        }
        let own = read(&fixed, &[("x-recollect-session", "user:ada")], None, None);
        assert!(own.unwrap().is_named);
        let derived = read(&fixed, &[], None, None).unwrap();
        assert_eq!((&*derived.session, derived.is_named), ("derived", false));
    }
}
