//! Which tenants have apps whose policies redact.

use std::time::Duration;

use memory_contract::TenantId;
use moka::future::Cache;

/// How long other processes may not know of a tenant's first redacting app.
const KNOWN_FOR: Duration = Duration::from_secs(5);
/// Tenants that are known at a time.
const TENANTS: u64 = 10_000;

/// Whether tenants have redacting apps, so that the others' calls read no policy. Clones share it.
#[derive(Clone, Debug)]
pub struct RedactingTenants(Cache<TenantId, bool>);

impl Default for RedactingTenants {
    fn default() -> Self {
        let cache = Cache::builder().max_capacity(TENANTS);
        Self(cache.time_to_live(KNOWN_FOR).build())
    }
}

impl RedactingTenants {
    /// Whether a tenant has redacting apps; `None`: it is to be read.
    pub async fn find(&self, tenant: &TenantId) -> Option<bool> {
        self.0.get(tenant).await
    }

    /// Keeps what was read.
    pub async fn keep(&self, tenant: &TenantId, any: bool) {
        self.0.insert(tenant.clone(), any).await;
    }

    /// Forgets a tenant whose policies have changed.
    pub async fn forget(&self, tenant: &TenantId) {
        self.0.invalidate(tenant).await;
    }
}
