//! Threads, branches and sessions.

use uuid::Uuid;

use super::{json, timestamp};
use crate::{
    AppId, Branch, Invalid, Session, SessionKey, Thread, ThreadId, UserId, check, limits, proto,
};

/// The session key that all users of an app share.
const GLOBAL: &str = "global";
/// In front of a user's id, a session key that is the user's only conversation.
const USER: &str = "user:";

/// Reads a session. A missing key is an error, unless `make_key` fills it.
///
/// # Errors
/// A missing session, app or key, and names over their limits.
pub fn session_from(
    field: &str,
    session: Option<proto::SessionRef>,
    make_key: bool,
) -> Result<Session, Invalid> {
    let Some(proto::SessionRef {
        app_id,
        user_id,
        session_key,
        agent_session_key: _,
    }) = session
    else {
        return Err(Invalid::missing(field));
    };
    let within = |invalid: Invalid| invalid.within(field);
    let app = check::required_text("app_id", app_id, limits::APP_ID_CHARS).map_err(within)?;
    let user = check::text("user_id", user_id, limits::USER_ID_CHARS).map_err(within)?;
    let key = if session_key.is_empty() && make_key {
        format!("session:{}", Uuid::now_v7())
    } else {
        check::required_text("session_key", session_key, limits::SESSION_KEY_CHARS)
            .map_err(within)?
    };
    let user = match key.strip_prefix(USER) {
        _ if key == GLOBAL => String::new(),
        Some(id) if user.is_empty() => {
            check::text("session_key", id.to_owned(), limits::USER_ID_CHARS).map_err(within)?
        }
        _ => user,
    };
    Ok(Session {
        app: AppId::new(app),
        user: UserId::new(user),
        key: SessionKey::new(key),
    })
}

/// Reads a thread named by its id or by its session: just one of the two.
///
/// # Errors
/// Neither, both, or one that is not valid.
pub fn thread_choice(
    thread_id: &str,
    session: Option<proto::SessionRef>,
) -> Result<Result<ThreadId, Session>, Invalid> {
    match (thread_id.is_empty(), session) {
        (false, None) => Ok(Ok(ThreadId::from(check::uuid("thread_id", thread_id)?))),
        (true, Some(session)) => session_from("session", Some(session), false).map(Err),
        (true, None) => Err(Invalid::new("thread_id", "is required, or else session")),
        (false, Some(_)) => Err(Invalid::new(
            "session",
            "must not be given together with thread_id",
        )),
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
        } = thread;
        Self {
            thread_id: id.to_string(),
            app_id: app.into(),
            user_id: user.into(),
            session_key: key.into(),
            title,
            metadata: json::to_optional_struct(metadata),
            last_seq,
            head_message_id: head.map(|id| id.to_string()).unwrap_or_default(),
            message_count,
            create_time: Some(timestamp(created)),
            update_time: Some(timestamp(updated)),
            expire_time: expires.map(timestamp),
            policy: (!policy.is_empty()).then(|| policy.into()),
            ephemeral,
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
