//! The caller of a transaction: tenant, actor, scopes and bounds.

use memory_contract::{
    TenantId,
    key::{KeyBounds, KeyScopes},
};

/// The name under which background work is recorded.
const WORKER: &str = "worker";

/// The caller of the store. Each transaction is of one caller, and what it changes
/// is recorded under the caller's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The tenant whose data the call sees.
    pub tenant: TenantId,
    /// The name of the API key, `anonymous`, `cli` or `worker`.
    pub actor: String,
    /// The calls that the caller may make.
    pub scopes: KeyScopes,
    /// The data within the tenant that the call sees.
    pub bounds: KeyBounds,
}

impl Caller {
    /// Background work of the server for a tenant.
    pub fn worker(tenant: TenantId) -> Self {
        Self {
            tenant,
            actor: WORKER.to_owned(),
            scopes: KeyScopes::default(),
            bounds: KeyBounds::default(),
        }
    }

    /// Whether this is background work of the server.
    pub fn is_worker(&self) -> bool {
        self.actor == WORKER
    }
}
