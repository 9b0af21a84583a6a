//! The store: its connections, and what its views share.

use std::sync::Arc;

use memory_contract::MemoryPolicy;
use memory_objects::Objects;

use memory_postgres::{Database, Group, Pool, PoolStatus, Role, query};

use crate::{
    CacheConfig, EphemeralConfig, StoreConfig, StoreError,
    cache::Windows,
    memories::Uses,
    migrate,
    rows::{column, only},
    watch::Feeds,
};

/// Conversations and what belongs to them, in Postgres. Its views work for one caller.
/// Clones share the connections.
#[derive(Clone, Debug)]
pub struct Store {
    /// To the conversations' database, which nearly everything needs.
    pub(crate) pool: Pool,
    /// Appends, which share transactions.
    pub(crate) appends: Group,
    pub(crate) windows: Windows,
    pub(crate) ephemeral: EphemeralConfig,
    /// To the database of files, keys and secrets; mostly the same one, and
    /// then a clone.
    pub(crate) main: Pool,
    pub(crate) objects: Option<Objects>,
    pub(crate) feeds: Feeds,
    pub(crate) uses: Uses,
    /// Whether long-term memory is switched on.
    pub(crate) remembers: bool,
    /// What the server sets for the policies of all apps.
    pub(crate) policy: Arc<MemoryPolicy>,
    /// The index's collection that this process searches; `None`: the serving one.
    pub(crate) searched: Option<String>,
}

/// One page of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Page<T, K> {
    /// The entries, in the order of the list.
    pub items: Vec<T>,
    /// The key to continue after; `None` on the last page.
    pub next: Option<K>,
}

impl<T, K: Clone> Page<T, K> {
    /// Makes a page of `limit` from the rows of a query for one row more, each
    /// with its key.
    pub(crate) fn cut(mut rows: Vec<(K, T)>, limit: u32) -> Self {
        let limit = limit as usize;
        let more = rows.len() > limit;
        rows.truncate(limit);
        Self {
            next: rows.last().map(|(key, _)| key.clone()).filter(|_| more),
            items: rows.into_iter().map(|(_, item)| item).collect(),
        }
    }
}

impl Store {
    /// Opens the pool, or both of them. It connects once, so that a wrong URL, a
    /// missing role and an old schema are known at once.
    ///
    /// # Errors
    /// `Config` or `Migration` where an operator has to act, `Unavailable` where a retry
    /// may succeed.
    pub async fn connect(config: &StoreConfig) -> Result<Self, StoreError> {
        let open = |database| {
            let (size, overflow) = (config.pool_size, config.max_overflow);
            Pool::new(config, database, Role::Service, size, overflow)
        };
        let main = open(Database::Main)?;
        let pool = match config.chat() {
            Database::Main => main.clone(),
            Database::Chat => open(Database::Chat)?,
        };
        migrate::check(&main).await?;
        if pool.database() != main.database() {
            migrate::check(&pool).await?;
        }
        Ok(Self {
            feeds: Feeds::new(config, &pool, &main),
            uses: Uses::new(pool.clone()),
            remembers: true,
            searched: None,
            policy: config.policy.clone(),
            appends: Group::new(&pool),
            pool,
            main,
            windows: Windows::default(),
            ephemeral: EphemeralConfig::default(),
            objects: None,
        })
    }

    /// Keeps recent windows in memory; without this, nothing is kept.
    #[must_use]
    pub fn with_cache(mut self, config: &CacheConfig) -> Self {
        self.windows = Windows::new(config);
        self
    }

    /// Sets the limits of ephemeral threads; without this, they are the defaults.
    #[must_use]
    pub fn with_ephemeral(mut self, config: &EphemeralConfig) -> Self {
        self.ephemeral = config.clone();
        self
    }

    /// What the server sets for the policies of all apps.
    pub fn server_policy(&self) -> Arc<MemoryPolicy> {
        self.policy.clone()
    }

    /// Whether the conversations have a separate database.
    pub fn has_chat_database(&self) -> bool {
        self.pool.database() != self.main.database()
    }

    /// How many connections to the conversations' database there are and how
    /// many are free.
    pub fn pool_status(&self) -> PoolStatus {
        self.pool.status()
    }

    /// The same of the database of files, keys and secrets.
    pub fn main_pool_status(&self) -> PoolStatus {
        self.main.status()
    }

    /// Checks that the conversations' database answers.
    ///
    /// # Errors
    /// `Unavailable` or `PoolTimeout` if the database does not answer.
    pub async fn ping(&self) -> Result<(), StoreError> {
        self.postgres_version().await.map(drop)
    }

    /// Checks that the database of files, keys and secrets answers.
    ///
    /// # Errors
    /// As [`Store::ping`].
    pub async fn ping_main(&self) -> Result<(), StoreError> {
        self.main.call(query!("schema/version"), &[]).await?;
        Ok(())
    }

    /// The version of the conversations' database, such as `15.18`.
    ///
    /// # Errors
    /// As [`Store::ping`].
    pub async fn postgres_version(&self) -> Result<String, StoreError> {
        let row = only(self.pool.call(query!("schema/version"), &[]).await?)?;
        let version: &str = column(&row, "server_version")?;
        // Distributions add their own: `15.18 (Debian 15.18-0+deb12u1)`.
        Ok(version
            .split_whitespace()
            .next()
            .unwrap_or(version)
            .to_owned())
    }
}
