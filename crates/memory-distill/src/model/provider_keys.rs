//! Keys of a provider that tenants bring themselves.

use async_trait::async_trait;
use memory_contract::TenantId;
use secrecy::SecretString;

/// Reads the keys that tenants have for a model's provider.
#[async_trait]
pub trait ProviderKeys: Send + Sync {
    /// The tenant's secret with this name; `None` if it has none.
    ///
    /// # Errors
    /// [`KeysUnavailable`] if secrets cannot be read.
    async fn key(
        &self,
        tenant: &TenantId,
        secret: &str,
    ) -> Result<Option<SecretString>, KeysUnavailable>;
}

/// The keys cannot be read; the reason is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the tenant's key of the model's provider cannot be read")]
pub struct KeysUnavailable;

/// No tenant has a key of its own.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoKeys;

#[async_trait]
impl ProviderKeys for NoKeys {
    async fn key(&self, _: &TenantId, _: &str) -> Result<Option<SecretString>, KeysUnavailable> {
        Ok(None)
    }
}
