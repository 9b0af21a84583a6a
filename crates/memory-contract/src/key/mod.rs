//! Domain types of API keys, their scopes and their bounds.

mod bounds;

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

pub use bounds::{BoundLists, KeyBounds};

/// The metadata of an API key, without the key itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKey {
    /// The name, unique within the tenant.
    pub name: String,
    /// The calls that it allows.
    pub scopes: KeyScopes,
    /// The data that it reaches.
    pub bounds: KeyBounds,
    /// Creation time.
    pub created: OffsetDateTime,
    /// Expiry time; `None` for never.
    pub expires: Option<OffsetDateTime>,
}

/// A kind of call that a key allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyScope {
    /// Calls that read.
    Read,
    /// Calls that add or change.
    Write,
    /// Calls that delete.
    Delete,
    /// All calls, including those that manage keys and secrets and read the audit log.
    Admin,
}

impl KeyScope {
    /// All scopes, the weakest first.
    pub const ALL: [Self; 4] = [Self::Read, Self::Write, Self::Delete, Self::Admin];

    /// The name in the configuration, the database and errors.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Delete => "delete",
            Self::Admin => "admin",
        }
    }

    /// The scope with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.name() == name)
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// The scopes of one key, each at most once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "Vec<KeyScope>", into = "Vec<KeyScope>")]
pub struct KeyScopes(u8);

impl KeyScopes {
    /// Whether they allow calls of `scope`.
    pub const fn allow(self, scope: KeyScope) -> bool {
        self.0 & (scope.bit() | KeyScope::Admin.bit()) != 0
    }

    /// Whether a key with these bounds may have them: `admin` is for the whole tenant.
    pub fn suit(self, bounds: &KeyBounds) -> bool {
        bounds.is_unbound() || !self.allow(KeyScope::Admin)
    }

    /// Whether there are none, so that every call is refused.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The scopes, the weakest first.
    pub fn iter(self) -> impl Iterator<Item = KeyScope> {
        KeyScope::ALL
            .into_iter()
            .filter(move |scope| self.0 & scope.bit() != 0)
    }
}

/// Every scope but [`KeyScope::Admin`].
impl Default for KeyScopes {
    fn default() -> Self {
        [KeyScope::Read, KeyScope::Write, KeyScope::Delete]
            .into_iter()
            .collect()
    }
}

impl FromIterator<KeyScope> for KeyScopes {
    fn from_iter<I: IntoIterator<Item = KeyScope>>(scopes: I) -> Self {
        Self(scopes.into_iter().fold(0, |all, scope| all | scope.bit()))
    }
}

impl From<Vec<KeyScope>> for KeyScopes {
    fn from(scopes: Vec<KeyScope>) -> Self {
        scopes.into_iter().collect()
    }
}

impl From<KeyScopes> for Vec<KeyScope> {
    fn from(scopes: KeyScopes) -> Self {
        scopes.iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_allows_itself_and_admin_allows_all() {
        for one in KeyScope::ALL {
            let scopes = KeyScopes::from_iter([one]);
            for other in KeyScope::ALL {
                let allowed = one == other || one == KeyScope::Admin;
                assert_eq!(scopes.allow(other), allowed, "{one:?} {other:?}");
            }
            assert_eq!(KeyScope::named(one.name()), Some(one));
            assert_eq!(scopes.iter().collect::<Vec<_>>(), [one]);
        }
        let none = KeyScopes::from_iter([]);
        assert!(none.is_empty());
        assert!(!KeyScope::ALL.into_iter().any(|scope| none.allow(scope)));
        assert!(!KeyScopes::default().allow(KeyScope::Admin));
        assert_eq!(KeyScope::named("ADMIN"), None);
    }
}
