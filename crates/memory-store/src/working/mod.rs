//! Working memory: what a model needs of one session right now.

use memory_contract::{TenantId, ThreadId};

use crate::{
    Store, StoreError,
    query::{Params, query},
    rows::column,
};

impl Store {
    /// The window, in tokens, of the model that was named last for a thread's
    /// working memory; `None` where none was named, or its window is not known.
    /// Then the policy's holds.
    ///
    /// # Errors
    /// Only those of the database.
    pub async fn working_window(
        &self,
        tenant: &TenantId,
        thread: ThreadId,
    ) -> Result<Option<i32>, StoreError> {
        let params: Params<'_> = &[&tenant.as_str(), &thread.uuid()];
        let window = query!("working/window");
        let found = self.pool.within(tenant, window, params).await?;
        match found.first() {
            Some(row) => column(row, 0),
            None => Ok(None),
        }
    }
}
