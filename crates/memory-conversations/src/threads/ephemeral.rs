//! Ephemeral threads: ordinary threads that end after an idle time, and when a server
//! starts while no other one runs.

use memory_contract::thread::Thread;
use memory_database::{
    Databases, StoreError,
    rows::{column, only, scalar},
};
use memory_postgres::{Caller, Params, query};

use crate::ThreadWorker;

/// Ephemeral threads of all tenants that are not erased yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EphemeralStats {
    /// How many there are.
    pub threads: i64,
    /// Bytes of the parts and metadata of their messages.
    pub bytes: i64,
}

/// Counts reading as a use of an ephemeral thread, and sets its new expiry. What workers
/// read does not count.
///
/// # Errors
/// Only errors of the database.
pub async fn used(
    store: &Databases,
    caller: &Caller,
    thread: &mut Thread,
) -> Result<(), StoreError> {
    if thread.ephemeral && !caller.is_worker() {
        let params: Params<'_> = &[&caller.tenant.as_str(), &thread.id.uuid()];
        let used = query!("threads/use");
        let row = only(store.pool.within(caller, used, params).await?)?;
        thread.expires = scalar::<Option<_>>(&row)?.or(thread.expires);
    }
    Ok(())
}

impl ThreadWorker<'_> {
    /// Measures the ephemeral threads.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn ephemeral_stats(&self) -> Result<EphemeralStats, StoreError> {
        let found = self
            .workers
            .pool
            .call_for_all(query!("threads/ephemeral_stats"), &[]);
        let row = only(found.await?)?;
        Ok(EphemeralStats {
            threads: column(&row, "thread_count")?,
            bytes: column(&row, "content_bytes")?,
        })
    }
}
