//! The store for callers of tenants.

use std::sync::Arc;

use memory_agents::Turns;
use memory_contract::policy::{MemoryPolicy, PolicyLevel, ResolvedPolicy};
use memory_conversations::Conversations;
use memory_database::Databases;
use memory_derived::Uses;
use memory_objects::Objects;

use crate::{
    Authenticator, CacheConfig, CollectionRecord, EphemeralConfig, Keyring, PoolStatus, Secrets,
    StoreConfig, StoreError,
};

/// Conversations and what belongs to them, in Postgres. Its views work for one caller.
/// Clones share the connections.
#[derive(Clone, Debug)]
pub struct Store {
    pub(crate) databases: Databases,
    pub(crate) conversations: Conversations,
    pub(crate) uses: Uses,
    /// Of the changes of files of agents.
    pub(crate) turns: Turns,
}

impl Store {
    /// Opens the pool, or both of them. It connects once, so that a wrong URL, a
    /// missing role and an old schema are known at once.
    ///
    /// # Errors
    /// `Config` or `Migration` where an operator has to act, `Unavailable` where a retry
    /// may succeed.
    pub async fn connect(config: &StoreConfig) -> Result<Self, StoreError> {
        let databases = Databases::connect(config).await?;
        Ok(Self {
            conversations: Conversations::new(config, &databases),
            uses: Uses::new(databases.pool.clone()),
            turns: Turns::default(),
            databases,
        })
    }

    /// Keeps recent windows in memory; without this, nothing is kept.
    #[must_use]
    pub fn with_cache(mut self, config: &CacheConfig) -> Self {
        self.conversations = self.conversations.with_cache(config);
        self
    }

    /// Sets the limits of ephemeral threads; without this, they are the defaults.
    #[must_use]
    pub fn with_ephemeral(mut self, config: &EphemeralConfig) -> Self {
        self.databases.ephemeral = config.clone();
        self
    }

    /// Switches long-term memory on or off; without this, it is on. Switched off,
    /// nothing is stored, found or indexed; stored memories stay, and are
    /// erased with their sources.
    #[must_use]
    pub fn with_long_term_memory(mut self, enabled: bool) -> Self {
        self.databases.remembers = enabled;
        self
    }

    /// Sets the object storage.
    #[must_use]
    pub fn with_objects(mut self, objects: Option<Objects>) -> Self {
        self.databases.objects = objects;
        self
    }

    /// The same store for a process that searches this collection: changes that it lacks count as
    /// not indexed. By default it is the serving collection.
    #[must_use]
    pub fn searching(&self, collection: &str) -> Self {
        let mut one = self.clone();
        one.databases.searched = Some(collection.to_owned());
        one
    }

    /// The object storage, if one is configured.
    pub fn objects(&self) -> Option<&Objects> {
        self.databases.objects.as_ref()
    }

    /// Whether long-term memory is switched on.
    pub fn has_long_term_memory(&self) -> bool {
        self.databases.remembers
    }

    /// Fails if long-term memory is switched off.
    ///
    /// # Errors
    /// `MemoryError::Off`.
    pub fn require_long_term_memory(&self) -> Result<(), StoreError> {
        self.databases.require_long_term_memory()
    }

    /// The policy that the server sets for all apps.
    pub fn server_policy(&self) -> Arc<MemoryPolicy> {
        self.databases.policy.clone()
    }

    /// The policy that holds under these levels, the most general first; the server's comes
    /// before them.
    pub fn resolve_policy(&self, levels: &[(PolicyLevel, &MemoryPolicy)]) -> ResolvedPolicy {
        self.databases.resolve_policy(levels)
    }

    /// Looks up API keys.
    pub fn authenticator(&self) -> Authenticator {
        Authenticator::new(self.databases.clone())
    }

    /// Secrets under the keys of the configuration.
    pub fn secrets(&self, keyring: Keyring) -> Secrets {
        Secrets::new(self.databases.clone(), keyring)
    }

    /// The collections of the index.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn index_collections(&self) -> Result<Vec<CollectionRecord>, StoreError> {
        memory_outbox::index_collections(&self.databases).await
    }

    /// Whether the conversations have a separate database.
    pub fn has_chat_database(&self) -> bool {
        self.databases.has_chat_database()
    }

    /// How many connections to the conversations' database there are and how
    /// many are free.
    pub fn pool_status(&self) -> PoolStatus {
        self.databases.pool.status()
    }

    /// The same for the database of files, keys and secrets.
    pub fn main_pool_status(&self) -> PoolStatus {
        self.databases.main.status()
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
        self.databases.ping_main().await
    }

    /// The version of the conversations' database, such as `15.18`.
    ///
    /// # Errors
    /// As [`Store::ping`].
    pub async fn postgres_version(&self) -> Result<String, StoreError> {
        self.databases.postgres_version().await
    }
}
