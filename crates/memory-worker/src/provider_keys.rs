//! The keys that tenants have for the providers of language models, among their secrets.

use async_trait::async_trait;
use memory_contract::TenantId;
use memory_distill::{KeysUnavailable, ProviderKeys};
use memory_runtime::error_chain;
use memory_store::{Caller, SecretError, Secrets, StoreError};
use secrecy::SecretString;

/// Reads the keys from the secrets of the tenants.
pub struct TenantKeys(Secrets);

impl TenantKeys {
    /// The keys among these secrets.
    pub fn new(secrets: Secrets) -> Self {
        Self(secrets)
    }
}

#[async_trait]
impl ProviderKeys for TenantKeys {
    async fn key(
        &self,
        tenant: &TenantId,
        secret: &str,
    ) -> Result<Option<SecretString>, KeysUnavailable> {
        let caller = Caller::worker(tenant.clone());
        match self.0.get(&caller, secret).await {
            Ok((_, value)) => Ok(Some(value)),
            Err(StoreError::Secret(SecretError::NotFound)) => Ok(None),
            Err(error) => {
                let error = error_chain(&error);
                tracing::warn!(%error, "a tenant's key of a model's provider could not be read");
                Err(KeysUnavailable)
            }
        }
    }
}
