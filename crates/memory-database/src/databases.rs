//! The connections of one service, and the settings that views share.

use std::sync::Arc;

use memory_contract::policy::{MemoryPolicy, PolicyLevel, ResolvedPolicy};
use memory_objects::Objects;

use memory_postgres::{Database, Group, Pool, Role, StoreConfig, query};

use crate::{
    EphemeralConfig, MemoryError, RedactingTenants, StoreError, migrate,
    rows::{column, only},
};

/// The connections for callers of tenants, with what all views need beside them. Clones share the
/// connections.
#[derive(Clone, Debug)]
pub struct Databases {
    /// To the conversations' database, which nearly everything needs.
    pub pool: Pool,
    /// Appends, which share transactions.
    pub appends: Group,
    /// Limits of ephemeral threads.
    pub ephemeral: EphemeralConfig,
    /// To the database of files, keys and secrets; mostly the same one, and
    /// then a clone.
    pub main: Pool,
    /// The object storage, if one is configured.
    pub objects: Option<Objects>,
    /// Whether long-term memory is switched on.
    pub remembers: bool,
    /// The policy that the server sets for all apps.
    pub policy: Arc<MemoryPolicy>,
    /// Which tenants have redacting apps.
    pub redacting: RedactingTenants,
    /// The index's collection that this process searches; `None`: the serving one.
    pub searched: Option<String>,
}

impl Databases {
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
            remembers: true,
            searched: None,
            policy: config.policy.clone(),
            redacting: RedactingTenants::default(),
            appends: Group::new(&pool),
            pool,
            main,
            ephemeral: EphemeralConfig::default(),
            objects: None,
        })
    }

    /// Whether the conversations have a separate database.
    pub fn has_chat_database(&self) -> bool {
        self.pool.database() != self.main.database()
    }

    /// The object storage.
    ///
    /// # Errors
    /// `NoObjectStore`.
    pub fn require_objects(&self) -> Result<&Objects, StoreError> {
        self.objects.as_ref().ok_or(StoreError::NoObjectStore)
    }

    /// Fails if long-term memory is switched off.
    ///
    /// # Errors
    /// `MemoryError::Off`.
    pub fn require_long_term_memory(&self) -> Result<(), StoreError> {
        match self.remembers {
            true => Ok(()),
            false => Err(StoreError::Memory(MemoryError::Off)),
        }
    }

    /// The policy that holds under these levels, the most general first; the server's comes
    /// before them.
    pub fn resolve_policy(&self, levels: &[(PolicyLevel, &MemoryPolicy)]) -> ResolvedPolicy {
        let server = [(PolicyLevel::Server, &*self.policy)];
        ResolvedPolicy::resolve(&[&server, levels].concat())
    }

    /// Checks that the database of files, keys and secrets answers.
    ///
    /// # Errors
    /// `Unavailable` or `PoolTimeout` if the database does not answer.
    pub async fn ping_main(&self) -> Result<(), StoreError> {
        self.main
            .call_for_all(query!("schema/version"), &[])
            .await?;
        Ok(())
    }

    /// The version of the conversations' database, such as `15.18`.
    ///
    /// # Errors
    /// `Unavailable` or `PoolTimeout` if the database does not answer.
    pub async fn postgres_version(&self) -> Result<String, StoreError> {
        let row = only(
            self.pool
                .call_for_all(query!("schema/version"), &[])
                .await?,
        )?;
        let version: &str = column(&row, "server_version")?;
        // Distributions add their own: `15.18 (Debian 15.18-0+deb12u1)`.
        Ok(version
            .split_whitespace()
            .next()
            .unwrap_or(version)
            .to_owned())
    }
}
