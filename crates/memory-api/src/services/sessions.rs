//! Which conversation a call is about: by its id, or by the caller's names.

use memory_contract::proto::{SessionKeySource, SessionRef};
use memory_contract::{Invalid, Session, TenantId, ThreadId, check, session_from};
use memory_store::Store;
use tonic::metadata::MetadataMap;

use crate::error::ApiError;

/// A conversation as a request names it.
#[derive(Debug)]
pub(super) enum Conversation {
    Thread(ThreadId),
    Session(Session),
}

/// Reads `thread_id` or `session`, just one of the two. `Ok(None)`: neither.
pub(super) async fn conversation(
    store: &Store,
    tenant: &TenantId,
    metadata: &MetadataMap,
    thread_id: &str,
    session: Option<SessionRef>,
) -> Result<Option<Conversation>, ApiError> {
    match (thread_id.is_empty(), session) {
        (true, None) => Ok(None),
        (false, None) => Ok(Some(Conversation::Thread(ThreadId::from(check::uuid(
            "thread_id",
            thread_id,
        )?)))),
        (true, Some(session)) => {
            let (session, _) = session_of(store, tenant, metadata, session).await?;
            Ok(Some(Conversation::Session(session)))
        }
        (false, Some(_)) => {
            Err(Invalid::new("session", "must not be given together with thread_id").into())
        }
    }
}

/// The session that a request names, and where its key was taken from: the
/// session's own key, the agent's, the call's metadata, the app's shared default.
pub(super) async fn session_of(
    _store: &Store,
    _tenant: &TenantId,
    _metadata: &MetadataMap,
    session: SessionRef,
) -> Result<(Session, SessionKeySource), ApiError> {
    let session = session_from("session", Some(session), false)?;
    Ok((session, SessionKeySource::Session))
}
