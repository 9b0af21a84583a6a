//! The queue of threads to distill, for all tenants.

use std::time::Duration;

use memory_contract::{TenantId, ThreadId};
use memory_database::{
    StoreError,
    queue::{LeaseId, error_text},
    rows::{self, column, only, scalar},
};
use memory_postgres::{Caller, Params, query};
use time::OffsetDateTime;
use tokio_postgres::Row;

use crate::{DistillateStore, DistillateWorker};

/// Claimed threads; they belong to the claimer until the lease ends.
#[derive(Clone, Debug, PartialEq)]
pub struct DistillClaim {
    /// Identifies the claim when threads are finished or given back.
    pub lease: LeaseId,
    /// The longest waiting first; may be empty.
    pub jobs: Vec<DistillJob>,
}

/// A thread to distill.
#[derive(Clone, Debug, PartialEq)]
pub struct DistillJob {
    /// The worker as a caller of the thread's tenant.
    pub caller: Caller,
    /// The thread to distill.
    pub thread: ThreadId,
    /// Compared when the run ends, to see whether it was enqueued again meanwhile.
    pub wanted: i64,
    /// Tries since the last success, this one included; from 1.
    pub attempts: i32,
    /// When it was enqueued.
    pub created: OffsetDateTime,
}

/// The size of the queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DistillStats {
    /// Threads that wait or are being worked on.
    pub waiting: i64,
    /// How long the oldest of them has waited.
    pub lag: Duration,
    /// Threads whose last run failed.
    pub failing: i64,
    /// The error of the thread whose failures began most recently; empty for none.
    pub last_error: String,
}

