//! Whose memory a call is about.

use http::HeaderMap;
use memory_contract::{
    AppId, SessionKey, UserId, limits, proto,
    thread::{KeySource, SessionNames},
};
use serde_json::{Map, Value};

use crate::failure::Failure;

/// The app of calls that name none.
const DEFAULT_APP: &str = "default";
/// The arguments that name the owner; absent from the schema of a tool where they are fixed.
pub(crate) const APP: &str = "app";
pub(crate) const USER: &str = "user";
/// The headers that fix them over HTTP.
const APP_HEADER: &str = "x-recollect-app";
const USER_HEADER: &str = "x-recollect-user";

/// The app and the user that the configuration sets. `None`: each call names its own; without
/// one, the app is `default`, and the user is required.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fixed {
    pub(crate) app: Option<String>,
    pub(crate) user: Option<String>,
}

/// A user of an app.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) app: String,
    pub(crate) user: String,
}

impl Fixed {
    /// Fixes the names that are given.
    ///
    /// # Errors
    /// The problem of a name, in words.
    pub fn new(app: Option<String>, user: Option<String>) -> Result<Self, String> {
        let fixed = Self { app, user };
        fixed.checked().map_err(|failure| failure.to_string())
    }

    /// What the headers of an HTTP request fix.
    ///
    /// # Errors
    /// A value that is not UTF-8 or has a wrong length, and a header that is there twice.
    pub(crate) fn from_headers(headers: &HeaderMap) -> Result<Self, Failure> {
        let read = |name: &str| {
            let mut values = headers.get_all(name).iter();
            let value = values.next();
            if values.next().is_some() {
                return Err(Failure::input(format!("send the header {name} once")));
            }
            let value = value.map(|value| {
                let text = std::str::from_utf8(value.as_bytes());
                text.map_err(|_| Failure::input(format!("the header {name} must be UTF-8")))
            });
            Ok::<_, Failure>(value.transpose()?.map(str::to_owned))
        };
        Self {
            app: read(APP_HEADER)?,
            user: read(USER_HEADER)?,
        }
        .checked()
    }

    /// The same, if both are within their limits.
    fn checked(self) -> Result<Self, Failure> {
        check_name(APP, self.app.as_deref(), limits::APP_ID_CHARS)?;
        check_name(USER, self.user.as_deref(), limits::USER_ID_CHARS)?;
        Ok(self)
    }

    /// The owner of a call with these arguments, whose names it takes out of them.
    ///
    /// # Errors
    /// A name that differs from the fixed one, and a missing user.
    pub(crate) fn owner(&self, arguments: &mut Map<String, Value>) -> Result<Owner, Failure> {
        let app = take(arguments, APP)?;
        let user = take(arguments, USER)?;
        self.named(app, user)
    }

    /// The owner of a call that names these.
    ///
    /// # Errors
    /// As [`Self::owner`].
    pub(crate) fn named(
        &self,
        app: Option<String>,
        user: Option<String>,
    ) -> Result<Owner, Failure> {
        let app = one_of(APP, self.app.as_deref(), app)?;
        let user = one_of(USER, self.user.as_deref(), user)?;
        let user = user.ok_or_else(|| {
            Failure::input(
                "`user` is required: pass the id of the person that the conversation is with",
            )
        })?;
        let app = app.unwrap_or_else(|| DEFAULT_APP.to_owned());
        let given = Self {
            app: Some(app.clone()),
            user: Some(user.clone()),
        };
        given.checked()?;
        Ok(Owner { app, user })
    }
}

impl Owner {
    pub(crate) fn user_ref(&self) -> proto::UserRef {
        proto::UserRef {
            app_id: self.app.clone(),
            user_id: self.user.clone(),
        }
    }

    /// One of the owner's conversations.
    ///
    /// # Errors
    /// A missing key, and one of a conversation of another user or of all users.
    pub(crate) fn session(&self, key: &str) -> Result<proto::SessionRef, Failure> {
        check_name("session", Some(key), limits::SESSION_KEY_CHARS)?;
        let names = SessionNames::new(
            AppId::new(self.app.as_str()),
            UserId::new(self.user.as_str()),
            Some((SessionKey::new(key), KeySource::Session)),
        );
        names.map_err(|_| {
            Failure::input(format!(
                "`session` must be a conversation of the user; {key:?} names one of another user \
                 or of all users: choose another name"
            ))
        })?;
        Ok(proto::SessionRef {
            app_id: self.app.clone(),
            user_id: self.user.clone(),
            session_key: key.to_owned(),
            agent_session_key: String::new(),
        })
    }

