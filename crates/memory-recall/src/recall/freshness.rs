//! Waits for the index, and watches whether it answers.

use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use memory_contract::TenantId;
use memory_index::IndexState;
use memory_runtime::task;
use memory_store::Caller;

use super::index_query::IndexQuery;
use super::searcher::Searcher;
use crate::error::RecallError;
use crate::query::Freshness;

/// Intervals between two checks whether the index has reached a revision, if no indexer in this
/// process reports its progress: each is half as long again as the one before, so that a caller
/// waits at most that much too long, and one that waits for long asks four times a second.
const POLL_INTERVALS: [Duration; 2] = [Duration::from_millis(20), Duration::from_millis(250)];
/// The interval with an indexer, whose progress ends the wait earlier. It is finite because another
/// process may index the change.
const INDEXER_POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Minimum time between two reads of the index's status by queries.
const STATE_CHECK_INTERVAL: Duration = Duration::from_secs(10);
/// No query waits for an index that has been unavailable for this long and does not answer now.
const DOWN_AFTER: Duration = Duration::from_secs(2);
/// How long a query asks such an index whether it answers.
const PROBE_TIMEOUT: Duration = Duration::from_millis(200);
/// Result of waiting for a revision.
#[derive(Default)]
pub(super) struct Reached {
    /// The index had not reached it when the wait ended.
    pub(super) lagging: bool,
    /// A change up to it is a dead letter.
    pub(super) given_up: bool,
}

impl Searcher {
    /// Waits until the index has reached the revision, at most `max_wait`, and no longer
    /// while the index is down.
    pub(super) async fn wait_for_revision(
        &self,
        caller: &Caller,
        query: &IndexQuery,
    ) -> Result<Reached, RecallError> {
        // Queries that do not wait notice an outage for queries that wait.
        self.outage();
        let Freshness::AtLeast(revision) = query.freshness else {
            return Ok(Reached::default());
        };
        let deadline = Instant::now() + query.max_wait;
        let mut indexer = self.indexer.clone();
        let [mut interval, longest] = POLL_INTERVALS;
        loop {
            let freshness = self.store.messages(caller).freshness(&revision).await?;
            let given_up = freshness.dead_letters > 0;
            if !freshness.pending {
                return Ok(Reached {
                    lagging: false,
                    given_up,
                });
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || self.is_down(&caller.tenant).await {
                return Ok(Reached {
                    lagging: true,
                    given_up,
                });
            }
            match &mut indexer {
                Some(indexer) => indexer.progress(left.min(INDEXER_POLL_INTERVAL)).await,
                None => {
                    tokio::time::sleep(left.min(interval)).await;
                    interval = (interval * 3 / 2).min(longest);
                }
            }
        }
    }

    /// For how long queries have found the index unavailable.
    fn outage(&self) -> Duration {
        let mut since = self
            .unavailable_since
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if self.index.last_state() != IndexState::Unavailable {
            *since = None;
            return Duration::ZERO;
        }
        since.get_or_insert_with(Instant::now).elapsed()
    }

    /// Whether the index has been unavailable for a while and does not answer now either, or
    /// never will.
    async fn is_down(&self, tenant: &TenantId) -> bool {
        if self.index.permanent_error().is_some() {
            return true;
        }
        if self.outage() < DOWN_AFTER {
            return false;
        }
        let status = tokio::time::timeout(PROBE_TIMEOUT, self.index.status(tenant)).await;
        status.map_or(IndexState::Unavailable, |status| status.state) == IndexState::Unavailable
    }

    /// Reads the index's status in the background, at most once in
    /// [`STATE_CHECK_INTERVAL`]: another process may be rebuilding the index.
    pub(super) fn refresh_state(&self, tenant: &TenantId) {
        let mut checked = self
            .state_checked
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if checked.is_some_and(|checked| checked.elapsed() < STATE_CHECK_INTERVAL) {
            return;
        }
        *checked = Some(Instant::now());
        let (index, tenant) = (Arc::clone(&self.index), tenant.clone());
        task::spawn("index_state", async move { index.status(&tenant).await });
    }
}
