//! The events of all tenants.

use memory_contract::{TenantId, limits};
use memory_database::{
    StoreError, Workers,
    queue::LeaseId,
    rows::{column, only},
};
use memory_postgres::{Params, query};

use super::types::{DueSubscription, SUBSCRIPTION_LEASE, SubscriptionStats, seconds};

/// The events of all tenants, for workers.
#[derive(Clone, Debug)]
pub struct SubscriptionQueue(Workers);

impl SubscriptionQueue {
    /// Access to the queues through workers' connections.
    pub fn new(workers: Workers) -> Self {
        Self(workers)
    }

    /// Leases at most `limit` subscriptions that have events for webhooks, those that have waited
    /// longest first.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn claim(&self, limit: usize) -> Result<Vec<DueSubscription>, StoreError> {
        let lease = LeaseId::new();
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let seconds = SUBSCRIPTION_LEASE.as_secs_f64();
        let params: Params<'_> = &[&limit, &lease.uuid(), &seconds];
        let claim = query!("subscriptions/claim");
        let rows = self.0.pool.call_for_all(claim, params).await?;
        let due = rows.iter().map(|row| {
            Ok(DueSubscription {
                tenant: TenantId::new(column::<String>(row, "tenant_id")?),
                name: column(row, "name")?,
                lease,
            })
        });
        due.collect()
    }

    /// Ends all leases, where no other worker and no stream lives.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn end_leases(&self) -> Result<(), StoreError> {
        let end = query!("subscriptions/end_leases");
        self.0.pool.execute(end, &[]).await?;
        Ok(())
    }

    /// Drops events that are too old or too many, about `limit` in each subscription. Returns how
    /// many were lost, and whether more are left.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn sweep(&self, limit: u32) -> Result<(u64, bool), StoreError> {
        let params: Params<'_> = &[
            &limits::SUBSCRIPTION_EVENT_AGE.as_secs_f64(),
            &limits::SUBSCRIPTION_EVENTS,
            &i64::from(limit),
        ];
        let sweep = query!("subscriptions/sweep");
        let row = only(self.0.pool.call_for_all(sweep, params).await?)?;
        let dropped: i64 = column(&row, "dropped_count")?;
        Ok((dropped.unsigned_abs(), column(&row, "is_more")?))
    }

    /// The size of all queues.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn stats(&self) -> Result<SubscriptionStats, StoreError> {
        let stats = query!("subscriptions/stats");
        let row = only(self.0.pool.call_for_all(stats, &[]).await?)?;
        Ok(SubscriptionStats {
            depth: column(&row, "depth")?,
            lag: seconds(&row, "lag_seconds")?,
        })
    }
}