    /// The app of something found, if it is another than the owner's: apps may share a memory
    /// space.
    pub(crate) fn other_app(&self, app: &str) -> Option<String> {
        (self.app != app).then(|| app.to_owned())
    }

    /// Whether a memory or thread with these names is the owner's.
    pub(crate) fn has(&self, app: &str, user: &str) -> bool {
        self.app == app && self.user == user
    }
}

/// The fixed name, or else the one that was given.
fn one_of(
    what: &str,
    fixed: Option<&str>,
    given: Option<String>,
) -> Result<Option<String>, Failure> {
    match (fixed, given) {
        (Some(fixed), Some(given)) if fixed != given => Err(Failure::input(format!(
            "`{what}` is set by the configuration and cannot be changed; leave it out"
        ))),
        (Some(fixed), _) => Ok(Some(fixed.to_owned())),
        (None, given) => Ok(given),
    }
}

fn take(arguments: &mut Map<String, Value>, name: &str) -> Result<Option<String>, Failure> {
    match arguments.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(Failure::input(format!("`{name}` must be a string"))),
    }
}

fn check_name(what: &str, name: Option<&str>, most: usize) -> Result<(), Failure> {
    let fits = |name: &str| !name.is_empty() && name.chars().count() <= most;
    match name.is_none_or(fits) {
        true => Ok(()),
        false => Err(Failure::input(format!(
            "`{what}` must have 1 to {most} characters"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn owner(fixed: &Fixed, arguments: Value) -> Result<Owner, String> {
        let Value::Object(mut arguments) = arguments else {
            panic!("{arguments}");
        };
        fixed
            .owner(&mut arguments)
            .map_err(|failure| failure.to_string())
    }

    fn fixed(app: &str, user: &str) -> Fixed {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Fixed {
            app: some(app),
            user: some(user),
        }
    }

    #[test]
    fn a_call_names_what_is_not_fixed() {
        let check = |fixed: Fixed, arguments: Value, app: &str, user: &str| {
            let expected = Owner {
                app: app.to_owned(),
                user: user.to_owned(),
            };
            assert_eq!(owner(&fixed, arguments), Ok(expected));
        };
        check(fixed("", ""), json!({"user": "ada"}), "default", "ada");
        check(
            fixed("", ""),
            json!({"user": "ada", "app": "b"}),
            "b",
            "ada",
        );
        check(fixed("a", "ada"), json!({}), "a", "ada");
        check(fixed("a", "ada"), json!({"user": "ada"}), "a", "ada");
        check(fixed("", "ada"), json!({"app": "b"}), "b", "ada");
    }

    #[test]
    fn what_is_fixed_cannot_be_changed() {
        for (fixed, arguments) in [
            (fixed("a", "ada"), json!({"user": "eve"})),
            (fixed("a", "ada"), json!({"app": "b"})),
            (fixed("", "ada"), json!({"user": ""})),
            (fixed("", ""), json!({})),
            (fixed("", ""), json!({"user": ""})),
            (fixed("", ""), json!({"user": 7})),
            (fixed("", ""), json!({"user": "u".repeat(257)})),
        ] {
            assert!(owner(&fixed, arguments.clone()).is_err(), "{arguments}");
        }
    }

    #[test]
    fn a_conversation_of_others_is_not_the_users_own() {
        let owner = fixed("a", "ada").named(None, None).unwrap();
        for own in ["42", "thread:1", "user:ada", "agent_memory:b", "globals"] {
            let session = owner.session(own).unwrap();
            assert_eq!(session.user_id, "ada", "{own}");
        }
        for other in ["global", "agent_memory:a", "user:eve", ""] {
            assert!(owner.session(other).is_err(), "{other}");
        }
    }

    #[test]
    fn headers_fix_app_and_user() {
        let headers = |user: &[u8]| {
            let mut headers = HeaderMap::new();
            headers.insert(USER_HEADER, http::HeaderValue::from_bytes(user).unwrap());
            headers
        };
        let read = Fixed::from_headers(&headers("Zoë".as_bytes())).unwrap();
        assert_eq!(read, fixed("", "Zoë"));
        assert!(Fixed::from_headers(&headers(b"\xff")).is_err());
        assert!(Fixed::from_headers(&headers(b"")).is_err());
        let none = Fixed::from_headers(&HeaderMap::new()).unwrap();
        assert_eq!(none, Fixed::default());
    }
}
