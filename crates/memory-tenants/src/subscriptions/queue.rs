//! The events of all tenants.

use memory_contract::{TenantId, limits};
use memory_database::{
    StoreError, Workers,
    queue::LeaseId,
    rows::{column, only},
};
use memory_postgres::{Params, query};

use super::types::{DueSubscription, EventQueue, SUBSCRIPTION_LEASE, SubscriptionStats, seconds};

/// Events that a measurement counts; above it takes the planner's estimate.
const COUNTED: i64 = 100_000;

/// The events of all tenants, for workers.
#[derive(Clone, Debug)]
pub struct SubscriptionQueue(Workers);

impl SubscriptionQueue {
    /// Access to the queues through workers' connections.
    pub fn new(workers: Workers) -> Self {
        Self(workers)
    }

    /// Leases subscriptions that have events for webhooks, for at most `free` places. Each more place
    /// of a tenant is at most a quarter of those that are then free; tenants with fewer places come
    /// first, then the subscriptions that have waited longest.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn claim(&self, free: usize) -> Result<Vec<DueSubscription>, StoreError> {
        let lease = LeaseId::new();
        let free = i64::try_from(free).unwrap_or(i64::MAX);
        let seconds = SUBSCRIPTION_LEASE.as_secs_f64();
        let params: Params<'_> = &[&free, &lease.uuid(), &seconds];
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

    /// The queues that may have events that are too old or too many, or no subscription.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn unbounded(&self) -> Result<Vec<EventQueue>, StoreError> {
        let params: Params<'_> = &[
            &limits::SUBSCRIPTION_EVENT_AGE.as_secs_f64(),
            &limits::SUBSCRIPTION_EVENTS,
        ];
        let queues = query!("subscriptions/queues");
        let rows = self.0.pool.call_for_all(queues, params).await?;
        let queues = rows.iter().map(|row| {
            Ok(EventQueue {
                tenant: TenantId::new(column::<String>(row, "tenant_id")?),
                subscription: column(row, "subscription")?,
            })
        });
        queues.collect()
    }

    /// Drops events of a queue that are too old, too many or of no subscription, at most `limit` of
    /// each kind, in one transaction. Returns how many a subscription lost, and whether more are left.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn sweep(&self, queue: &EventQueue, limit: u32) -> Result<(u64, bool), StoreError> {
        let params: Params<'_> = &[
            &queue.tenant.as_str(),
            &queue.subscription,
            &limits::SUBSCRIPTION_EVENT_AGE.as_secs_f64(),
            &limits::SUBSCRIPTION_EVENTS,
            &i64::from(limit),
        ];
        let sweep = query!("subscriptions/sweep");
        let row = only(self.0.pool.call_for_all(sweep, params).await?)?;
        let dropped: i64 = column(&row, "dropped_count")?;
        Ok((dropped.unsigned_abs(), column(&row, "is_more")?))
    }

    /// The size of all queues: the exact number of events up to 100,000, an estimate above.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn stats(&self) -> Result<SubscriptionStats, StoreError> {
        let stats = query!("subscriptions/stats");
        let row = only(self.0.pool.call_for_all(stats, &[&COUNTED]).await?)?;
        Ok(SubscriptionStats {
            depth: column(&row, "depth")?,
            lag: seconds(&row, "lag_seconds")?,
        })
    }
}
