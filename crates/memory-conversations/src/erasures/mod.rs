//! Erasing threads, users, apps and tenants in the background. A deleted or expired thread
//! cannot be read; its rows are erased in bounded steps, each a transaction under a lease.

mod deletion;

use std::time::{Duration, Instant};

use futures::{StreamExt as _, stream};
use memory_contract::TenantId;
use memory_database::{
    Databases, StoreError,
    queue::{LeaseId, error_text, retry_pause},
    rows::{column, only, scalar, unknown_status},
};
use memory_postgres::{Caller, Params, Query, query};
use memory_runtime::{error_chain, task};
use tokio::time::timeout;
use tokio_postgres::{Row, types::ToSql};
use uuid::Uuid;

use crate::ErasureWorker;

pub use deletion::{OUTSIDE_LEASE, OutsideErasure};

/// Rows that one step erases, about.
const STEP_ROWS: i64 = 5_000;
/// How long a claimed erasure stays with a worker after its last step: longer than a step.
const LEASE: Duration = Duration::from_secs(60);
/// How long a worker works on one erasure before others get their turn, and how long a call
/// that deletes something waits for its rows to be erased.
const TURN: Duration = Duration::from_secs(2);
/// The pause of an erasure that waits for others.
const WAIT: Duration = Duration::from_millis(500);
/// Erasures that a worker claims at once; their turns end well within the lease.
const CLAIMS: i64 = 16;
/// Erasures that a worker works on concurrently.
const LANES: usize = 2;

/// Erasures that are not finished.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErasureStats {
    /// How many wait or are being worked on.
    pub waiting: i64,
    /// How long the oldest of them has waited.
    pub lag: Duration,
    /// Erasures whose last step failed.
    pub failing: i64,
    /// The error of the one whose failures began most recently; empty for none.
    pub last_error: String,
}

/// A claimed erasure.
#[derive(Debug)]
struct Claimed {
    caller: Caller,
    id: Uuid,
    lease: LeaseId,
    /// Claims since the last step that succeeded, this one included; from 1.
    attempts: i32,
}

impl Claimed {
    /// Works on a claimed erasure for its turn, and ends the claim. Returns whether a step
    /// succeeded. An error postpones the erasure.
    async fn erase(&self, store: &Databases) -> Result<bool, StoreError> {
        match self.take_turn(store).await {
            Ok(worked) => Ok(worked),
            Err(error) => {
                self.postpone(store, &error_chain(&error)).await?;
                Ok(false)
            }
        }
    }

    /// Ends the claim of an erasure that failed, for a pause.
    async fn postpone(&self, store: &Databases, why: &str) -> Result<(), StoreError> {
        let pause = retry_pause(self.attempts);
        tracing::warn!(
            erasure = %self.id,
            attempts = self.attempts,
            pause_ms = pause.as_millis(),
            error = why,
            "an erasure failed; it is tried again"
        );
        let more: Params<'_> = &[&error_text(why), &pause.as_secs_f64()];
        self.change(store, query!("erasures/retry"), more).await
    }

    async fn take_turn(&self, store: &Databases) -> Result<bool, StoreError> {
        let Claimed {
            caller, id, lease, ..
        } = self;
        let started = Instant::now();
        loop {
            let params: Params<'_> = &[
                &caller.tenant.as_str(),
                id,
                &lease.uuid(),
                &LEASE.as_secs_f64(),
                &STEP_ROWS,
            ];
            let row = only(
                store
                    .pool
                    .call(caller, query!("erasures/step"), params)
                    .await?,
            )?;
            match scalar(&row)? {
                "more" if started.elapsed() < TURN => {}
                "more" => return self.release(store, None).await.map(|()| true),
                "wait" => return self.release(store, Some(WAIT)).await.map(|()| false),
                "done" => return Ok(true),
                "lost" => return Ok(false),
                other => return Err(unknown_status(other)),
            }
        }
    }

    async fn release(&self, store: &Databases, pause: Option<Duration>) -> Result<(), StoreError> {
        let pause = pause.map(|pause| pause.as_secs_f64());
        self.change(store, query!("erasures/release"), &[&pause])
            .await
    }

    /// Changes the row of a claimed erasure.
    async fn change(
        &self,
        store: &Databases,
        query: Query,
        more: Params<'_>,
    ) -> Result<(), StoreError> {
        let (tenant, lease) = (self.caller.tenant.as_str(), self.lease.uuid());
        let mut params: Vec<&(dyn ToSql + Sync)> = vec![&tenant, &self.id, &lease];
        params.extend_from_slice(more);
        let changed = store.pool.within(&self.caller, query, &params);
        changed.await?;
        Ok(())
    }
}

