//! The queue of changes to index, and clean-up, for all tenants.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use memory_contract::{MemoryId, MessageId, TenantId, ThreadId};
use time::OffsetDateTime;
use tokio_postgres::Row;
use uuid::Uuid;

use memory_postgres::{Database, Params, Pool, PoolStatus, Role, query};

use crate::{
    StoreConfig, StoreError, migrate,
    rows::{self, column, only, scalar},
};

/// One of eight claims prefers changes of imports and rebuilds, so that they come to an end even if
/// other changes never run out.
const BULK_TURN: u32 = 8;
/// Characters of an error that are kept.
const ERROR_CHARS: usize = 2_000;

/// The queue of changes, and the clean-up that needs to see all tenants. A
/// clone shares the connections.
#[derive(Clone, Debug)]
pub struct WorkerStore {
    pub(crate) pool: Pool,
    /// To the other database, where there are two.
    pub(super) main: Option<Pool>,
    pub(crate) request_retention: Duration,
    transaction_retention: Duration,
    pub(crate) turns: Arc<Turns>,
    /// The collection whose changes it has; `None`: the serving one's.
    pub(crate) collection: Option<String>,
}

/// Which tenant has its turn in each queue: the one after the last that had it.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    claims: AtomicU32,
    live: Turn,
    bulk: Turn,
    pub(crate) distill: Turn,
}

#[derive(Debug, Default)]
pub(crate) struct Turn(Mutex<String>);

impl Turn {
    pub(crate) fn last(&self) -> String {
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.clone()
    }

    /// Passes the turn on from the last tenant of a claim.
    pub(crate) fn pass(&self, claimed: &[Row]) -> Result<(), StoreError> {
        let mut latest = (0, None);
        for row in claimed {
            let turn: i64 = column(row, "turn")?;
            if turn >= latest.0 {
                latest = (turn, Some(column(row, "tenant_id")?));
            }
        }
        if let (_, Some(tenant)) = latest {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = tenant;
        }
        Ok(())
    }
}

/// Identifies a claim of jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LeaseId(Uuid);

impl LeaseId {
    /// A new unique name.
    #[expect(
        clippy::new_without_default,
        reason = "a random default would surprise"
    )]
    pub fn new() -> Self {
        Self(Uuid::new_v4())
    }

    pub(crate) fn uuid(self) -> Uuid {
        self.0
    }
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

impl WorkerStore {
    /// Opens the workers' pool: to the conversations' database, where changes
    /// are. It connects once, like [`Store::connect`].
    ///
    /// # Errors
    /// As [`Store::connect`].
    pub async fn connect(config: &StoreConfig) -> Result<Self, StoreError> {
        let pool = Pool::new(
            config,
            config.chat(),
            Role::Worker,
            config.worker_pool_size,
            0,
        )?;
        migrate::check(&pool).await?;
        // Only old transactions are swept there.
        let main = match config.has_chat_database() {
            true => Some(Pool::new(config, Database::Main, Role::Worker, 1, 0)?),
            false => None,
        };
        Ok(Self {
            pool,
            main,
            request_retention: config.request_retention,
            transaction_retention: config.transaction_retention,
            turns: Arc::default(),
            collection: None,
        })
    }

    /// How many connections there are and how many are free.
    pub fn pool_status(&self) -> PoolStatus {
        self.pool.status()
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

    /// Like [`WorkerStore::claim`], but at most `bulk_limit` of imports and rebuilds. A claim has
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

    /// Like [`WorkerStore::claim`], without jobs of imports and rebuilds.
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
            &id.0,
            &lease.as_secs_f64(),
            &bulk,
            &after,
            &self.collection,
        ];
        let found = self.pool.call(query!("outbox/claim"), params).await?;
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
        let params: Params<'_> = &[&claim.0, &ids, &lease.as_secs_f64()];
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
            .execute(query!("outbox/ack"), &[&claim.0, &ids])
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
        let params: Params<'_> = &[&claim.0, &ids, &errors, &delays, &max_attempts];
        let row = only(self.pool.call(query!("outbox/retry"), params).await?)?;
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
            .execute(query!("outbox/release"), &[&claim.0, &ids])
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
            self.pool.call(query!("outbox/stats"), params).await?,
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
        let found = self.pool.call(query!("tenants/list"), params).await?;
        found
            .iter()
            .map(|row| Ok(TenantId::new(column::<String>(row, "tenant_id")?)))
            .collect()
    }

    /// Forgets request ids older than the configured time, at most `limit`.
    /// Returns how many.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn sweep_requests(&self, limit: u32) -> Result<u64, StoreError> {
        let params: Params<'_> = &[&self.request_retention.as_secs_f64(), &i64::from(limit)];
        Ok(self.pool.execute(query!("requests/sweep"), params).await?)
    }

    /// Deletes entries of the audit log, and receipts of deletions, older than the configured
    /// time, at most `limit` of each. Returns how many.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn sweep_transactions(&self, limit: u32) -> Result<u64, StoreError> {
        let params: Params<'_> = &[&self.transaction_retention.as_secs_f64(), &i64::from(limit)];
        let sweep = query!("transactions/sweep");
        let mut swept = self.pool.execute(sweep, params).await?;
        swept = swept.max(self.pool.execute(query!("erasures/sweep"), params).await?);
        if let Some(main) = &self.main {
            swept = swept.max(main.execute(sweep, params).await?);
        }
        Ok(swept)
    }
}

/// An error text without NUL, cut to the stored length.
pub(crate) fn error_text(error: &str) -> String {
    let readable = error.chars().filter(|c| *c != '\0');
    readable.take(ERROR_CHARS).collect()
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
