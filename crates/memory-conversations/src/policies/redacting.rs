//! Whether apps redact.

use memory_database::{
    StoreError,
    rows::{column, only},
};
use memory_postgres::{Params, query};

use crate::PolicyStore;

impl PolicyStore<'_> {
    /// Whether the policy of an app of the tenant sets what is redacted. The answer is up to five
    /// seconds old, but knows what this process has changed.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn any_app_redacts(self) -> Result<bool, StoreError> {
        let tenant = &self.caller.tenant;
        if let Some(known) = self.store.redacting.find(tenant).await {
            return Ok(known);
        }
        let changes = self.store.redacting.changes();
        let params: Params<'_> = &[&tenant.as_str()];
        let any = query!("policies/any_redacts");
        let row = only(self.store.pool.within(self.caller, any, params).await?)?;
        let any = column(&row, "any")?;
        self.store.redacting.keep(tenant, any, changes).await;
        Ok(any)
    }
}
