//! Follows which collection of the index serves, and removes retired ones.

use std::sync::Arc;
use std::time::Duration;

use memory_contract::TenantId;
use memory_runtime::error_chain;
use memory_store::{CollectionRecord, CollectionState, Outbox, Store, StoreError};
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::index::{Index, IndexState};
use crate::indexes::Indexes;

/// Interval between two polls of the database.
const PERIOD: Duration = Duration::from_secs(1);
/// Heartbeat interval of a worker, in polls.
const HEARTBEAT_EVERY: u64 = 60;
/// The second collection is abandoned if no worker writes to it for this time.
const ABANDON_AFTER: Duration = Duration::from_secs(3_600);
/// How long a switch waits for a complete index to be marked as complete.
const MARK_LIMIT: Duration = Duration::from_secs(5);
/// A retired collection is removed after this time, when no process searches it any more.
const REMOVE_AFTER: Duration = Duration::from_secs(15);
/// How long one worker has for the removal.
const REMOVE_LEASE: Duration = Duration::from_secs(120);
/// Changes deleted at a time, for collections that receive no more changes.
const SWEEP: i64 = 5_000;

/// The indexes of this process, and their collections as the database records them.
pub struct Collections {
    /// Records the collections.
    pub store: Store,
    /// Only in a process that writes to the index.
    pub outbox: Option<Outbox>,
    /// The index of the embedding model, and that of the model to change to.
    pub indexes: Indexes,
}

impl Collections {
    /// Polls the database every second until `stop` is cancelled, and calls `report` with the result
    /// of [`Collections::adopt`]. In a worker, also removes retired collections.
    pub async fn run(&self, stop: CancellationToken, report: impl Fn(Option<String>)) {
        let mut ticks = interval(PERIOD);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut until_heartbeat = 0;
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                _ = ticks.tick() => {}
            }
            match self.look(until_heartbeat == 0).await {
                Ok((problem, more)) => {
                    report(problem);
                    if until_heartbeat == 0 && !more {
                        until_heartbeat = HEARTBEAT_EVERY;
                    }
                }
                // Health reports the database.
                Err(error) => {
                    let error = error_chain(&error);
                    tracing::debug!(error, "the collections of the index are unknown");
                }
            }
            until_heartbeat = until_heartbeat.saturating_sub(1);
        }
    }

    /// Searches the collection that serves. Returns the reason if this process cannot.
    ///
    /// # Errors
    /// Only those of the database.
    pub async fn adopt(&self) -> Result<Option<String>, StoreError> {
        let records = self.store.index_collections().await?;
        Ok(self.follow(&records).await)
    }

    /// As [`Collections::adopt`]. Removes retired collections; if `heartbeat`, records that this
    /// worker writes to its collections, deletes some changes for other collections, and returns
    /// whether more may be left.
    async fn look(&self, heartbeat: bool) -> Result<(Option<String>, bool), StoreError> {
        let records = self.store.index_collections().await?;
        let problem = self.follow(&records).await;
        let Some(outbox) = &self.outbox else {
            return Ok((problem, false));
        };
        for record in &records {
            if record.state == CollectionState::Retired && record.age > REMOVE_AFTER {
                self.remove(outbox, record).await?;
            }
        }
        if !heartbeat {
            return Ok((problem, false));
        }
        let names: Vec<&str> = self.indexes.each().map(name).collect();
        if let [first, next] = names[..]
            && is_given_up(&records, first, next)
            && outbox.open_collections(first, Some(next)).await?
        {
            tracing::info!(collection = next, "the next index is filled again");
        }
        let recorded = outbox.record_heartbeat(&names, ABANDON_AFTER, SWEEP);
        Ok((problem, recorded.await?))
    }

    /// Searches the collection that serves from now on.
    async fn follow(&self, records: &[CollectionRecord]) -> Option<String> {
        let serving = records
            .iter()
            .find(|record| record.state == CollectionState::Serving)?;
        let mut places = self.indexes.each().enumerate();
        let Some((place, index)) = places.find(|(_, index)| name(index) == serving.name) else {
            return Some(format!(
                "the index {} serves, which this process cannot search: configure its model as embedding or embedding_next",
                serving.name
            ));
        };
        if place == self.indexes.place().get() {
            return None;
        }
        // Searches use the state that is read here.
        let state = index.status(&TenantId::default()).await.state;
        if state == IndexState::Rebuilding && serving.age < MARK_LIMIT {
            // Its last change is applied; the worker is about to mark it as complete.
            return None;
        }
        self.indexes.place().set(place == 1);
        tracing::info!(
            collection = serving.name,
            complete = state == IndexState::Ready,
            "the index was switched"
        );
        if let Err(error) = index.publish().await {
            tracing::warn!(%error, "the alias of the index that serves could not be moved");
        }
        None
    }

    async fn remove(&self, outbox: &Outbox, record: &CollectionRecord) -> Result<(), StoreError> {
        if !outbox.lease_collection(record.number, REMOVE_LEASE).await? {
            return Ok(());
        }
        let collection = record.name.as_str();
        match self.indexes.discard(collection).await {
            Ok(()) => {
                tracing::info!(collection, "a retired index was removed");
                outbox.forget_collection(record.number).await
            }
            Err(error) => {
                tracing::warn!(collection, %error, "removing a retired index failed");
                Ok(())
            }
        }
    }
}

/// Whether the next index was given up, because no worker wrote to it or because of another one, and
/// no other one is in its place now.
fn is_given_up(records: &[CollectionRecord], first: &str, next: &str) -> bool {
    let is = |record: &CollectionRecord, name: &str, state: CollectionState| {
        record.name == name && record.state == state
    };
    let serving = |record: &CollectionRecord| is(record, first, CollectionState::Serving);
    let abandoned = |record: &CollectionRecord| is(record, next, CollectionState::Abandoned);
    let beside = |record: &CollectionRecord| record.state == CollectionState::Beside;
    records.iter().any(serving) && records.iter().any(abandoned) && !records.iter().any(beside)
}

fn name(index: &Arc<dyn Index>) -> &str {
    index.schema().collection()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_next_index_that_nothing_replaces_is_opened_again() {
        use CollectionState::{Abandoned, Beside, Retired, Serving};
        let given_up = |states: &[(&str, CollectionState)]| {
            let record = |(name, state): &(&str, CollectionState)| CollectionRecord {
                number: 0,
                name: (*name).to_owned(),
                state: *state,
                emptied: true,
                queued: true,
                age: Duration::ZERO,
            };
            let records: Vec<_> = states.iter().map(record).collect();
            is_given_up(&records, "a", "b")
        };
        assert!(given_up(&[("a", Serving), ("b", Abandoned)]));
        for states in [
            &[("a", Serving)][..],
            &[("a", Serving), ("b", Beside)],
            &[("a", Serving), ("b", Retired)],
            &[("a", Serving), ("b", Abandoned), ("c", Beside)],
            &[("b", Serving), ("a", Abandoned)],
            &[("c", Serving), ("b", Abandoned)],
        ] {
            assert!(!given_up(states), "{states:?}");
        }
    }
}
