//! Converts threads, branches and sessions.

use super::timestamp;
use crate::thread::SESSION_METADATA;
use crate::{
    AppId, Invalid, SessionKey, UserId, check, limits,
    message::Branch,
    proto,
    thread::{KeySource, Session, SessionNames, Thread},
};

/// Reads the names of a session. The session's own key takes precedence over the agent's;
/// without either, `further` may supply one.
///
/// # Errors
/// A missing session or app, names over their limits, and the errors of `further`. Each
/// has the path below `field`, except those of the gRPC metadata.
pub fn session_from(
    field: &str,
    session: Option<proto::SessionRef>,
    further: impl FnOnce() -> Result<Option<SessionKey>, Invalid>,
) -> Result<SessionNames, Invalid> {
    let Some(proto::SessionRef {
        app_id,
        user_id,
        session_key,
        agent_session_key,
    }) = session
    else {
        return Err(Invalid::missing(field));
    };
    let within = |invalid: Invalid| match invalid.field.as_str() {
        SESSION_METADATA => invalid,
        _ => invalid.within(field),
    };
    let key = |source: KeySource, key: String| {
        let key = check::text(source.field(), key, limits::SESSION_KEY_CHARS)?;
        Ok((!key.is_empty()).then(|| (SessionKey::new(key), source)))
    };
    let app = check::required_text("app_id", app_id, limits::APP_ID_CHARS).map_err(within)?;
    let user = check::text("user_id", user_id, limits::USER_ID_CHARS).map_err(within)?;
    let own = key(KeySource::Session, session_key).map_err(within)?;
    let agents = key(KeySource::Agent, agent_session_key).map_err(within)?;
    let key = match own.or(agents) {
        Some(key) => Some(key),
        None => further()?.map(|key| (key, KeySource::Metadata)),
    };
    SessionNames::new(AppId::new(app), UserId::new(user), key).map_err(within)
}

impl From<KeySource> for proto::SessionKeySource {
    fn from(source: KeySource) -> Self {
        match source {
            KeySource::Session => Self::Session,
            KeySource::Agent => Self::Agent,
            KeySource::Metadata => Self::Metadata,
            KeySource::SharedDefault => Self::SharedDefault,
            KeySource::FlowDefault => Self::FlowDefault,
            KeySource::Generated => Self::Generated,
        }
    }
}

impl From<Thread> for proto::Thread {
    fn from(thread: Thread) -> Self {
        let Thread {
            id,
            session: Session { app, user, key },
            title,
            metadata,
            last_seq,
            head,
            message_count,
            created,
            updated,
            expires,
            policy,
            ephemeral,
            etag,
        } = thread;
        Self {
            thread_id: id.to_string(),
            app_id: app.into(),
            user_id: user.into(),
            session_key: key.into(),
            title,
            metadata: metadata.into_text(),
            last_seq,
            head_message_id: head.map(|id| id.to_string()).unwrap_or_default(),
            message_count,
            create_time: Some(timestamp(created)),
            update_time: Some(timestamp(updated)),
            expire_time: expires.map(timestamp),
            policy: (!policy.is_empty()).then(|| policy.into()),
            ephemeral,
            ttl: None,
            etag,
        }
    }
}

impl From<Branch> for proto::Branch {
    fn from(branch: Branch) -> Self {
        let Branch {
            branch,
            head,
            fork,
            message_count,
            depth,
            active,
            created,
        } = branch;
        Self {
            branch,
            head_message_id: head.map(|id| id.to_string()).unwrap_or_default(),
            fork_message_id: fork.map(|id| id.to_string()).unwrap_or_default(),
            message_count,
            depth,
            active,
            create_time: Some(timestamp(created)),
        }
    }
}
