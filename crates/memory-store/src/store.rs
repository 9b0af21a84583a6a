//! The store itself: its connections, and what its parts share.

use memory_contract::{MessageId, TenantId, Thread, ThreadId};

use crate::{
    CacheConfig, EphemeralConfig, NewThread, Resolved, StoreConfig, StoreError,
    cache::Windows,
    ephemeral::Ephemeral,
    migrate,
    pool::{Pool, PoolStatus, Role},
    query::query,
    rows::{column, only},
};

/// Conversations in Postgres, and the ephemeral ones in memory, for one tenant
/// at a time. A clone shares the connections and the memory.
#[derive(Clone, Debug)]
pub struct Store {
    pub(crate) pool: Pool,
    pub(crate) windows: Windows,
    pub(crate) ephemeral: Ephemeral,
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
            windows: Windows::default(),
            ephemeral: Ephemeral::new(&EphemeralConfig::default()),
        })
    }

    /// Keeps recent windows in memory; without this, nothing is kept.
    #[must_use]
    pub fn with_cache(mut self, config: &CacheConfig) -> Self {
        self.windows = Windows::new(config);
        self
    }

    /// Bounds ephemeral threads; without this, by the defaults. Those that
    /// there are stay with the clones made before.
    #[must_use]
    pub fn with_ephemeral(mut self, config: &EphemeralConfig) -> Self {
        self.ephemeral = Ephemeral::new(config);
        self
    }

    /// Finds the thread of a session, or creates an ephemeral one; its life is, as
    /// that of others, what the app says where nobody else does.
    pub(crate) async fn resolve_ephemeral(
        &self,
        tenant: &TenantId,
        thread: &NewThread,
    ) -> Result<Resolved, StoreError> {
        let (stored, app) = self.session_policies(tenant, &thread.session).await?;
        if let Some(thread) = stored {
            return Ok(Resolved {
                thread,
                created: false,
            });
        }
        let thread = NewThread {
            ttl: thread.ttl.or(app.ttl),
            ..thread.clone()
        };
        self.ephemeral.resolve(tenant, &thread)
    }

    /// Whether a thread lives in the memory of this process alone.
    pub fn is_ephemeral(&self, tenant: &TenantId, thread: ThreadId) -> bool {
        self.ephemeral.has(tenant, thread)
    }

    /// Makes a readable message the head of an ephemeral thread; `expected` is
    /// the head that the caller believes in, as in [`Append::expected_head`].
    /// `None`: the thread is not ephemeral. Idempotent.
    ///
    /// # Errors
    /// `MessageNotFound`, `HeadMoved`.
    ///
    /// [`Append::expected_head`]: crate::Append::expected_head
    pub fn set_ephemeral_head(
        &self,
        tenant: &TenantId,
        thread: ThreadId,
        message: MessageId,
        expected: Option<Option<MessageId>>,
    ) -> Option<Result<Thread, StoreError>> {
        self.ephemeral.set_head(tenant, thread, message, expected)
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
