//! A filter of messages as parameters.

use memory_contract::{
    UserId,
    json::JsonObject,
    message::{MessageFilter, Role},
};
use time::OffsetDateTime;
use tokio_postgres::types::Json;

/// A filter as parameters: `None` keeps all.
pub(crate) struct Filter<'a> {
    pub(crate) roles: Option<Vec<&'static str>>,
    pub(crate) names: Option<&'a [String]>,
    pub(crate) users: Option<Vec<&'a str>>,
    pub(crate) start: Option<OffsetDateTime>,
    pub(crate) end: Option<OffsetDateTime>,
    pub(crate) metadata: Option<Json<&'a JsonObject>>,
}

impl<'a> Filter<'a> {
    pub(crate) fn of(filter: &'a MessageFilter) -> Self {
        let MessageFilter {
            roles,
            names,
            users,
            start,
            end,
            metadata,
        } = filter;
        Self {
            roles: (!roles.is_empty()).then(|| roles.iter().copied().map(Role::as_str).collect()),
            names: (!names.is_empty()).then_some(names.as_slice()),
            users: (!users.is_empty()).then(|| users.iter().map(UserId::as_str).collect()),
            start: *start,
            end: *end,
            metadata: (!metadata.is_empty()).then_some(Json(metadata)),
        }
    }
}