impl DistillateWorker<'_> {
    /// Claims unclaimed threads, at most `limit`: of each tenant in turn the thread that has waited
    /// longest, and threads that only an import enqueued after all others. A thread that is not
    /// finished when the lease ends can be claimed again.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn claim_distill(
        self,
        limit: u32,
        lease: Duration,
    ) -> Result<DistillClaim, StoreError> {
        let id = LeaseId::new();
        let limit = i64::from(limit);
        let after = self.turn.last();
        let params: Params<'_> = &[&limit, &id.uuid(), &lease.as_secs_f64(), &after];
        let found = self
            .workers
            .pool
            .call_for_all(query!("distill_jobs/claim"), params)
            .await?;
        self.turn.pass(&found)?;
        let mut jobs = found.iter().map(job).collect::<Result<Vec<_>, _>>()?;
        jobs.sort_by_key(|job| job.created);
        Ok(DistillClaim { lease: id, jobs })
    }

    /// Prolongs the lease of a thread to `lease` from now. Returns whether it still held.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn extend_distill(
        self,
        claim: LeaseId,
        job: &DistillJob,
        lease: Duration,
    ) -> Result<bool, StoreError> {
        let params: Params<'_> = &[
            &job.caller.tenant.as_str(),
            &job.thread.uuid(),
            &claim.uuid(),
            &lease.as_secs_f64(),
        ];
        let extend = query!("distill_jobs/extend");
        Ok(self.workers.pool.execute(extend, params).await? > 0)
    }

    /// Gives a thread back for a later try, with the reason, which never has
    /// content and is cut to 2,000 characters. It is never given up: see
    /// [`retry_pause`](memory_database::queue::retry_pause).
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn retry_distill(
        self,
        claim: LeaseId,
        job: &DistillJob,
        error: &str,
        delay: Duration,
    ) -> Result<bool, StoreError> {
        let params: Params<'_> = &[
            &job.caller.tenant.as_str(),
            &job.thread.uuid(),
            &claim.uuid(),
            &error_text(error),
            &delay.as_secs_f64(),
        ];
        let retry = query!("distill_jobs/retry");
        Ok(self.workers.pool.execute(retry, params).await? > 0)
    }

    /// Returns a claimed thread without an attempt, for a graceful stop.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn release_distill(
        self,
        claim: LeaseId,
        job: &DistillJob,
    ) -> Result<bool, StoreError> {
        let params: Params<'_> = &[
            &job.caller.tenant.as_str(),
            &job.thread.uuid(),
            &claim.uuid(),
        ];
        let release = query!("distill_jobs/release");
        Ok(self.workers.pool.execute(release, params).await? > 0)
    }

    /// Ends every lease, as `Outbox::end_leases` does. Returns how many
    /// threads were claimed.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn end_distill_leases(self) -> Result<u64, StoreError> {
        let end = query!("distill_jobs/end_leases");
        Ok(self.workers.pool.execute(end, &[]).await?)
    }

    /// Whether a thread of any tenant has been due for `time` and waits.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn distill_is_behind(self, time: Duration) -> Result<bool, StoreError> {
        let params: Params<'_> = &[&time.as_secs_f64()];
        let is_behind = query!("distill_jobs/is_behind");
        scalar(&only(
            self.workers.pool.call_for_all(is_behind, params).await?,
        )?)
    }

    /// Measures the queue of all tenants.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn distill_stats(self) -> Result<DistillStats, StoreError> {
        let stats = query!("distill_jobs/stats");
        stats_of(&only(self.workers.pool.call_for_all(stats, &[]).await?)?)
    }

    /// Ends the run for a thread. The next one is due when the path to the head has
    /// `next` tokens, as `DistillState::path_tokens` counts. Returns whether the thread
    /// left the queue: it stays where it was enqueued again since it was claimed, or
    /// where its path has `next` tokens already.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn distill_done(
        self,
        claim: LeaseId,
        job: &DistillJob,
        next: i64,
    ) -> Result<bool, StoreError> {
        let params: Params<'_> = &[
            &job.caller.tenant.as_str(),
            &job.thread.uuid(),
            &claim.uuid(),
            &job.wanted,
            &next,
        ];
        let row = only(
            self.store
                .pool
                .call_for_all(query!("distill_jobs/finish"), params)
                .await?,
        )?;
        scalar(&row)
    }

    /// Ends the run for a thread as [`Self::distill_done`] does; the next one is also
    /// due after a time. It does not count as a failure.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn distill_postpone(
        self,
        claim: LeaseId,
        job: &DistillJob,
        next: i64,
        after: Duration,
    ) -> Result<bool, StoreError> {
        let params: Params<'_> = &[
            &job.caller.tenant.as_str(),
            &job.thread.uuid(),
            &claim.uuid(),
            &job.wanted,
            &next,
            &after.as_secs_f64(),
        ];
        let row = only(
            self.store
                .pool
                .call_for_all(query!("distill_jobs/postpone"), params)
                .await?,
        )?;
        scalar(&row)
    }
}

impl DistillateStore<'_> {
    /// Enqueues a thread of any size. Unknown threads are ignored.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn enqueue_distill(self, thread: ThreadId) -> Result<(), StoreError> {
        let tenant = &self.caller.tenant;
        let params: Params<'_> = &[&tenant.as_str(), &thread.uuid()];
        let want = query!("distill_jobs/enqueue");
        self.store.pool.within(self.caller, want, params).await?;
        Ok(())
    }

    /// Measures the queue of a tenant.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn distill_stats(self) -> Result<DistillStats, StoreError> {
        let tenant = &self.caller.tenant;
        let params: Params<'_> = &[&tenant.as_str()];
        let stats = query!("distill_jobs/tenant_stats");
        stats_of(&only(
            self.store.pool.within(self.caller, stats, params).await?,
        )?)
    }
}

fn job(row: &Row) -> Result<DistillJob, StoreError> {
    Ok(DistillJob {
        caller: Caller::worker(TenantId::new(column::<String>(row, "tenant_id")?)),
        thread: rows::id(row, "thread_id")?,
        wanted: column(row, "wanted")?,
        attempts: column(row, "attempts")?,
        created: column(row, "created_at")?,
    })
}

fn stats_of(row: &Row) -> Result<DistillStats, StoreError> {
    Ok(DistillStats {
        waiting: column(row, "waiting_count")?,
        lag: Duration::try_from_secs_f64(column(row, "lag_seconds")?).unwrap_or_default(),
        failing: column(row, "failing_count")?,
        last_error: column(row, "last_error")?,
    })
}
