//! The feeds of both databases.

use std::time::Duration;

use memory_postgres::{Pool, StoreConfig};

use super::feed::Feed;

/// Statements that a transaction may still run after it has noted a change, its
/// commit included.
const LAST_STATEMENTS: u32 = 2;
/// The time of a transaction besides its statements.
const TRANSACTION_OVERHEAD: Duration = Duration::from_secs(5);

/// The feeds of both databases. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct Feeds {
    pub(super) chat: Feed,
    /// `None` where one database has everything.
    pub(super) main: Option<Feed>,
    pub(super) overlap: Duration,
}

impl Feeds {
    pub(crate) fn new(config: &StoreConfig, chat: &Pool, main: &Pool) -> Self {
        let overlap = config.statement_timeout * LAST_STATEMENTS + TRANSACTION_OVERHEAD;
        Self {
            chat: Feed::new(chat.clone(), overlap),
            main: (chat.database() != main.database()).then(|| Feed::new(main.clone(), overlap)),
            overlap,
        }
    }
}
