//! Which tenants have apps whose policies redact.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};
use std::time::Duration;

use memory_contract::TenantId;
use moka::future::Cache;

/// How long other processes may not know of a tenant's first redacting app.
const KNOWN_FOR: Duration = Duration::from_secs(5);
/// Tenants that are known at a time.
const TENANTS: u64 = 10_000;

/// Whether tenants have redacting apps, so that calls of tenants without one read no policy. Clones
/// share it.
#[derive(Clone, Debug)]
pub struct RedactingTenants {
    known: Cache<TenantId, bool>,
    /// How many policies this process has changed.
    changes: Arc<AtomicU64>,
}

impl Default for RedactingTenants {
    fn default() -> Self {
        let known = Cache::builder().max_capacity(TENANTS);
        Self {
            known: known.time_to_live(KNOWN_FOR).build(),
            changes: Arc::default(),
        }
    }
}

impl RedactingTenants {
    /// Whether a tenant has redacting apps; `None`: it is to be read.
    pub async fn find(&self, tenant: &TenantId) -> Option<bool> {
        self.known.get(tenant).await
    }

    /// How many policies this process has changed, for [`Self::keep`].
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::SeqCst)
    }

    /// Keeps what was read, unless a policy has changed since.
    pub async fn keep(&self, tenant: &TenantId, any: bool, changes: u64) {
        if self.changes() == changes {
            self.known.insert(tenant.clone(), any).await;
        }
        // One that changed in between finds nothing to forget.
        if self.changes() != changes {
            self.known.invalidate(tenant).await;
        }
    }

    /// Forgets a tenant whose policies have changed.
    pub async fn forget(&self, tenant: &TenantId) {
        self.changes.fetch_add(1, Ordering::SeqCst);
        self.known.invalidate(tenant).await;
    }
}
