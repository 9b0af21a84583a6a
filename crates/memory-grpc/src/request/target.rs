//! The thread, the user or the app that a request is about.

use memory_contract::proto::{self, target};
use memory_contract::{AppId, Fields, Invalid, InvalidFields, UserId};
use tonic::metadata::MetadataMap;

use super::conversation::{NamedConversation, conversation_at};
use super::owner::{app_from, user_from};

/// The field that names it.
const FIELD: &str = "target";

/// What a request is about.
#[derive(Debug)]
pub enum Target {
    /// A thread.
    Thread(NamedConversation),
    /// An empty user is data that belongs to no user.
    User(AppId, UserId),
    /// All users of an app.
    App(AppId),
}

/// Reads `target`, if it is set.
pub fn target_from(
    metadata: &MetadataMap,
    named: Option<proto::Target>,
) -> Result<Option<Target>, InvalidFields> {
    let Some(proto::Target { target }) = named else {
        return Ok(None);
    };
    let read = match target {
        Some(target::Target::Thread(thread)) => {
            let named = conversation_at(metadata, "target.thread", Some(thread))?;
            named.map(Target::Thread)
        }
        Some(target::Target::User(user)) => {
            let (app, user) = user_from("target.user", user)?;
            Some(Target::User(app, user))
        }
        Some(target::Target::App(app)) => Some(Target::App(app_from("target.app", app)?)),
        None => None,
    };
    read.map(Some)
        .ok_or_else(|| Invalid::new(FIELD, "must have a thread, a user or an app").into())
}

/// Reads `target`, which is required.
pub fn required_target_from(
    metadata: &MetadataMap,
    named: Option<proto::Target>,
) -> Result<Target, InvalidFields> {
    target_from(metadata, named)?
        .ok_or_else(|| Invalid::new(FIELD, "is required: a thread, a user or an app").into())
}

/// Reads a `target` that is a user or all users of an app, if it is set.
pub fn owner_from(
    fields: &mut Fields,
    metadata: &MetadataMap,
    named: Option<proto::Target>,
) -> Option<(AppId, Option<UserId>)> {
    match fields.get_all(target_from(metadata, named))?? {
        Target::User(app, user) => Some((app, Some(user))),
        Target::App(app) => Some((app, None)),
        Target::Thread(_) => {
            let problem = "must be a user or an app: target.user or target.app";
            fields.get(Err(Invalid::new("target.thread", problem)))
        }
    }
}

/// As [`owner_from`], where `target` is required.
pub fn required_owner_from(
    fields: &mut Fields,
    metadata: &MetadataMap,
    named: Option<proto::Target>,
) -> Option<(AppId, Option<UserId>)> {
    match named {
        Some(named) => owner_from(fields, metadata, Some(named)),
        None => fields.get(Err(Invalid::new(FIELD, "is required: a user or an app"))),
    }
}
