//! The store: its connections, and the state that its views share.

use std::sync::Arc;

use memory_contract::MemoryPolicy;
use memory_objects::Objects;

use memory_postgres::{Database, Group, Pool, PoolStatus, Role, query};

use crate::{
    CacheConfig, EphemeralConfig, StoreConfig, StoreError,
    memories::Uses,
    messages::cache::Windows,
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
    /// The policy that the server sets for all apps.
    pub(crate) policy: Arc<MemoryPolicy>,
    /// The index's collection that this process searches; `None`: the serving one.
    pub(crate) searched: Option<String>,
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

    /// The policy that the server sets for all apps.
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

    /// The same for the database of files, keys and secrets.
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
