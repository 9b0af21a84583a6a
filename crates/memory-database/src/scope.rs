//! The messages that a search may find.

use memory_contract::{AppId, ThreadId, UserId, policy::MemoryScope, thread::Session};
use uuid::Uuid;

/// The messages that a search may find. The tenant always bounds it as well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Messages of one thread.
    Thread(ThreadId),
    /// Messages in all threads of one user of an app.
    User {
        /// The app of the threads.
        app: AppId,
        /// The user; never empty.
        user: UserId,
    },
    /// Messages in all threads of an app.
    App(AppId),
    /// Messages in all threads of one user of the apps that share a memory space.
    Space {
        /// The user; never empty.
        user: UserId,
        /// The space.
        space: Space,
    },
}

/// A memory space. The index is asked for the threads of `apps`; a hit is kept only
/// if its app is in the space of this name when it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Space {
    /// The name that the policies of its apps set.
    pub name: String,
    /// Its apps.
    pub apps: Vec<AppId>,
}

/// A scope as query parameters; `None` is not restricted.
pub struct Bounds<'a> {
    /// The app of the threads.
    pub app: Option<&'a str>,
    /// Their user.
    pub user: Option<&'a str>,
    /// The thread.
    pub thread: Option<Uuid>,
    /// The memory space of the threads' apps.
    pub space: Option<&'a str>,
}

impl Scope {
    /// The scope of a search from a thread. A thread without a user is alone in the
    /// scope of its user. `space` is what `PolicyStore::searched_space` returns.
    pub fn of_thread(
        thread: ThreadId,
        session: &Session,
        scope: MemoryScope,
        space: Option<Space>,
    ) -> Self {
        Self::beyond_thread(session, scope, space).unwrap_or(Self::Thread(thread))
    }

    /// The scope of a search from a session if it goes beyond the thread, which may not
    /// exist.
    pub fn beyond_thread(
        session: &Session,
        scope: MemoryScope,
        space: Option<Space>,
    ) -> Option<Self> {
        let Session { app, user, .. } = session;
        match scope {
            MemoryScope::App => Some(Self::App(app.clone())),
            MemoryScope::User | MemoryScope::Space if !user.is_empty() => {
                let (app, user) = (app.clone(), user.clone());
                Some(Self::User { app, user }.within(space))
            }
            MemoryScope::User | MemoryScope::Space | MemoryScope::Thread => None,
        }
    }

    /// The scope of a user extended to a memory space; other scopes stay as they are.
    pub fn within(self, space: Option<Space>) -> Self {
        match (self, space) {
            (Self::User { app: _, user }, Some(space)) => Self::Space { user, space },
            (scope, _) => scope,
        }
    }

    /// The scope as query parameters.
    pub fn bounds(&self) -> Bounds<'_> {
        let mut bounds = Bounds {
            app: None,
            user: None,
            thread: None,
            space: None,
        };
        match self {
            Self::Thread(thread) => bounds.thread = Some(thread.uuid()),
            Self::User { app, user } => {
                bounds.app = Some(app.as_str());
                bounds.user = Some(user.as_str());
            }
            Self::App(app) => bounds.app = Some(app.as_str()),
            Self::Space { user, space } => {
                bounds.user = Some(user.as_str());
                bounds.space = Some(&space.name);
            }
        }
        bounds
    }

    /// The apps of the scope; `None` for a thread.
    pub fn apps(&self) -> Option<Vec<&str>> {
        match self {
            Self::Thread(_) => None,
            Self::User { app, .. } | Self::App(app) => Some(vec![app.as_str()]),
            Self::Space { space, .. } => Some(space.apps()),
        }
    }
}

impl Space {
    /// Its apps as query parameters.
    pub fn apps(&self) -> Vec<&str> {
        self.apps.iter().map(AppId::as_str).collect()
    }
}
