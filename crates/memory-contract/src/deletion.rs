//! Deletions of users, apps and tenants.

use time::OffsetDateTime;
use uuid::Uuid;

use crate::{AppId, ThreadId, UserId};

/// What is deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeletionScope {
    /// One user of an app. An empty one is the app's data that belongs to no user.
    User(AppId, UserId),
    /// One user in all apps of the tenant; never empty.
    UserOfAllApps(UserId),
    /// An app with all its users.
    App(AppId),
    /// The tenant.
    Tenant,
}

impl DeletionScope {
    /// The user of the app or of all apps, the app, or without both the tenant.
    pub fn of(app: Option<AppId>, user: Option<UserId>) -> Self {
        match (app, user) {
            (Some(app), Some(user)) => Self::User(app, user),
            (None, Some(user)) => Self::UserOfAllApps(user),
            (Some(app), None) => Self::App(app),
            (None, None) => Self::Tenant,
        }
    }

    /// The app, if it is one.
    pub fn app(&self) -> Option<&AppId> {
        match self {
            Self::User(app, _) | Self::App(app) => Some(app),
            Self::UserOfAllApps(_) | Self::Tenant => None,
        }
    }

    /// The user, if it is one.
    pub fn user(&self) -> Option<&UserId> {
        match self {
            Self::User(_, user) | Self::UserOfAllApps(user) => Some(user),
            Self::App(_) | Self::Tenant => None,
        }
    }

    /// Its kind in one word: `user`, `app` or `tenant`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::User(..) | Self::UserOfAllApps(_) => "user",
            Self::App(_) => "app",
            Self::Tenant => "tenant",
        }
    }
}

/// The receipt of a deletion.
#[derive(Clone, Debug, PartialEq)]
pub struct Receipt {
    /// Its id.
    pub id: Uuid,
    /// What is deleted.
    pub scope: DeletionScope,
    /// What the job does now; `done` at the end.
    pub step: String,
    /// Each table, with what was erased from it and what is left.
    pub places: Vec<ErasedPlace>,
    /// Whether the files of the database were rewritten afterwards.
    pub storage_rewritten: bool,
    /// Why the last step failed; empty if it did not.
    pub last_error: String,
    /// When it began.
    pub created: OffsetDateTime,
    /// When it had finished.
    pub finished: Option<OffsetDateTime>,
    /// The erased threads, at most 10,000, where the user, the app or the tenant has data
    /// again.
    pub erased_threads: Option<Vec<ThreadId>>,
}

/// A table that a deletion has erased from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErasedPlace {
    /// Its name.
    pub name: String,
    /// Rows that were erased.
    pub erased: i64,
    /// Rows that are left to erase.
    pub remaining: i64,
}
