//! The API key that limits are counted for.

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

/// A caller, for tests of limits.
#[cfg(test)]
pub(super) fn caller(tenant: &str, key: &str) -> Caller {
    Caller {
        tenant: TenantId::new(tenant),
        actor: key.to_owned(),
        scopes: memory_contract::key::KeyScopes::default(),
        bounds: memory_contract::key::KeyBounds::default(),
    }
}
