//! The URIs of conversations.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::owner::Owner;

const PREFIX: &str = "recollect://apps/";
/// The form of all URIs.
pub(crate) const TEMPLATE: &str = "recollect://apps/{app}/users/{user}/threads/{session}";

/// The escaped characters of a name: all but the unreserved ones of RFC 3986.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The URI of a conversation.
pub(crate) fn uri_of(owner: &Owner, session: &str) -> String {
    let escape = |name| utf8_percent_encode(name, ESCAPED);
    format!(
        "{PREFIX}{}/users/{}/threads/{}",
        escape(&owner.app),
        escape(&owner.user),
        escape(session)
    )
}

/// The app, user and session of a URI.
pub(crate) fn names_of(uri: &str) -> Option<[String; 3]> {
    let mut segments = uri.strip_prefix(PREFIX)?.split('/');
    let mut next = || segments.next();
    let (app, users, user, threads, session) = (next()?, next()?, next()?, next()?, next()?);
    if users != "users" || threads != "threads" || segments.next().is_some() {
        return None;
    }
    let name = |text| {
        let text = percent_decode_str(text).decode_utf8().ok()?;
        (!text.is_empty()).then(|| text.into_owned())
    };
    Some([name(app)?, name(user)?, name(session)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_names_a_conversation_in_any_script() {
        let owner = Owner {
            app: "my app".to_owned(),
            user: "zoë/../eve@example.com".to_owned(),
        };
        let uri = uri_of(&owner, "thread:4/2?#");
        assert_eq!(uri.matches('/').count(), 7, "{uri}");
        let names = names_of(&uri).unwrap();
        assert_eq!(names, [owner.app, owner.user, "thread:4/2?#".to_owned()]);
    }

    #[test]
    fn other_uris_name_nothing() {
        for other in [
            "",
            "recollect://apps/a/users/u/threads/",
            "recollect://apps/a/users//threads/t",
            "recollect://apps/a/users/u/threads/t/more",
            "recollect://apps/a/users/u/messages/t",
            "recollect://apps/a/users/u/threads/%ff",
            "https://apps/a/users/u/threads/t",
        ] {
            assert_eq!(names_of(other), None, "{other}");
        }
    }
}
