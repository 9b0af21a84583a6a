//! Limits of one tenant and of one API key.

use memory_contract::TenantId;
use memory_store::Caller;

/// The API key of a call: its tenant and its name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) tenant: TenantId,
    pub(super) name: String,
}

pub(super) fn key_of(caller: &Caller) -> Key {
    Key {
        tenant: caller.tenant.clone(),
        name: caller.actor.clone(),
    }
}

/// A limit that a call exceeds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Quota {
    /// `tenant:` or `api_key:` and the name.
    pub(crate) subject: String,
    /// The limit, such as `at most 48 watches at a time`.
    pub(crate) limit: String,
}

impl Quota {
    pub(super) fn of_tenant(key: &Key) -> Self {
        Self {
            subject: format!("tenant:{}", key.tenant.as_str()),
            limit: String::new(),
        }
    }

    pub(super) fn of_key(key: &Key) -> Self {
        Self {
            subject: format!("api_key:{}", key.name),
            limit: String::new(),
        }
    }

    /// A quota of what the tenant stores.
    pub(crate) fn of_storage(tenant: &TenantId, limit: String) -> Self {
        Self {
            subject: format!("tenant:{}", tenant.as_str()),
            limit,
        }
    }

    pub(super) fn limited_to(self, limit: String) -> Self {
        Self { limit, ..self }
    }
}

/// A caller, for tests of limits.
#[cfg(test)]
pub(super) fn caller(tenant: &str, key: &str) -> Caller {
    Caller {
        tenant: TenantId::new(tenant),
        actor: key.to_owned(),
        scopes: memory_contract::KeyScopes::default(),
    }
}
