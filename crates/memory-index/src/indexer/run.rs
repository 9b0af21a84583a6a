//! The loop of the worker that applies the changes in the outbox to the index.

use std::time::Duration;

use futures::future::join_all;
use memory_contract::TenantId;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::batch::{Lane, Round};
use super::batch_size::{BatchSize, Limits};
use super::error::IndexerError;
use super::state::Indexer;
use crate::backend::Backend;
use crate::background::Slot;
use crate::error::IndexError;
use crate::index::IndexState;

/// Minimum time between two checks that the index receives changes. An idle worker also checks
/// that the collection still exists.
const COLLECTION_CHECK_INTERVAL: Duration = Duration::from_secs(2);

/// While users call, a batch is split into this many parts, so that a live change that is written
/// meanwhile waits less.
const BATCH_PARTS_WHILE_CALLED: usize = 4;

impl Indexer {
    /// Prepares the index, then indexes changes until `stop` is cancelled and the claimed
    /// batches are finished. While the store or the index does not answer, it retries
    /// with growing pauses; changes lose no attempt by that.
    pub async fn run(&self, stop: CancellationToken) {
        let mut failures = 0;
        while !stop.is_cancelled() {
            match self.prepare().await {
                Ok(false) => self.pause(&stop, COLLECTION_CHECK_INTERVAL).await,
                Ok(true) => {
                    failures = 0;
                    // While one lane writes, another embeds.
                    let lost = stop.child_token();
                    let lanes = (0..self.config.lanes.max(1)).map(|number| match number {
                        1 => Lane::Live,
                        _ => Lane::Any,
                    });
                    join_all(lanes.map(|lane| self.lane(lane, &lost))).await;
                }
                Err(error) => {
                    failures += 1;
                    self.note(&error);
                    self.pause(&stop, self.outage_pause(failures)).await;
                }
            }
        }
    }

    /// Indexes batches until `lost` is cancelled, which it does itself if the index has
    /// to be prepared again.
    async fn lane(&self, lane: Lane, lost: &CancellationToken) {
        let mut failures = 0;
        let mut woken = false;
        let mut lingers = false;
        let mut checked = Instant::now();
        let mut size = BatchSize::new(self.config.batch_size);
        while !lost.is_cancelled() {
            let slot = async {
                if lingers {
                    self.linger().await;
                }
                self.slot(lane).await
            };
            let slot = tokio::select! {
                slot = slot => slot,
                () = lost.cancelled() => return,
            };
            let limits = self.limits(lane, &size);
            let started = Instant::now();
            match self.round(lane, limits, slot).await {
                Ok(Round { changes: 0, .. }) => {
                    failures = 0;
                    lingers = true;
                    if woken && lane == Lane::Live {
                        // The change is another lane's.
                        self.wake_any.notify_one();
                    }
                    woken = false;
                    tokio::select! {
                        () = self.wake.notified() => woken = true,
                        () = self.wake_any.notified(), if lane == Lane::Any => {}
                        // Only after a pause, so that `run` does not prepare in a busy loop.
                        () = self.pause(lost, self.config.poll_interval) => {
                            lingers = false;
                            if self.has_to_be_prepared(&mut checked).await {
                                lost.cancel();
                            }
                        }
                    }
                }
                Ok(round) => {
                    failures = 0;
                    lingers = !round.is_full;
                    if round.is_bulk {
                        size.note(round.changes, started.elapsed());
                    }
                    if self.is_found_replaced(&mut checked).await == Some(true) {
                        lost.cancel();
                    }
                }
                Err(error) => {
                    failures += 1;
                    size.reset();
                    self.note(&error);
                    if matches!(error, IndexerError::Index(IndexError::Lost { .. })) {
                        lost.cancel();
                    }
                    self.pause(lost, self.outage_pause(failures)).await;
                    // An engine that closed has to be opened; a server comes back by itself.
                    let is_embedded = self.index.backend() == Backend::Edge;
                    if is_embedded && self.index.last_state() == IndexState::Unavailable {
                        lost.cancel();
                    }
                }
            }
        }
    }

    /// Whether the index does not answer, has lost its collection, was recorded anew, or receives
    /// no more changes. Without writes only the status reveals a lost collection.
    async fn has_to_be_prepared(&self, checked: &mut Instant) -> bool {
        if self.index.last_state() == IndexState::Unavailable {
            return true;
        }
        match self.is_found_replaced(checked).await {
            None => return false,
            Some(true) => return true,
            Some(false) => {}
        }
        if self.index.backend() == Backend::Edge {
            return false;
        }
        let any_tenant = TenantId::new("");
        self.index.status(&any_tenant).await.state == IndexState::Unavailable
    }

    /// Whether the index was replaced; `None` if that was checked a moment ago.
    async fn is_found_replaced(&self, checked: &mut Instant) -> Option<bool> {
        if checked.elapsed() < COLLECTION_CHECK_INTERVAL {
            return None;
        }
        *checked = Instant::now();
        Some(matches!(self.is_replaced().await, Ok(true)))
    }

    async fn pause(&self, stop: &CancellationToken, pause: Duration) {
        // A cancelled `stop` ends the pause early.
        let _ = tokio::time::timeout(pause, stop.cancelled()).await;
    }

    /// Waits for further changes, unless a query waits for one.
    async fn linger(&self) {
        let mut waiting = self.waiting.subscribe();
        let a_query_waits = waiting.wait_for(|queries| *queries > 0);
        let _ = tokio::time::timeout(self.config.linger, a_query_waits).await;
    }

    /// Waits for a slot for background work. The lane of live changes needs none.
    async fn slot(&self, lane: Lane) -> Option<Slot> {
        match lane {
            Lane::Any => Some(self.background.indexing().await),
            Lane::Live => None,
        }
    }

    /// The most changes to claim at a time.
    fn limits(&self, lane: Lane, without_calls: &BatchSize) -> Limits {
        let configured = self.config.batch_size;
        let (live, bulk) = match lane {
            Lane::Any if self.background.is_called() => {
                let part = (configured / BATCH_PARTS_WHILE_CALLED).max(1);
                (part, part)
            }
            Lane::Any => (configured, without_calls.get()),
            Lane::Live => (configured, 0),
        };
        Limits { live, bulk }
    }
}
