//! Watches the changes of a thread.
//!
//! Each change writes a row of the audit log in its own transaction. Watching polls
//! those rows, so writers pay nothing and changes of all processes are seen.

mod content;
mod feed;
mod feeds;
mod follower;
mod horizon;

use std::time::Duration;

use follower::{Delivered, Follower};
use memory_contract::ThreadId;
use memory_database::{StoreError, Transaction};
use time::OffsetDateTime;

use crate::ThreadStore;

pub use content::SeqRange;
pub(crate) use feeds::Feeds;

/// How long a read of the main database may take.
const MAIN_TIMEOUT: Duration = Duration::from_secs(1);
/// The pause after such a read has failed.
const MAIN_PAUSE: Duration = Duration::from_secs(5);
/// A position in the changes of a thread: every change before it was delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchPlace {
    /// In the conversations' database.
    pub chat: i64,
    /// In the main database; equal to `chat` where they are the same.
    pub main: i64,
}

/// A change of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The audit row of the change.
    pub transaction: Transaction,
    /// The position after it.
    pub place: WatchPlace,
}

/// A reader of a thread's changes. It holds no connection while it waits.
pub struct Watch {
    chat: Follower,
    main: Option<Follower>,
}

impl WatchPlace {
    /// The approximate time of the position.
    pub fn time(self) -> OffsetDateTime {
        let nanos = i128::from(self.chat / 256) * 1_000;
        OffsetDateTime::from_unix_timestamp_nanos(nanos).unwrap_or(OffsetDateTime::UNIX_EPOCH)
    }
}

impl ThreadStore<'_> {
    /// Watches the changes of a thread, from now on or after a position.
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
        } = &self.conversations.feeds;
        let chat = Follower::start(chat, tenant, thread, from.map(|place| place.chat)).await?;
        let main = match main {
            Some(feed) => {
                let from = from.map(|place| place.main);
                // The clocks of two databases are assumed to agree roughly.
                let instead = chat.place().saturating_sub(horizon::ids(*overlap));
                let start =
                    Follower::start_within(MAIN_TIMEOUT, feed, tenant, thread, from, instead);
                Some(start.await)
            }
            None => None,
        };
        // Checked last: a deletion from here on is delivered.
        self.get_thread(thread).await?;
        Ok(Watch { chat, main })
    }
}

impl Watch {
    /// The position of the reader.
    pub fn place(&self) -> WatchPlace {
        let chat = self.chat.place();
        WatchPlace {
            chat,
            main: self.main.as_ref().map_or(chat, Follower::place),
        }
    }

    /// Waits for changes and returns the undelivered ones, in order; a change that
    /// committed late follows the changes that overtook it. Cancelling while it waits loses
    /// nothing; after cancelling while it reads, watch again.
    ///
    /// # Errors
    /// Only errors of the conversations' database.
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
                    let delivered = main.try_take(MAIN_TIMEOUT, MAIN_PAUSE).await;
                    let chat = self.chat.place();
                    changes(delivered, |main| WatchPlace { chat, main })
                }
                main => {
                    let delivered = self.chat.take().await?;
                    let main = main.as_ref().map(Follower::place);
                    changes(delivered, |chat| WatchPlace {
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

fn changes(delivered: Vec<Delivered>, place: impl Fn(i64) -> WatchPlace) -> Vec<Change> {
    let change = |(at, transaction)| Change {
        transaction,
        place: place(at),
    };
    delivered.into_iter().map(change).collect()
}
