//! Queues after the clock of the database was set back.

use std::time::Duration;

use memory_conversations::OUTSIDE_LEASE;
use memory_database::{
    queue::MAX_RETRY_PAUSE,
    rows::{only, scalar},
};
use memory_postgres::{Params, query};

use crate::{SUBSCRIPTION_LEASE, StoreError, WorkerStore};

/// The longest pause of memory-agents/queries/object_deletions/claim.sql.
const MAX_DELETION_PAUSE: Duration = Duration::from_secs(3_600);
/// The longest pause of memory-agents/queries/nodes/failed.sql.
const MAX_FLUSH_PAUSE: Duration = Duration::from_secs(300);
/// The longest lease of one of the index's collections.
const COLLECTION_LEASE: Duration = Duration::from_secs(120);
/// A turn of a node has waited since a time in the past; a clock may be corrected by this much.
const CORRECTION: Duration = Duration::from_secs(1);

impl WorkerStore {
    /// Makes rows of queues due that wait longer than the longest delay of their queue, because
    /// the clock of the database was set back: at most `limit` of each queue. Returns how many.
    /// One that was set back by less delays a row by at most the longest delay of its queue:
    /// `change_wait` for a change of the index, two minutes for an index's collection, five minutes
    /// for a node's flush, and an hour for distilling, erasing and webhooks. A lease that is ended
    /// too early does no harm, because the work can be repeated.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn make_due(&self, change_wait: Duration, limit: u32) -> Result<u64, StoreError> {
        let queues = [
            ("outbox", "available_at", "true", change_wait),
            ("distill_jobs", "available_at", "true", MAX_RETRY_PAUSE),
            (
                "erasures",
                "available_at",
                "x.finished_at IS NULL",
                MAX_RETRY_PAUSE.max(OUTSIDE_LEASE),
            ),
            (
                "object_deletions",
                "available_at",
                "true",
                MAX_DELETION_PAUSE,
            ),
            (
                "node_memories",
                "waiting_since",
                "x.waiting_since IS NOT NULL",
                CORRECTION,
            ),
            (
                "node_memories",
                "retry_at",
                "x.retry_at IS NOT NULL",
                MAX_FLUSH_PAUSE,
            ),
            (
                "index_collections",
                "leased_until",
                "true",
                COLLECTION_LEASE,
            ),
            ("subscriptions", "available_at", "true", SUBSCRIPTION_LEASE),
            (
                "subscriptions",
                "retry_at",
                "x.retry_at IS NOT NULL",
                MAX_RETRY_PAUSE,
            ),
        ];
        let mut count = 0;
        for pool in [Some(&self.workers.pool), self.workers.main.as_ref()]
            .into_iter()
            .flatten()
        {
            for (queue, column, condition, longest) in queues {
                let (seconds, limit) = (longest.as_secs_f64(), i64::from(limit));
                let params: Params<'_> = &[&queue, &column, &condition, &seconds, &limit];
                let row = only(pool.call_for_all(query!("outbox/make_due"), params).await?)?;
                count += scalar::<i64>(&row)?.unsigned_abs();
            }
        }
        Ok(count)
    }
}
