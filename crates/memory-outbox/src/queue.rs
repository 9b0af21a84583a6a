//! The queue of changes to index, for all tenants.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use memory_contract::{MemoryId, MessageId, TenantId, ThreadId};
use memory_database::{
    StoreError, Workers,
    queue::{LeaseId, Turn, error_text},
    rows::{self, column, only, scalar},
};
use memory_postgres::{Params, Pool, query};
use time::OffsetDateTime;
use tokio_postgres::Row;
use uuid::Uuid;

/// One of eight claims prefers changes of imports and rebuilds, so that they come to an end even if
/// other changes never run out.
const BULK_TURN: u32 = 8;

/// The queue of changes for one collection of the index, for all tenants. A clone shares the
/// connections.
#[derive(Clone, Debug)]
pub struct Outbox {
    pub(crate) pool: Pool,
    pub(crate) turns: Arc<Turns>,
    /// The collection whose changes it has; `None`: the serving one's.
    pub(crate) collection: Option<String>,
}

/// Which tenant has its turn in each queue.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    claims: AtomicU32,
    live: Turn,
    bulk: Turn,
}

/// Jobs that belong to the claimer until the lease ends.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// Identifies the claim when jobs are acknowledged or given back.
    pub lease: LeaseId,
    /// The oldest first; may be empty.
    pub jobs: Vec<Job>,
}

/// One change for the index.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// The number in the queue.
    pub id: i64,
    /// The tenant of the change.
    pub tenant: TenantId,
    /// The thread; for a memory a name of its user's queue.
    pub thread: ThreadId,
    /// The seq of the message, or the last one to purge.
    pub seq: i64,
    /// The change to apply.
    pub kind: JobKind,
    /// Tries, this one included; from 1.
    pub attempts: i32,
    /// When the change was made.
    pub created: OffsetDateTime,
    /// Whether it comes from an import or a rebuild.
    pub bulk: bool,
}

/// A change to apply to the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobKind {
    /// Index a message, or index it again.
    Upsert(MessageId),
    /// Remove a message; only an entry whose seq is at most the job's.
    Delete(MessageId),
    /// Remove all messages of the thread whose seq is at most the job's.
    Purge,
    /// Index a memory, or index it again.
    UpsertMemory(MemoryId),
    /// Remove a memory.
    DeleteMemory(MemoryId),
}

/// A job that did not succeed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The job's number.
    pub id: i64,
    /// Why, in words; cut to 2,000 characters. No message content.
    pub error: String,
    /// How long to wait before the next try.
    pub delay: Duration,
}

/// The size of the outbox.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutboxStats {
    /// Changes that the index has not applied yet, including those in progress, without
    /// dead letters.
    pub pending: i64,
    /// The age of the oldest of them; zero if none is pending.
    pub lag: Duration,
    /// Changes that were given up after the last attempt.
    pub dead_letters: i64,
}

/// A change that was given up.
#[derive(Clone, Debug, PartialEq)]
pub struct DeadLetter {
    /// The subject of the change.
    pub subject: DeadSubject,
    /// How often it was attempted.
    pub attempts: i32,
    /// The error of the last attempt.
    pub error: String,
    /// When it was given up.
    pub failed: OffsetDateTime,
}

/// The subject of a dead letter's change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeadSubject {
    /// A message of a thread.
    Message(ThreadId, MessageId),
    /// All messages of a thread.
    Thread(ThreadId),
    /// A long-term memory.
    Memory(MemoryId),
}

impl Outbox {
    /// The queue for the serving collection.
    pub fn new(workers: &Workers) -> Self {
        Self {
            pool: workers.pool.clone(),
            turns: Arc::default(),
            collection: None,
        }
    }

