//! Polls a database for changes of watched threads: one task, and one query for all
//! threads of a tenant.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use memory_contract::{TenantId, ThreadId};
use memory_database::{
    StoreError, Transaction, read_transaction,
    rows::{column, only},
};
use memory_postgres::{Caller, Params, Pool, query};
use memory_runtime::task;
use tokio::{
    sync::watch,
    time::{MissedTickBehavior, interval, sleep},
};
use uuid::Uuid;

use super::horizon::{Horizon, Moment};

/// The pause between two polls.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// Polls of a watch that begins while transactions are under way, after the first, and the pauses
/// between them. Then it reads what came after the last position that is known.
const START_POLLS: usize = 8;
const START_PAUSE: Duration = Duration::from_millis(10);
/// Changes of one thread that one query returns.
pub(super) const ROWS: usize = 256;

/// The changes of one database. Clones share the task that polls.
#[derive(Clone)]
pub(crate) struct Feed {
    shared: Arc<FeedState>,
}

struct FeedState {
    pool: Pool,
    horizon: Mutex<Horizon>,
    watched: Mutex<Watched>,
}

#[derive(Default)]
struct Watched {
    /// Whether the polling task runs.
    polling: bool,
    tenants: HashMap<TenantId, HashMap<ThreadId, WatchedThread>>,
}

/// A watched thread.
struct WatchedThread {
    windows: watch::Sender<Arc<Window>>,
    /// Everything up to this position was shown.
    place: i64,
    /// Ids after it that were shown, sorted.
    shown: Vec<i64>,
}

/// The newest changes of a thread. Only the last window is kept: a reader that missed
/// one reads the database itself.
#[derive(Debug)]
pub(super) struct Window {
    /// The window has every visible change after this position.
    pub(super) after: i64,
    /// Changes that become visible later lie after this position.
    pub(super) settled: i64,
    pub(super) changes: Vec<NumberedChange>,
}

/// A change with its id.
#[derive(Clone, Debug)]
pub(super) struct NumberedChange {
    pub(super) id: i64,
    pub(super) transaction: Transaction,
}

impl Feed {
    /// A feed without watched threads. `overlap` exceeds the time that most transactions of
    /// the service live after they have written their audit row.
    pub(super) fn new(pool: Pool, overlap: Duration) -> Self {
        Self {
            shared: Arc::new(FeedState {
                pool,
                horizon: Mutex::new(Horizon::new(overlap)),
                watched: Mutex::default(),
            }),
        }
    }

    /// A read that begins now sees every change up to this position.
    pub(super) fn settled(&self) -> i64 {
        self.shared.horizon().settled()
    }

    /// Where a watch from now on begins: at [`Feed::settled`], or later where a change has been
    /// uncommitted for long.
    pub(super) fn recent(&self) -> i64 {
        self.shared.horizon().recent()
    }

    /// As [`Feed::settled`], after polling if the last poll is old.
    pub(super) async fn poll(&self) -> Result<i64, StoreError> {
        if !self.shared.horizon().is_fresh(POLL_INTERVAL * 2) {
            // Transactions that the first poll meets have mostly ended at the second.
            self.shared.poll().await?;
            for _ in 0..START_POLLS {
                self.shared.poll().await?;
                if !self.shared.horizon().is_late() {
                    break;
                }
                sleep(START_PAUSE).await;
            }
        }
        Ok(self.settled())
    }

    /// The oldest changes of a thread after a position, at most [`ROWS`].
    pub(super) async fn read(
        &self,
        tenant: &TenantId,
        thread: ThreadId,
        after: i64,
    ) -> Result<Vec<NumberedChange>, StoreError> {
        self.shared.read(tenant, &[(thread, after)]).await
    }

    /// Watches a thread while the receiver lives. For the first receiver of a thread,
    /// everything after `place` is shown.
    pub(super) fn join(
        &self,
        tenant: &TenantId,
        thread: ThreadId,
        place: i64,
    ) -> watch::Receiver<Arc<Window>> {
        let mut watched = self.shared.watched();
        let threads = watched.tenants.entry(tenant.clone()).or_default();
        let entry = threads
            .entry(thread)
            .or_insert_with(|| WatchedThread::new(place));
        let mut windows = entry.windows.subscribe();
        // Changes that were shown before may be new to this receiver.
        windows.mark_changed();
        if !watched.polling {
            watched.polling = true;
            // Ends with the last watcher.
            task::spawn("watch_feed", poll_while_watched(Arc::clone(&self.shared)));
        }
        windows
    }
}

impl WatchedThread {
    fn new(place: i64) -> Self {
        let window = Window {
            after: place,
            settled: place,
            changes: Vec::new(),
        };
        Self {
            windows: watch::Sender::new(Arc::new(window)),
            place,
            shown: Vec::new(),
        }
    }

