//! A thread to create, and the parameters of `threads/open`.

use std::time::Duration;

use memory_contract::{ThreadId, json::JsonObject, policy::MemoryPolicy, thread::Session};
use memory_database::{EphemeralConfig, session_digest, words};
use memory_postgres::{Caller, Query, query};
use tokio_postgres::types::{Json, ToSql};
use uuid::Uuid;

/// A thread to create.
#[derive(Clone, Debug, PartialEq)]
pub struct NewThread {
    /// The caller's names for it.
    pub session: Session,
    /// A label for people.
    pub title: String,
    /// The caller's own data.
    pub metadata: JsonObject,
    /// How long it lives from now; `None` without end.
    pub ttl: Option<Duration>,
    /// Its policy, laid over its app's.
    pub policy: MemoryPolicy,
    /// Whether it ends when it is idle, and when all servers have stopped.
    pub ephemeral: bool,
}

impl NewThread {
    /// A thread with a session and defaults for the rest.
    pub fn of(session: Session) -> Self {
        Self {
            session,
            title: String::new(),
            metadata: JsonObject::default(),
            ttl: None,
            policy: MemoryPolicy::default(),
            ephemeral: false,
        }
    }
}

/// Finds the thread of a session, or creates it, with the parameters of [`Opening`].
pub const OPEN_THREAD: Query = query!("threads/open");

/// The parameters of [`OPEN_THREAD`].
pub struct Opening<'a> {
    tenant: &'a str,
    actor: &'a str,
    id: Uuid,
    app: &'a str,
    user: &'a str,
    key: &'a str,
    digest: Vec<u8>,
    title: &'a str,
    metadata: Json<&'a JsonObject>,
    ttl: Option<f64>,
    scope: Vec<String>,
    policy: Json<&'a MemoryPolicy>,
    /// Seconds; `None` for a thread that is not ephemeral.
    idle_ttl: Option<f64>,
    max_ephemeral: i64,
}

impl<'a> Opening<'a> {
    /// The parameters for a thread that gets this id if it is created.
    pub fn of(
        caller: &'a Caller,
        id: ThreadId,
        thread: &'a NewThread,
        limits: &EphemeralConfig,
    ) -> Self {
        let NewThread {
            session,
            title,
            metadata,
            ttl,
            policy,
            ephemeral,
        } = thread;
        let Session { app, user, key } = session;
        Self {
            tenant: caller.tenant.as_str(),
            actor: &caller.actor,
            id: id.uuid(),
            app: app.as_str(),
            user: user.as_str(),
            key: key.as_str(),
            digest: session_digest(session),
            title,
            metadata: Json(metadata),
            ttl: ttl.map(|ttl| ttl.as_secs_f64()),
            scope: words::scope_lexemes(&caller.tenant, id, session),
            policy: Json(policy),
            idle_ttl: ephemeral.then(|| limits.idle_ttl.as_secs_f64()),
            max_ephemeral: i64::try_from(limits.max_threads).unwrap_or(i64::MAX),
        }
    }

    /// In the order of the query.
    pub fn params(&self) -> [&(dyn ToSql + Sync); 14] {
        [
            &self.tenant,
            &self.actor,
            &self.id,
            &self.app,
            &self.user,
            &self.key,
            &self.digest,
            &self.title,
            &self.metadata,
            &self.ttl,
            &self.scope,
            &self.policy,
            &self.idle_ttl,
            &self.max_ephemeral,
        ]
    }
}
