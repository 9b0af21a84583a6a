//! The store itself: its connections, and what its parts share.

use crate::{
    Objects, StoreConfig, StoreError, migrate,
    pool::{Pool, PoolStatus, Role},
    query::query,
    rows::{column, only},
};

/// Conversations in Postgres, for one tenant at a time. A clone shares the
/// connections.
#[derive(Clone, Debug)]
pub struct Store {
    pub(crate) pool: Pool,
    pub(crate) objects: Option<Objects>,
}

/// One page of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Page<T, K> {
    /// The entries, in the order of the list.
    pub items: Vec<T>,
    /// The key to continue after; `None` on the last page.
    pub next: Option<K>,
}

impl<T, K: Copy> Page<T, K> {
    /// Makes a page of `limit` from the rows of a query for one row more, each
    /// with its key.
    pub(crate) fn cut(mut rows: Vec<(K, T)>, limit: u32) -> Self {
        let limit = limit as usize;
        let more = rows.len() > limit;
        rows.truncate(limit);
        Self {
            next: rows.last().map(|(key, _)| *key).filter(|_| more),
            items: rows.into_iter().map(|(_, item)| item).collect(),
        }
    }
}

impl Store {
    /// Opens the pool. It connects once, so that a wrong URL, a missing role
    /// and an old schema are known at once.
    ///
    /// # Errors
    /// `Config` or `Migration` for what somebody has to mend, `Unavailable` for
    /// what may pass.
    pub async fn connect(config: &StoreConfig) -> Result<Self, StoreError> {
        let pool = Pool::new(config, Role::Service, config.pool_size, config.max_overflow)?;
        migrate::check(&pool).await?;
        Ok(Self {
            pool,
            objects: None,
        })
    }

    /// How many connections there are and how many are free.
    pub fn pool_status(&self) -> PoolStatus {
        self.pool.status()
    }

    /// Asks the database for an answer, to know whether it is there.
    ///
    /// # Errors
    /// `Unavailable` or `PoolTimeout` where there is none.
    pub async fn ping(&self) -> Result<(), StoreError> {
        self.postgres_version().await.map(drop)
    }

    /// The database's version, such as `15.18`.
    ///
    /// # Errors
    /// As [`Store::ping`].
    pub async fn postgres_version(&self) -> Result<String, StoreError> {
        let row = only(self.pool.call(query!("schema/version"), &[]).await?)?;
        let version: &str = column(&row, 1)?;
        // Distributions add their own: `15.18 (Debian 15.18-0+deb12u1)`.
        Ok(version
            .split_whitespace()
            .next()
            .unwrap_or(version)
            .to_owned())
    }
}
