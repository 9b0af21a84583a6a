//! The connections that see all tenants.

use std::time::Duration;

use memory_postgres::{Database, Pool, Role, StoreConfig};

use crate::{StoreError, migrate};

/// The connections for work that needs to see all tenants. A clone shares them.
#[derive(Clone, Debug)]
pub struct Workers {
    /// To the conversations' database, where changes are.
    pub pool: Pool,
    /// To the other database, where there are two.
    pub main: Option<Pool>,
    /// How long request ids are remembered.
    pub request_retention: Duration,
    /// How long entries of the audit log are kept.
    pub transaction_retention: Duration,
}

impl Workers {
    /// Opens the workers' pool: to the conversations' database, where changes
    /// are. It connects once, like [`Databases::connect`](crate::Databases::connect).
    ///
    /// # Errors
    /// As [`Databases::connect`](crate::Databases::connect).
    pub async fn connect(config: &StoreConfig) -> Result<Self, StoreError> {
        let pool = Pool::new(
            config,
            config.chat(),
            Role::Worker,
            config.worker_pool_size,
            0,
        )?;
        migrate::check(&pool).await?;
        // Only old transactions are swept there.
        let main = match config.has_chat_database() {
            true => Some(Pool::new(config, Database::Main, Role::Worker, 1, 0)?),
            false => None,
        };
        Ok(Self {
            pool,
            main,
            request_retention: config.request_retention,
            transaction_retention: config.transaction_retention,
        })
    }
}
