//! Whose memories a search reads.

use memory_contract::{AppId, UserId, memory::MemoryOwner};
use memory_database::{Scope, Space};

/// The owners of memories that are searched together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemoryOwners {
    /// One user of an app, or with an empty user the app itself.
    User(MemoryOwner),
    /// All users of an app, and the app itself.
    App(AppId),
    /// One user in the apps that share a memory space.
    Space {
        /// The user; never empty.
        user: UserId,
        /// The space.
        space: Space,
    },
}

impl MemoryOwners {
    /// A user's memories extended to a memory space; others stay as they are.
    pub fn within(self, space: Option<Space>) -> Self {
        match (self, space) {
            (Self::User(MemoryOwner { app: _, user }), Some(space)) if !user.is_empty() => {
                Self::Space { user, space }
            }
            (owners, _) => owners,
        }
    }

    /// The one app; `None` for a space.
    pub fn app(&self) -> Option<&AppId> {
        match self {
            Self::User(owner) => Some(&owner.app),
            Self::App(app) => Some(app),
            Self::Space { .. } => None,
        }
    }

    /// The one user, which may be empty; `None` for all of an app.
    pub fn user(&self) -> Option<&UserId> {
        match self {
            Self::User(owner) => Some(&owner.user),
            Self::App(_) => None,
            Self::Space { user, .. } => Some(user),
        }
    }

    /// The scope of the messages of the same owners.
    pub fn scope(&self) -> Scope {
        match self.clone() {
            Self::User(MemoryOwner { app, user }) => Scope::User { app, user },
            Self::App(app) => Scope::App(app),
            Self::Space { user, space } => Scope::Space { user, space },
        }
    }

    pub(super) fn apps(&self) -> Vec<&str> {
        match self {
            Self::User(owner) => vec![owner.app.as_str()],
            Self::App(app) => vec![app.as_str()],
            Self::Space { space, .. } => space.apps(),
        }
    }

    /// The name of the space, of which the apps that are in it now count.
    pub(super) fn space(&self) -> Option<&str> {
        match self {
            Self::Space { space, .. } => Some(&space.name),
            Self::User(_) | Self::App(_) => None,
        }
    }
}
