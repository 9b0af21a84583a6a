//! Converts API keys, their scopes and their bounds.

use crate::{
    Invalid,
    convert::timestamp,
    key::{ApiKey, BoundLists, KeyBounds, KeyScope, KeyScopes},
    proto,
};

/// Reads scopes; an empty list means the default scopes.
///
/// # Errors
/// An unknown or unspecified scope.
pub fn key_scopes_from(field: &str, scopes: &[i32]) -> Result<KeyScopes, Invalid> {
    if scopes.is_empty() {
        return Ok(KeyScopes::default());
    }
    scopes
        .iter()
        .map(|&scope| match proto::KeyScope::try_from(scope) {
            Ok(proto::KeyScope::Read) => Ok(KeyScope::Read),
            Ok(proto::KeyScope::Write) => Ok(KeyScope::Write),
            Ok(proto::KeyScope::Delete) => Ok(KeyScope::Delete),
            Ok(proto::KeyScope::Admin) => Ok(KeyScope::Admin),
            Ok(proto::KeyScope::Unspecified) | Err(_) => Err(Invalid::new(
                field,
                "must be KEY_SCOPE_READ, _WRITE, _DELETE or _ADMIN",
            )),
        })
        .collect()
}

/// Reads bounds; unset means none.
///
/// # Errors
/// Bounds without any entry, and those of [`KeyBounds::new`].
pub fn key_bounds_from(
    field: &str,
    bounds: Option<proto::KeyBounds>,
) -> Result<KeyBounds, Invalid> {
    let Some(bounds) = bounds else {
        return Ok(KeyBounds::default());
    };
    let proto::KeyBounds {
        app_ids,
        app_id_prefixes,
        user_ids,
        user_id_prefixes,
    } = bounds;
    let bounds = KeyBounds::new(BoundLists {
        app_ids,
        app_id_prefixes,
        user_ids,
        user_id_prefixes,
    })
    .map_err(|invalid| invalid.within(field))?;
    match bounds.is_unbound() {
        true => Err(Invalid::new(
            field,
            "must name an app or a user, or be left out for a key of the whole tenant",
        )),
        false => Ok(bounds),
    }
}

impl From<KeyScope> for proto::KeyScope {
    fn from(scope: KeyScope) -> Self {
        match scope {
            KeyScope::Read => Self::Read,
            KeyScope::Write => Self::Write,
            KeyScope::Delete => Self::Delete,
            KeyScope::Admin => Self::Admin,
        }
    }
}

/// Sends scopes.
impl From<KeyScopes> for Vec<i32> {
    fn from(scopes: KeyScopes) -> Self {
        scopes
            .iter()
            .map(|scope| proto::KeyScope::from(scope).into())
            .collect()
    }
}

impl From<ApiKey> for proto::ApiKey {
    fn from(key: ApiKey) -> Self {
        let ApiKey {
            name,
            scopes,
            bounds,
            created,
            expires,
        } = key;
        Self {
            name,
            scopes: scopes.into(),
            create_time: Some(timestamp(created)),
            expire_time: expires.map(timestamp),
            bounds: bounds.lists().cloned().map(Into::into),
        }
    }
}

impl From<BoundLists> for proto::KeyBounds {
    fn from(lists: BoundLists) -> Self {
        let BoundLists {
            app_ids,
            app_id_prefixes,
            user_ids,
            user_id_prefixes,
        } = lists;
        Self {
            app_ids,
            app_id_prefixes,
            user_ids,
            user_id_prefixes,
        }
    }
}
