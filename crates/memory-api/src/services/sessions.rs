//! Which conversation a call is about: by its id, or by the caller's names.

use memory_contract::proto::{SessionKeySource, SessionRef};
use memory_contract::{
    Invalid, PolicyLevel, ResolvedPolicy, SESSION_METADATA, Session, SessionKey, SessionNames,
    TenantId, ThreadId, check, limits, session_from,
};
use memory_store::Store;
use tonic::metadata::MetadataMap;

use super::threads::thread_id_from;
use crate::error::ApiError;

const FIELD: &str = "session";

/// A conversation as a request names it.
#[derive(Debug)]
pub(super) enum Conversation {
    Thread(ThreadId),
    Session(Session),
}

/// A conversation as far as the request alone tells.
#[derive(Clone, Debug)]
pub(super) enum Choice {
    Thread(ThreadId),
    Names(SessionNames),
}

/// Reads `thread_id` or `session`, just one of the two. `Ok(None)`: neither.
pub(super) async fn conversation(
    store: &Store,
    tenant: &TenantId,
    metadata: &MetadataMap,
    thread_id: &str,
    session: Option<SessionRef>,
) -> Result<Option<Conversation>, ApiError> {
    match choice(metadata, thread_id, session)? {
        Some(choice) => choice.complete(store, tenant).await.map(Some),
        None => Ok(None),
    }
}

/// Reads the names of a session.
pub(super) fn names(
    metadata: &MetadataMap,
    session: Option<SessionRef>,
) -> Result<SessionNames, Invalid> {
    session_from(FIELD, session, || key_of(metadata))
}

/// Reads `thread_id` or `session`, as far as that is possible without asking
/// the database.
pub(super) fn choice(
    metadata: &MetadataMap,
    thread_id: &str,
    session: Option<SessionRef>,
) -> Result<Option<Choice>, Invalid> {
    match (thread_id.is_empty(), session) {
        (true, None) => Ok(None),
        (false, None) => Ok(Some(Choice::Thread(thread_id_from(thread_id)?))),
        (true, session) => Ok(Some(Choice::Names(names(metadata, session)?))),
        (false, Some(_)) => Err(Invalid::new(
            FIELD,
            "must not be given together with thread_id",
        )),
    }
}

/// Like [`choice`], for calls that need one of the two.
pub(super) fn required_choice(
    metadata: &MetadataMap,
    thread_id: &str,
    session: Option<SessionRef>,
) -> Result<Choice, Invalid> {
    choice(metadata, thread_id, session)?
        .ok_or_else(|| Invalid::new("thread_id", "is required, or else session"))
}

impl Choice {
    /// Asks the app's policy where the key is up to it.
    pub(super) async fn complete(
        self,
        store: &Store,
        tenant: &TenantId,
    ) -> Result<Conversation, ApiError> {
        match self {
            Self::Thread(id) => Ok(Conversation::Thread(id)),
            Self::Names(names) => {
                let (session, _) = complete(store, tenant, names).await?;
                Ok(Conversation::Session(session))
            }
        }
    }

    /// Finds the thread. One that is named by its id may not be there.
    pub(super) async fn thread(
        self,
        store: &Store,
        tenant: &TenantId,
    ) -> Result<ThreadId, ApiError> {
        match self.complete(store, tenant).await? {
            Conversation::Thread(id) => Ok(id),
            Conversation::Session(session) => Ok(store.find_thread(tenant, &session).await?.id),
        }
    }
}

/// Makes a session of its names. The app's policy is read only where it has a
/// say: where no key is named, and for the key of the shared default.
pub(super) async fn complete(
    store: &Store,
    tenant: &TenantId,
    names: SessionNames,
) -> Result<(Session, SessionKeySource), ApiError> {
    let names = if names.source().is_none() || names.wants_shared() {
        let app = store.app_policy(tenant, names.app()).await?.policy;
        let policy = ResolvedPolicy::resolve(&[(PolicyLevel::App, &app)]);
        match (policy.shared_session_default, names.source()) {
            (true, Some(_)) => names,
            (true, None) => names.shared(),
            (false, Some(source)) => {
                return Err(wrong_key(
                    source.field(),
                    "is the app's shared default, which its policy does not allow: \
                     set shared_session_default",
                )
                .into());
            }
            (false, None) => return Err(missing_key().into()),
        }
    } else {
        names
    };
    match names.complete() {
        Ok((session, source)) => Ok((session, source.into())),
        Err(_) => Err(missing_key().into()),
    }
}

/// The key in the call's metadata, as it is.
fn key_of(metadata: &MetadataMap) -> Result<Option<SessionKey>, Invalid> {
    let wrong = |problem: &str| Invalid::new(SESSION_METADATA, problem);
    let mut values = metadata.get_all(SESSION_METADATA).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        return Err(wrong("must stand in the call's metadata only once"));
    }
    let key = std::str::from_utf8(value.as_encoded_bytes()).map_err(|_| wrong("must be UTF-8"))?;
    let key = check::required_text(SESSION_METADATA, key.to_owned(), limits::SESSION_KEY_CHARS)?;
    Ok(Some(SessionKey::new(key)))
}

fn missing_key() -> Invalid {
    wrong_key(
        "session_key",
        &format!(
            "is required: 1 to {} characters; or else agent_session_key, the call's metadata \
             `{SESSION_METADATA}`, or shared_session_default in the app's policy",
            limits::SESSION_KEY_CHARS
        ),
    )
}

/// A wrong key, at the field of the session or the metadata that it comes from.
fn wrong_key(field: &str, problem: &str) -> Invalid {
    let invalid = Invalid::new(field, problem);
    match field {
        SESSION_METADATA => invalid,
        _ => invalid.within(FIELD),
    }
}

#[cfg(test)]
mod tests {
    use tonic::metadata::MetadataValue;

    use super::*;

    fn with(values: &[&[u8]]) -> MetadataMap {
        let mut metadata = MetadataMap::new();
        for value in values {
            metadata.append(SESSION_METADATA, MetadataValue::try_from(*value).unwrap());
        }
        metadata
    }

    #[test]
    fn a_key_in_the_metadata_is_taken_as_it_is() {
        assert_eq!(key_of(&with(&[])), Ok(None));
        let check = |value: &str| {
            let expected = Ok(Some(SessionKey::new(value)));
            assert_eq!(key_of(&with(&[value.as_bytes()])), expected);
        };
        check("thread:42");
        check("Grüße, 你好");
        check(" two words ");
        check(&"ü".repeat(512));
    }

    #[test]
    fn a_key_in_the_metadata_has_to_be_one_text() {
        let long = "x".repeat(513);
        for values in [
            vec![b"".as_slice()],
            vec![b"\xff\xfe"],
            vec![long.as_bytes()],
            vec![b"a", b"a"],
        ] {
            let invalid = key_of(&with(&values)).unwrap_err();
            assert_eq!(invalid.field, SESSION_METADATA);
        }
    }
}