    /// Shows changes after a position, if one of them was not shown yet or if all shown ones
    /// are settled.
    fn show(&mut self, after: i64, settled: i64, changes: Vec<NumberedChange>) {
        let shown = |change: &NumberedChange| self.shown.binary_search(&change.id).is_ok();
        let is_news = !changes.iter().all(shown);
        let is_over = self.shown.last().is_some_and(|last| *last <= settled);
        if !is_news && !is_over {
            return;
        }
        self.place = settled.max(after);
        let is_whole = changes.len() < ROWS;
        let unsettled = changes.iter().map(|change| change.id);
        self.shown = match is_whole {
            true => unsettled.filter(|id| *id > self.place).collect(),
            false => Vec::new(),
        };
        self.windows.send_replace(Arc::new(Window {
            // There are more: each reader reads the database itself.
            after: if is_whole { after } else { i64::MAX },
            settled,
            changes: if is_whole { changes } else { Vec::new() },
        }));
    }
}

/// Polls until no thread is watched.
async fn poll_while_watched(shared: Arc<FeedState>) {
    let mut ticks = interval(POLL_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut failing = false;
    loop {
        ticks.tick().await;
        let Some(asked) = shared.asked() else {
            return;
        };
        let result = shared.show(&asked).await;
        if let (Err(error), false) = (&result, failing) {
            tracing::warn!(%error, "changes of watched threads cannot be read; trying again");
        }
        failing = result.is_err();
    }
}

/// The threads of a tenant, each with the place after which to read.
type Places = Vec<(ThreadId, i64)>;

impl FeedState {
    /// The threads to read; `None` ends the polling because no thread is watched.
    fn asked(&self) -> Option<Vec<(TenantId, Places)>> {
        let mut watched = self.watched();
        watched.tenants.retain(|_, threads| {
            threads.retain(|_, entry| entry.windows.receiver_count() > 0);
            !threads.is_empty()
        });
        if watched.tenants.is_empty() {
            watched.polling = false;
            return None;
        }
        let places = |threads: &HashMap<ThreadId, WatchedThread>| {
            let place = |(thread, entry): (&ThreadId, &WatchedThread)| (*thread, entry.place);
            threads.iter().map(place).collect()
        };
        let tenants = watched.tenants.iter();
        Some(
            tenants
                .map(|(tenant, threads)| (tenant.clone(), places(threads)))
                .collect(),
        )
    }

    /// Shows new changes of all tenants; an error of one tenant does not affect others.
    async fn show(&self, asked: &[(TenantId, Places)]) -> Result<(), StoreError> {
        // Polled before reading, so the read has every settled change.
        let settled = self.poll().await?;
        let mut result = Ok(());
        for (tenant, places) in asked {
            match self.read(tenant, places).await {
                Ok(changes) => self.show_to(tenant, places, settled, changes),
                Err(error) => result = Err(error),
            }
        }
        result
    }

    fn show_to(
        &self,
        tenant: &TenantId,
        places: &Places,
        settled: i64,
        changes: Vec<NumberedChange>,
    ) {
        let mut of_threads: HashMap<ThreadId, Vec<NumberedChange>> = HashMap::new();
        for change in changes {
            if let Some(thread) = change.transaction.thread {
                of_threads.entry(thread).or_default().push(change);
            }
        }
        let mut watched = self.watched();
        let Some(threads) = watched.tenants.get_mut(tenant) else {
            return;
        };
        for (thread, after) in places {
            if let Some(entry) = threads.get_mut(thread) {
                let changes = of_threads.remove(thread).unwrap_or_default();
                entry.show(*after, settled, changes);
            }
        }
    }

    async fn poll(&self) -> Result<i64, StoreError> {
        let row = only(
            self.pool
                .call_for_all(query!("transactions/horizon"), &[])
                .await?,
        )?;
        let mut moment = Moment {
            now: column(&row, "now")?,
            oldest: column(&row, "oldest")?,
            own: column(&row, "own")?,
        };
        let is_held = self.horizon().is_held(moment);
        if is_held {
            let writer = query!("transactions/oldest_writer");
            let row = only(self.pool.call_for_all(writer, &[&moment.own]).await?)?;
            moment.oldest = column(&row, "oldest")?;
        }
        Ok(self.horizon().see(moment))
    }

    async fn read(
        &self,
        tenant: &TenantId,
        places: &[(ThreadId, i64)],
    ) -> Result<Vec<NumberedChange>, StoreError> {
        let threads: Vec<Uuid> = places.iter().map(|(thread, _)| thread.uuid()).collect();
        let after: Vec<i64> = places.iter().map(|(_, after)| *after).collect();
        let limit = ROWS as i64;
        let params: Params<'_> = &[&tenant.as_str(), &threads, &after, &limit];
        let rows = self
            .pool
            .within(
                &Caller::worker(tenant.clone()),
                query!("transactions/watch"),
                params,
            )
            .await?;
        let noted = |row| {
            Ok(NumberedChange {
                id: column(row, "id")?,
                transaction: read_transaction(row)?,
            })
        };
        rows.iter().map(noted).collect()
    }

    fn horizon(&self) -> MutexGuard<'_, Horizon> {
        self.horizon.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn watched(&self) -> MutexGuard<'_, Watched> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Feed {
    /// Only how many threads are watched.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let watched = self.shared.watched();
        let threads: usize = watched.tenants.values().map(HashMap::len).sum();
        f.debug_struct("Feed").field("threads", &threads).finish()
    }
}
