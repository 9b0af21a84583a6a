//! Reads one thread's changes in one database.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use memory_contract::{TenantId, ThreadId};
use memory_database::{StoreError, Transaction};
use tokio::{
    sync::watch,
    time::{Instant, sleep_until, timeout},
};

use super::feed::{Feed, NumberedChange, ROWS, Window};

/// Follows a thread after a position.
pub(super) struct Follower {
    feed: Feed,
    tenant: TenantId,
    thread: ThreadId,
    windows: watch::Receiver<Arc<Window>>,
    /// Every change up to here was delivered or lies before the start.
    place: i64,
    /// Ids after `place` that were delivered.
    delivered: BTreeSet<i64>,
    behind: Option<Behind>,
    /// No read before this moment.
    rest_until: Option<Instant>,
}

/// Changes that the reader has to read by itself, because the windows have moved on.
#[derive(Clone, Copy)]
struct Behind {
    /// The id of the change read last.
    after: i64,
    /// The settled position when the reading began.
    settled: i64,
}

/// A change and the position after it.
pub(super) type Delivered = (i64, Transaction);

impl Follower {
    /// Follows from now on, or after a position.
    pub(super) async fn start(
        feed: &Feed,
        tenant: &TenantId,
        thread: ThreadId,
        from: Option<i64>,
    ) -> Result<Self, StoreError> {
        let settled = feed.poll().await?;
        let place = from.unwrap_or_else(|| feed.recent());
        let watch_from = from.map_or(place, |_| settled);
        let mut follower = Self::at(feed, tenant, thread, place, watch_from);
        if from.is_some() {
            follower.behind = Some(Behind {
                after: place,
                settled,
            });
            return Ok(follower);
        }
        // What is visible already counts as delivered, though it may lie after the place.
        let mut after = place;
        loop {
            let known = feed.read(tenant, thread, after).await?;
            follower
                .delivered
                .extend(known.iter().map(|change| change.id));
            match known.last() {
                Some(last) if known.len() == ROWS => after = last.id,
                _ => return Ok(follower),
            }
        }
    }

    /// As [`Follower::start`]; where the database does not answer within `limit`, it
    /// follows after `instead`.
    pub(super) async fn start_within(
        limit: Duration,
        feed: &Feed,
        tenant: &TenantId,
        thread: ThreadId,
        from: Option<i64>,
        instead: i64,
    ) -> Self {
        let start = Self::start(feed, tenant, thread, from);
        match timeout(limit, start).await {
            Ok(Ok(follower)) => follower,
            _ => {
                let place = from.unwrap_or(instead);
                Self::at(feed, tenant, thread, place, place)
            }
        }
    }

    fn at(feed: &Feed, tenant: &TenantId, thread: ThreadId, place: i64, watch_from: i64) -> Self {
        Self {
            windows: feed.join(tenant, thread, watch_from),
            feed: feed.clone(),
            tenant: tenant.clone(),
            thread,
            place,
            delivered: BTreeSet::new(),
            behind: None,
            rest_until: None,
        }
    }

    pub(super) fn place(&self) -> i64 {
        self.place
    }

    /// Waits until there may be something to take. Cancel safe.
    pub(super) async fn wait(&mut self) {
        if let Some(at) = self.rest_until {
            sleep_until(at).await;
            self.rest_until = None;
        }
        if self.behind.is_none() && self.windows.changed().await.is_err() {
            // The feed keeps the sender while a receiver lives.
            std::future::pending().await
        }
    }

    /// New changes, the oldest first.
    pub(super) async fn take(&mut self) -> Result<Vec<Delivered>, StoreError> {
        if let Some(behind) = self.behind {
            return self.catch_up(behind).await;
        }
        let window = Arc::clone(&self.windows.borrow_and_update());
        if window.after <= self.place {
            return Ok(self.deliver(window.changes.iter().cloned(), window.settled));
        }
        let behind = Behind {
            after: self.place,
            settled: self.feed.settled(),
        };
        self.catch_up(behind).await
    }

    /// As [`Follower::take`] within `limit`; after a failure it returns nothing and rests
    /// for `pause`.
    pub(super) async fn try_take(&mut self, limit: Duration, pause: Duration) -> Vec<Delivered> {
        match timeout(limit, self.take()).await {
            Ok(Ok(delivered)) => delivered,
            _ => {
                self.rest_until = Some(Instant::now() + pause);
                Vec::new()
            }
        }
    }

    async fn catch_up(&mut self, behind: Behind) -> Result<Vec<Delivered>, StoreError> {
        self.behind = Some(behind);
        let changes = self
            .feed
            .read(&self.tenant, self.thread, behind.after)
            .await?;
        let next = changes.last().filter(|_| changes.len() == ROWS);
        self.behind = next.map(|last| Behind {
            after: last.id,
            ..behind
        });
        let settled = match self.behind {
            Some(Behind { after, settled }) => settled.min(after),
            None => behind.settled,
        };
        Ok(self.deliver(changes.into_iter(), settled))
    }

    /// Leaves out delivered changes.
    fn deliver(
        &mut self,
        changes: impl Iterator<Item = NumberedChange>,
        settled: i64,
    ) -> Vec<Delivered> {
        let mut news = Vec::new();
        for NumberedChange { id, transaction } in changes {
            if id > self.place && self.delivered.insert(id) {
                news.push((self.place.max(settled.min(id)), transaction));
            }
        }
        self.place = self.place.max(settled);
        self.delivered = self.delivered.split_off(&self.place.saturating_add(1));
        news
    }
}
