//! Watching what is done to a thread.
//!
//! Every change leaves its row of who did what, written in the change's own
//! transaction. Watching is reading those rows: it costs whoever changes
//! something nothing, and tells what any process has done.

mod feed;
mod follower;
mod horizon;

use std::time::Duration;

use memory_contract::ThreadId;
use time::OffsetDateTime;

use crate::{StoreConfig, StoreError, ThreadStore, Transaction, pool::Pool};
use feed::Feed;
use follower::{Follower, Told};

/// How long the database of files, keys and secrets may keep a reader waiting.
const MAIN_PATIENCE: Duration = Duration::from_secs(1);
/// The pause before it is asked again.
const MAIN_PAUSE: Duration = Duration::from_secs(5);
/// Statements that a transaction may still run after it has noted a change, its
/// commit included.
const LAST_STATEMENTS: u32 = 2;
/// What a transaction takes besides.
const BESIDES: Duration = Duration::from_secs(5);

/// What happens in the databases. A clone shares it.
#[derive(Clone, Debug)]
pub(crate) struct Feeds {
    chat: Feed,
    /// Where it is another one.
    main: Option<Feed>,
    overlap: Duration,
}

/// A place in what was done to a thread: everything before it was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchPlace {
    /// In the database of the conversations.
    pub chat: i64,
    /// In the one of files, keys and secrets; mostly the same database, and then
    /// the same place.
    pub main: i64,
}

/// A change of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// What was done.
    pub transaction: Transaction,
    /// Where to go on after it.
    pub place: WatchPlace,
}

/// A reader of what is done to a thread. It has no connection while it waits.
pub struct Watch {
    chat: Follower,
    main: Option<Follower>,
}

impl WatchPlace {
    /// Around when it lies.
    pub fn time(self) -> OffsetDateTime {
        let nanos = i128::from(self.chat / 256) * 1_000;
        OffsetDateTime::from_unix_timestamp_nanos(nanos).unwrap_or(OffsetDateTime::UNIX_EPOCH)
    }
}

impl Feeds {
    pub(crate) fn new(config: &StoreConfig, chat: &Pool, main: &Pool) -> Self {
        let overlap = config.statement_timeout * LAST_STATEMENTS + BESIDES;
        Self {
            chat: Feed::new(chat.clone(), overlap),
            main: (chat.database != main.database).then(|| Feed::new(main.clone(), overlap)),
            overlap,
        }
    }
}

impl ThreadStore<'_> {
    /// Watches what is done to a thread, from now on or from a place on.
    ///
    /// # Errors
    /// `ThreadNotFound`.
    pub async fn watch_thread(
        self,
        thread: ThreadId,
        from: Option<WatchPlace>,
    ) -> Result<Watch, StoreError> {
        let tenant = &self.caller.tenant;
        let Feeds {
            chat,
            main,
            overlap,
        } = &self.store.feeds;
        let chat = Follower::start(chat, tenant, thread, from.map(|place| place.chat)).await?;
        let main = match main {
            Some(feed) => {
                let from = from.map(|place| place.main);
                // The clocks of two databases are about the same.
                let instead = chat.place().saturating_sub(horizon::ids(*overlap));
                let start =
                    Follower::start_within(MAIN_PATIENCE, feed, tenant, thread, from, instead);
                Some(start.await)
            }
            None => None,
        };
        // Last: what is deleted from here on is told.
        self.get_thread(thread).await?;
        Ok(Watch { chat, main })
    }
}

impl Watch {
    /// Where the reader is.
    pub fn place(&self) -> WatchPlace {
        let chat = self.chat.place();
        WatchPlace {
            chat,
            main: self.main.as_ref().map_or(chat, Follower::place),
        }
    }

    /// Waits for changes, and tells those that were not told: in order, but that
    /// one that took longer to commit comes after those that overtook it. A
    /// reader that gives up waiting loses nothing; one that gives up while
    /// something is read has to begin anew.
    ///
    /// # Errors
    /// Only those of the conversations' database.
    pub async fn next(&mut self) -> Result<Vec<Change>, StoreError> {
        loop {
            let is_main = match &mut self.main {
                Some(main) => tokio::select! {
                    () = self.chat.wait() => false,
                    () = main.wait() => true,
                },
                None => {
                    self.chat.wait().await;
                    false
                }
            };
            let changes = match &mut self.main {
                Some(main) if is_main => {
                    let told = main.try_take(MAIN_PATIENCE, MAIN_PAUSE).await;
                    let chat = self.chat.place();
                    changes(told, |main| WatchPlace { chat, main })
                }
                main => {
                    let told = self.chat.take().await?;
                    let main = main.as_ref().map(Follower::place);
                    changes(told, |chat| WatchPlace {
                        chat,
                        main: main.unwrap_or(chat),
                    })
                }
            };
            if !changes.is_empty() {
                return Ok(changes);
            }
        }
    }
}

fn changes(told: Vec<Told>, place: impl Fn(i64) -> WatchPlace) -> Vec<Change> {
    let change = |(at, transaction)| Change {
        transaction,
        place: place(at),
    };
    told.into_iter().map(change).collect()
}