    /// Claims unclaimed jobs, at most `limit`: the oldest of each tenant in turn. Jobs of
    /// imports and rebuilds are claimed if there are no others, and first by one of eight calls.
    /// A job that is not acknowledged when the lease ends can be claimed again.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn claim(&self, limit: u32, lease: Duration) -> Result<Claim, StoreError> {
        self.claim_any(limit, limit, lease).await
    }

    /// Like [`Outbox::claim`], but at most `bulk_limit` of imports and rebuilds. A claim has
    /// jobs of either kind alone.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn claim_any(
        &self,
        live_limit: u32,
        bulk_limit: u32,
        lease: Duration,
    ) -> Result<Claim, StoreError> {
        let limit = |bulk| if bulk { bulk_limit } else { live_limit };
        let claims = self.turns.claims.fetch_add(1, Ordering::Relaxed);
        let bulk = claims % BULK_TURN == BULK_TURN - 1;
        let claim = self.claim_of(bulk, limit(bulk), lease).await?;
        match claim.jobs.is_empty() {
            true => self.claim_of(!bulk, limit(!bulk), lease).await,
            false => Ok(claim),
        }
    }

    /// Like [`Outbox::claim`], without jobs of imports and rebuilds.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn claim_live(&self, limit: u32, lease: Duration) -> Result<Claim, StoreError> {
        self.claim_of(false, limit, lease).await
    }

    async fn claim_of(&self, bulk: bool, limit: u32, lease: Duration) -> Result<Claim, StoreError> {
        let id = LeaseId::new();
        let turn = match bulk {
            true => &self.turns.bulk,
            false => &self.turns.live,
        };
        let after = turn.last();
        let limit = i64::from(limit);
        let params: Params<'_> = &[
            &limit,
            &id.uuid(),
            &lease.as_secs_f64(),
            &bulk,
            &after,
            &self.collection,
        ];
        let found = self
            .pool
            .call_for_all(query!("outbox/claim"), params)
            .await?;
        turn.pass(&found)?;
        let mut jobs = found.iter().map(job).collect::<Result<Vec<_>, _>>()?;
        jobs.sort_unstable_by_key(|job| job.id);
        Ok(Claim { lease: id, jobs })
    }

    /// Prolongs the lease of jobs to `lease` from now. Returns how many it
    /// still holds.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn extend(
        &self,
        claim: LeaseId,
        ids: &[i64],
        lease: Duration,
    ) -> Result<u64, StoreError> {
        let params: Params<'_> = &[&claim.uuid(), &ids, &lease.as_secs_f64()];
        Ok(self.pool.execute(query!("outbox/extend"), params).await?)
    }

    /// Removes jobs that are done and returns how many. Jobs whose lease has ended and
    /// that another worker has claimed since are left to that worker.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn ack(&self, claim: LeaseId, ids: &[i64]) -> Result<u64, StoreError> {
        Ok(self
            .pool
            .execute(query!("outbox/ack"), &[&claim.uuid(), &ids])
            .await?)
    }

    /// Gives jobs back, each for a later try; one that has been tried
    /// `max_attempts` times becomes a dead letter. Returns how many did.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn retry(
        &self,
        claim: LeaseId,
        failures: &[Failure],
        max_attempts: i32,
    ) -> Result<u64, StoreError> {
        let ids: Vec<i64> = failures.iter().map(|failure| failure.id).collect();
        let errors: Vec<String> = failures
            .iter()
            .map(|failure| error_text(&failure.error))
            .collect();
        let delays: Vec<f64> = failures
            .iter()
            .map(|failure| failure.delay.as_secs_f64())
            .collect();
        let params: Params<'_> = &[&claim.uuid(), &ids, &errors, &delays, &max_attempts];
        let row = only(
            self.pool
                .call_for_all(query!("outbox/retry"), params)
                .await?,
        )?;
        Ok(scalar::<i64>(&row)?.unsigned_abs())
    }

    /// Gives jobs back untried, for a graceful stop: they are available at
    /// once, and the try does not count. Returns how many.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn release(&self, claim: LeaseId, ids: &[i64]) -> Result<u64, StoreError> {
        Ok(self
            .pool
            .execute(query!("outbox/release"), &[&claim.uuid(), &ids])
            .await?)
    }

    /// Ends every lease, so that jobs that a killed worker had claimed are available
    /// at once. Only valid if no other worker is running. Returns how
    /// many changes were claimed.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn end_leases(&self) -> Result<u64, StoreError> {
        Ok(self.pool.execute(query!("outbox/end_leases"), &[]).await?)
    }

    /// How far the collection is behind, over all tenants.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn stats(&self) -> Result<OutboxStats, StoreError> {
        let params: Params<'_> = &[&self.collection];
        read_stats(&only(
            self.pool
                .call_for_all(query!("outbox/stats"), params)
                .await?,
        )?)
    }

    /// All tenants that have threads or memories, in order, at most `limit`, after `after`.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn tenants(
        &self,
        after: Option<&TenantId>,
        limit: u32,
    ) -> Result<Vec<TenantId>, StoreError> {
        let params: Params<'_> = &[&after.map_or("", TenantId::as_str), &i64::from(limit)];
        let found = self
            .pool
            .call_for_all(query!("tenants/list"), params)
            .await?;
        found
            .iter()
            .map(|row| Ok(TenantId::new(column::<String>(row, "tenant_id")?)))
            .collect()
    }
}

/// Reads the three columns of both queries for the length of the queue.
pub(crate) fn read_stats(row: &Row) -> Result<OutboxStats, StoreError> {
    Ok(OutboxStats {
        pending: column(row, "pending")?,
        lag: Duration::try_from_secs_f64(column(row, "lag_seconds")?).unwrap_or_default(),
        dead_letters: column(row, "dead_letters")?,
    })
}

fn job(row: &Row) -> Result<Job, StoreError> {
    let id: Option<Uuid> = column(row, "message_id")?;
    let kind = match (column(row, "kind")?, column(row, "op")?, id) {
        ("message", "upsert", Some(id)) => JobKind::Upsert(id.into()),
        ("message", "delete", Some(id)) => JobKind::Delete(id.into()),
        ("message", "purge", None) => JobKind::Purge,
        ("memory", "upsert", Some(id)) => JobKind::UpsertMemory(id.into()),
        ("memory", "delete", Some(id)) => JobKind::DeleteMemory(id.into()),
        (_, op, _) => {
            return Err(StoreError::Corrupt {
                what: "outbox",
                why: format!("its operation is {op:?}"),
            });
        }
    };
    Ok(Job {
        id: column(row, "id")?,
        tenant: TenantId::new(column::<String>(row, "tenant_id")?),
        thread: rows::id(row, "thread_id")?,
        seq: column(row, "seq")?,
        kind,
        attempts: column(row, "attempts")?,
        created: column(row, "created_at")?,
        bulk: column(row, "bulk")?,
    })
}
