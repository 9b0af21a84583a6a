//! The conversation that a call is about: a thread by its id, or a session by its names.

use memory_context::Conversation;
use memory_contract::proto::{self, SessionKeySource, SessionRef, ThreadRef, thread_ref};
use memory_contract::{
    Invalid, SessionKey, ThreadId, check,
    convert::session_from,
    limits,
    policy::PolicyLevel,
    thread::{SESSION_METADATA, Session, SessionNames, Thread},
};
use memory_store::{Caller, Store};
use tonic::metadata::MetadataMap;

use super::ids::thread_id_from;
use crate::error::ApiError;

/// The field of requests that names a thread.
const THREAD: &str = "thread";
/// The field of requests that create a thread.
const SESSION: &str = "session";

/// A conversation as a request names it. The key of a session may be missing.
#[derive(Clone, Debug)]
pub enum NamedConversation {
    /// By its id.
    Thread(ThreadId),
    /// By its session's names.
    Session(SessionAt),
}

/// The names of a session, and the path of the field that has them.
#[derive(Clone, Debug)]
pub struct SessionAt {
    /// The names.
    pub names: SessionNames,
    /// The path, such as `thread.session`.
    pub field: String,
}

impl SessionAt {
    /// The same session, with a generated key if no key is set.
    pub fn or_generated(self) -> Self {
        Self {
            names: self.names.or_generated(),
            ..self
        }
    }
}

/// Reads `session`, with the key of the call's metadata.
pub fn session_names_from(
    metadata: &MetadataMap,
    session: Option<SessionRef>,
) -> Result<SessionAt, Invalid> {
    session_at(SESSION, session, || key_of(metadata))
}

fn session_at(
    field: &str,
    session: Option<SessionRef>,
    further: impl FnOnce() -> Result<Option<SessionKey>, Invalid>,
) -> Result<SessionAt, Invalid> {
    Ok(SessionAt {
        names: session_from(field, session, further)?,
        field: field.to_owned(),
    })
}

/// Reads the thread that a request names, if it names one.
pub fn conversation_from(
    metadata: &MetadataMap,
    named: Option<ThreadRef>,
) -> Result<Option<NamedConversation>, Invalid> {
    conversation_at(metadata, THREAD, named)
}

/// As [`conversation_from`], in another field.
pub fn conversation_at(
    metadata: &MetadataMap,
    field: &str,
    named: Option<ThreadRef>,
) -> Result<Option<NamedConversation>, Invalid> {
    read_at(field, named, || key_of(metadata))
}

/// As [`conversation_from`], where the metadata does not name a session.
pub fn streamed_conversation_from(named: Option<ThreadRef>) -> Result<NamedConversation, Invalid> {
    read_at(THREAD, named, || Ok(None))?.ok_or_else(|| missing(THREAD))
}

fn read_at(
    field: &str,
    named: Option<ThreadRef>,
    further: impl FnOnce() -> Result<Option<SessionKey>, Invalid>,
) -> Result<Option<NamedConversation>, Invalid> {
    let Some(ThreadRef { thread }) = named else {
        return Ok(None);
    };
    match thread {
        Some(thread_ref::Thread::ThreadId(id)) => thread_id_from(&id)
            .map(|id| Some(NamedConversation::Thread(id)))
            .map_err(|invalid| invalid.within(field)),
        Some(thread_ref::Thread::Session(session)) => {
            let at = session_at(&format!("{field}.{SESSION}"), Some(session), further)?;
            Ok(Some(NamedConversation::Session(at)))
        }
        None => Err(Invalid::new(field, "must have a thread_id or a session")),
    }
}

/// Like [`conversation_from`], for calls that need a conversation.
pub fn required_conversation_from(
    metadata: &MetadataMap,
    named: Option<ThreadRef>,
) -> Result<NamedConversation, Invalid> {
    required_conversation_at(metadata, THREAD, named)
}

/// Like [`conversation_at`], for calls that need a conversation.
pub fn required_conversation_at(
    metadata: &MetadataMap,
    field: &str,
    named: Option<ThreadRef>,
) -> Result<NamedConversation, Invalid> {
    conversation_at(metadata, field, named)?.ok_or_else(|| missing(field))
}

fn missing(field: &str) -> Invalid {
    Invalid::new(field, "is required: a thread_id or a session")
}

