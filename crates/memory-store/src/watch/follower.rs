//! One reader of one thread's changes in one database.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use memory_contract::{TenantId, ThreadId};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};

use super::feed::{Feed, Noted, ROWS, Window};
use crate::{StoreError, Transaction};

/// Follows a thread from a place on.
pub(super) struct Follower {
    feed: Feed,
    tenant: TenantId,
    thread: ThreadId,
    windows: watch::Receiver<Arc<Window>>,
    /// Every change up to here was told, or is none of this reader's business.
    place: i64,
    /// Those after it that were told.
    told: BTreeSet<i64>,
    behind: Option<Behind>,
    /// Not to be asked for more before.
    rest_until: Option<Instant>,
}

/// A reader for whom the windows have nothing before this is read.
#[derive(Clone, Copy)]
struct Behind {
    /// The change that was read last.
    after: i64,
    /// What was settled when the reading began.
    settled: i64,
}

/// A change, and the place from which to go on after it.
pub(super) type Told = (i64, Transaction);

impl Follower {
    /// Follows from now on, or from a place on.
    pub(super) async fn start(
        feed: &Feed,
        tenant: &TenantId,
        thread: ThreadId,
        from: Option<i64>,
    ) -> Result<Self, StoreError> {
        let settled = feed.look().await?;
        let place = from.unwrap_or(settled);
        let mut follower = Self::at(feed, tenant, thread, place, settled);
        if from.is_some() {
            follower.behind = Some(Behind {
                after: place,
                settled,
            });
            return Ok(follower);
        }
        // What can be seen already is no news, though it may lie after the place.
        let mut after = place;
        loop {
            let known = feed.read(tenant, thread, after).await?;
            follower.told.extend(known.iter().map(|change| change.id));
            match known.last() {
                Some(last) if known.len() == ROWS => after = last.id,
                _ => return Ok(follower),
            }
        }
    }

    /// As [`Follower::start`], also where the database keeps one waiting: then
    /// from `instead` on.
    pub(super) async fn start_within(
        patience: Duration,
        feed: &Feed,
        tenant: &TenantId,
        thread: ThreadId,
        from: Option<i64>,
        instead: i64,
    ) -> Self {
        let start = Self::start(feed, tenant, thread, from);
        match timeout(patience, start).await {
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
            told: BTreeSet::new(),
            behind: None,
            rest_until: None,
        }
    }

    pub(super) fn place(&self) -> i64 {
        self.place
    }

    /// Waits until there may be something to take. Nothing is lost when the
    /// wait is given up.
    pub(super) async fn wait(&mut self) {
        if let Some(at) = self.rest_until {
            sleep_until(at).await;
            self.rest_until = None;
        }
        if self.behind.is_none() && self.windows.changed().await.is_err() {
            // The feed keeps the sender for as long as somebody follows.
            std::future::pending().await
        }
    }

    /// What is new, the oldest first.
    pub(super) async fn take(&mut self) -> Result<Vec<Told>, StoreError> {
        if let Some(behind) = self.behind {
            return self.catch_up(behind).await;
        }
        let window = Arc::clone(&self.windows.borrow_and_update());
        if window.after <= self.place {
            return Ok(self.tell(window.changes.iter().cloned(), window.settled));
        }
        let behind = Behind {
            after: self.place,
            settled: self.feed.settled(),
        };
        self.catch_up(behind).await
    }

    /// As [`Follower::take`], from a database that others do not wait for.
    pub(super) async fn try_take(&mut self, patience: Duration, pause: Duration) -> Vec<Told> {
        match timeout(patience, self.take()).await {
            Ok(Ok(told)) => told,
            _ => {
                self.rest_until = Some(Instant::now() + pause);
                Vec::new()
            }
        }
    }

    async fn catch_up(&mut self, behind: Behind) -> Result<Vec<Told>, StoreError> {
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
        Ok(self.tell(changes.into_iter(), settled))
    }

    /// Passes over what was told before.
    fn tell(&mut self, changes: impl Iterator<Item = Noted>, settled: i64) -> Vec<Told> {
        let mut news = Vec::new();
        for Noted { id, transaction } in changes {
            if id > self.place && self.told.insert(id) {
                news.push((self.place.max(settled.min(id)), transaction));
            }
        }
        self.place = self.place.max(settled);
        self.told = self.told.split_off(&self.place.saturating_add(1));
        news
    }
}