/// Works on an erasure that was queued just now, for at most two seconds, unless a worker
/// has it. Workers do the rest.
pub(crate) async fn erase_now(store: &Databases, tenant: &TenantId, id: Uuid) {
    let (store, caller) = (store.clone(), Caller::worker(tenant.clone()));
    let erase = async move {
        let (tenant, lease) = (caller.tenant.as_str(), LeaseId::new());
        let params: Params<'_> = &[&tenant, &id, &lease.uuid(), &LEASE.as_secs_f64()];
        let claim = query!("erasures/claim_one");
        match store.pool.within(&caller, claim, params).await?.first() {
            Some(row) => claimed(row, lease)?.erase(&store).await,
            None => Ok(false),
        }
    };
    // Spawned, so that a step under way ends in its own time.
    match timeout(TURN, task::spawn_for_call("erase", erase)).await {
        Ok(Ok(Ok(_))) => {}
        Ok(Ok(Err(error))) => tracing::debug!(%error, "workers have to erase it"),
        Ok(Err(_)) | Err(_) => tracing::debug!("it is not erased yet"),
    }
}

impl ErasureWorker<'_> {
    /// Queues expired threads, at most `limit`, and works on the queue. Returns how many.
    ///
    /// # Errors
    /// Only errors of the database; a part may have been erased.
    pub async fn sweep_threads(self, limit: u32) -> Result<u64, StoreError> {
        let enqueue = query!("erasures/enqueue_expired");
        let queued = self
            .workers
            .pool
            .execute(enqueue, &[&i64::from(limit)])
            .await?;
        self.run_erasures().await?;
        Ok(queued)
    }

    /// Works on the erasures that have waited longest, each for two seconds. One that fails is
    /// tried again later and does not block others. Returns whether any made progress.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn run_erasures(self) -> Result<bool, StoreError> {
        let lease = LeaseId::new();
        let params: Params<'_> = &[&CLAIMS, &lease.uuid(), &LEASE.as_secs_f64(), &false];
        let found = self
            .workers
            .pool
            .call_for_all(query!("erasures/claim"), params)
            .await?;
        let claimed = found
            .iter()
            .map(|row| claimed(row, lease))
            .collect::<Result<Vec<_>, _>>()?;
        let worked: Vec<bool> = stream::iter(claimed)
            .map(|claimed| async move {
                claimed.erase(self.store).await.unwrap_or_else(|error| {
                    tracing::warn!(erasure = %claimed.id, error = %error_chain(&error), "an erasure could not be given back");
                    false
                })
            })
            .buffer_unordered(LANES)
            .collect()
            .await;
        Ok(worked.contains(&true))
    }

    /// Ends every lease, as `Outbox::end_leases` does. Returns how many erasures were
    /// claimed.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn end_erasure_leases(self) -> Result<u64, StoreError> {
        Ok(self
            .workers
            .pool
            .execute(query!("erasures/end_leases"), &[])
            .await?)
    }

    /// Measures the queue of all tenants.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn erasure_stats(self) -> Result<ErasureStats, StoreError> {
        let stats = query!("erasures/stats");
        stats_of(&only(self.workers.pool.call_for_all(stats, &[]).await?)?)
    }
}

fn claimed(row: &Row, lease: LeaseId) -> Result<Claimed, StoreError> {
    Ok(Claimed {
        caller: Caller::worker(TenantId::new(column::<String>(row, "tenant_id")?)),
        id: column(row, "erasure_id")?,
        lease,
        attempts: column(row, "attempts")?,
    })
}

fn stats_of(row: &Row) -> Result<ErasureStats, StoreError> {
    Ok(ErasureStats {
        waiting: column(row, "waiting_count")?,
        lag: Duration::try_from_secs_f64(column(row, "lag_seconds")?).unwrap_or_default(),
        failing: column(row, "failing_count")?,
        last_error: column(row, "last_error")?,
    })
}