/// Reads the thread that the resource in the field `thread` names: by its id, or else by
/// the caller's own names.
pub fn resource_from(thread: &proto::Thread) -> Result<NamedConversation, Invalid> {
    let field = "thread";
    let proto::Thread {
        thread_id,
        app_id,
        user_id,
        session_key,
        ..
    } = thread;
    if !thread_id.is_empty() {
        let id = thread_id_from(thread_id).map_err(|invalid| invalid.within(field))?;
        return Ok(NamedConversation::Thread(id));
    }
    if app_id.is_empty() || session_key.is_empty() {
        let problem = "is required, or else app_id, user_id and session_key";
        return Err(Invalid::new("thread_id", problem).within(field));
    }
    let session = SessionRef {
        app_id: app_id.clone(),
        user_id: user_id.clone(),
        session_key: session_key.clone(),
        ..Default::default()
    };
    session_at(field, Some(session), || Ok(None)).map(NamedConversation::Session)
}

impl NamedConversation {
    /// Completes the session. A thread may not be stored.
    pub async fn resolve(self, store: &Store, caller: &Caller) -> Result<Conversation, ApiError> {
        match self {
            Self::Thread(id) => Ok(Conversation::Thread(id)),
            Self::Session(names) => {
                let (session, _) = resolve_session(store, caller, names).await?;
                Ok(Conversation::Session(session))
            }
        }
    }

    /// The id of the thread. One that is named by its id may not be stored.
    pub async fn thread(self, store: &Store, caller: &Caller) -> Result<ThreadId, ApiError> {
        match self {
            Self::Thread(id) => Ok(id),
            named => Ok(named.stored_thread(store, caller).await?.id),
        }
    }

    /// Reads the thread.
    pub async fn stored_thread(self, store: &Store, caller: &Caller) -> Result<Thread, ApiError> {
        match self.resolve(store, caller).await? {
            Conversation::Thread(id) => Ok(store.threads(caller).get_thread(id).await?),
            Conversation::Session(session) => {
                Ok(store.threads(caller).find_thread(&session).await?)
            }
        }
    }
}

/// Completes a session, and says where its key comes from. The policy of the app is only
/// read if no key is named, or that of the shared default.
pub async fn resolve_session(
    store: &Store,
    caller: &Caller,
    SessionAt { names, field }: SessionAt,
) -> Result<(Session, SessionKeySource), ApiError> {
    let names = if names.source().is_none() || names.wants_shared() {
        let app = store.policies(caller).app_policy(names.app()).await?.policy;
        let policy = store.resolve_policy(&[(PolicyLevel::App, &app)]);
        match (policy.shared_session_default, names.source()) {
            (_, None) if policy.flow_session_default => names.of_flow(),
            (true, Some(_)) => names,
            (true, None) => names.shared(),
            (false, Some(source)) => {
                return Err(wrong_key(
                    &field,
                    source.field(),
                    "is the app's shared default, which its policy does not allow: \
                     set shared_session_default",
                )
                .into());
            }
            (false, None) => return Err(missing_key(&field).into()),
        }
    } else {
        names
    };
    match names.complete() {
        Ok((session, source)) => Ok((session, source.into())),
        Err(_) => Err(missing_key(&field).into()),
    }
}

/// The key in the call's metadata, unchanged.
fn key_of(metadata: &MetadataMap) -> Result<Option<SessionKey>, Invalid> {
    let wrong = |problem: &str| Invalid::new(SESSION_METADATA, problem);
    let mut values = metadata.get_all(SESSION_METADATA).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        return Err(wrong("must not be repeated in the metadata of the call"));
    }
    let key = std::str::from_utf8(value.as_encoded_bytes()).map_err(|_| wrong("must be UTF-8"))?;
    let key = check::required_text(SESSION_METADATA, key.to_owned(), limits::SESSION_KEY_CHARS)?;
    Ok(Some(SessionKey::new(key)))
}

fn missing_key(field: &str) -> Invalid {
    wrong_key(
        field,
        "session_key",
        &format!(
            "is required: 1 to {} characters; or else agent_session_key, the call's metadata \
             `{SESSION_METADATA}`, or flow_session_default or shared_session_default in the \
             app's policy",
            limits::SESSION_KEY_CHARS
        ),
    )
}

/// An error about the key of the session at the path `session`, at the field or metadata that
/// it comes from.
fn wrong_key(session: &str, field: &str, problem: &str) -> Invalid {
    let invalid = Invalid::new(field, problem);
    match field {
        SESSION_METADATA => invalid,
        _ => invalid.within(session),
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
