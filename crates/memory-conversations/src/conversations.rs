//! What conversations keep in this process.

use memory_database::Databases;
use memory_postgres::StoreConfig;

use crate::{config::CacheConfig, messages::cache::Windows, watch::Feeds};

/// What conversations keep in this process: recent windows, and the changes of watched threads.
/// Clones share it.
#[derive(Clone, Debug)]
pub struct Conversations {
    pub(crate) windows: Windows,
    pub(crate) feeds: Feeds,
}

impl Conversations {
    /// Nothing yet; recent windows are not kept.
    pub fn new(config: &StoreConfig, store: &Databases) -> Self {
        Self {
            windows: Windows::default(),
            feeds: Feeds::new(config, &store.pool, &store.main),
        }
    }

    /// Keeps recent windows in memory.
    #[must_use]
    pub fn with_cache(mut self, config: &CacheConfig) -> Self {
        self.windows = Windows::new(config);
        self
    }
}
