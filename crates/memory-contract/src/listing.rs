//! Domain types of lists.

use time::OffsetDateTime;

use crate::{AppId, Invalid, UserId, convert::timestamp, proto};

/// One user of an app.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The id; empty for the data that belongs to no user.
    pub id: UserId,
    /// Threads that can be read.
    pub thread_count: i64,
    /// Readable messages of these threads.
    pub message_count: i64,
    /// Memories that are not superseded.
    pub memory_count: i64,
    /// The last change of a thread; `None` without threads.
    pub active: Option<OffsetDateTime>,
}

/// An app.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct App {
    /// The id.
    pub id: AppId,
    /// The last change of a thread; `None` without threads.
    pub active: Option<OffsetDateTime>,
}

/// The order of a list of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ThreadOrder {
    /// By last change instead of by creation.
    pub by_update: bool,
    /// The newest first.
    pub descending: bool,
}

impl Default for ThreadOrder {
    fn default() -> Self {
        Self {
            by_update: false,
            descending: true,
        }
    }
}

impl ThreadOrder {
    /// Reads `order_by`: a field, and `asc` or `desc` after it.
    ///
    /// # Errors
    /// Another field or direction.
    pub fn from_text(order_by: &str) -> Result<Self, Invalid> {
        let words: Vec<&str> = order_by
            .split(' ')
            .filter(|word| !word.is_empty())
            .collect();
        let order = |by_update, direction: &[&str]| match direction {
            [] | ["asc"] => Some((by_update, false)),
            ["desc"] => Some((by_update, true)),
            _ => None,
        };
        let order = match words.as_slice() {
            [] => return Ok(Self::default()),
            ["create_time", direction @ ..] => order(false, direction),
            ["update_time", direction @ ..] => order(true, direction),
            _ => None,
        };
        order
            .map(|(by_update, descending)| Self {
                by_update,
                descending,
            })
            .ok_or_else(|| {
                Invalid::new(
                    "order_by",
                    "must be create_time or update_time, with or without asc or desc after it",
                )
            })
    }
}

impl From<User> for proto::User {
    fn from(user: User) -> Self {
        let User {
            id,
            thread_count,
            message_count,
            memory_count,
            active,
        } = user;
        Self {
            user_id: id.into(),
            thread_count,
            message_count,
            memory_count,
            last_activity_time: active.map(timestamp),
        }
    }
}

impl From<App> for proto::App {
    fn from(app: App) -> Self {
        let App { id, active } = app;
        Self {
            app_id: id.into(),
            last_activity_time: active.map(timestamp),
        }
    }
}
