//! Connection pools, one for each role and database.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{borrow::Cow, fmt, fmt::Write as _, str::FromStr as _};

use deadpool_postgres::{
    Hook, HookError, Manager, ManagerConfig, Object, PoolError, QueueMode, RecyclingMethod,
    Runtime, Timeouts,
};
use futures::future::join3;
use memory_contract::policy::MemoryPolicy;
use memory_runtime::task;
use secrecy::ExposeSecret as _;
use tokio::time::{sleep, timeout};
use tokio_postgres::error::SqlState;
use tokio_postgres::{Config, Error};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::{
    Database, PostgresError, StoreConfig,
    error::{ROLE_IS_MISSING, pool_error},
    tls::Encryption,
};

/// A connection idle for longer is tested before it is handed out.
const PING_AFTER: Duration = Duration::from_secs(15);
/// A connection beyond the pool's size is closed when it was idle for this long.
const TRIM_AFTER: Duration = Duration::from_secs(10);
/// Interval of opening a further connection after Postgres has refused one.
const TRY_AGAIN: Duration = Duration::from_secs(1);
/// Interval of looking whether a connection was returned meanwhile.
const RETURN_CHECK: Duration = Duration::from_millis(5);
/// A refusal is forgotten after this time without another, and logged again when one comes.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(60);
/// A peer that does not acknowledge data for this long is gone.
const TCP_TIMEOUT: Duration = Duration::from_secs(30);

/// Connections at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolStatus {
    /// Open connections.
    pub open: usize,
    /// Open connections that are not in use.
    pub idle: usize,
    /// Calls that wait for one.
    pub waiting: usize,
    /// The most that may be open.
    pub max: usize,
}

/// The database role of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Sees the rows of the tenant that a transaction names.
    Service,
    /// Claims queue rows of all tenants, and reads no content.
    Worker,
}

impl Role {
    fn name(self) -> &'static str {
        match self {
            Self::Service => "recollect_service",
            Self::Worker => "recollect_worker",
        }
    }

    /// The settings of a connection, or of each of its transactions.
    fn settings(self, config: &StoreConfig) -> Vec<(&'static str, String)> {
        let mut settings = vec![
            // First, so that row-level security applies to everything, even of a superuser's
            // connection.
            ("role", self.name().to_owned()),
            (
                "statement_timeout",
                config.statement_timeout.as_millis().to_string(),
            ),
            ("jit", "off".to_owned()),
            ("recollect.policy", policy_for_sql(&config.policy)),
        ];
        match self {
            Self::Service => {}
            // Workers write leases and acknowledgements. After a crash lost ones are repeated, so
            // their commits do not wait for the disk.
            Self::Worker => settings.push(("synchronous_commit", "off".to_owned())),
        }
        settings
    }
}

/// Connections of one role to one database. A clone shares them.
#[derive(Clone)]
pub struct Pool {
    inner: deadpool_postgres::Pool,
    database: Database,
    pub(crate) echo: bool,
    /// Statements that set the role and the settings of a transaction. `None`: the connections have
    /// them.
    settings: Option<Arc<str>>,
    /// How long a call waits for a connection.
    wait: Duration,
    /// When Postgres last refused a further connection.
    refused: Arc<Mutex<Option<Refusal>>>,
    /// Encrypts connections.
    pub(crate) tls: MakeRustlsConnect,
}

/// Postgres has refused a connection, because it has as many as it allows.
struct Refusal {
    last: Instant,
    next_try: Instant,
}

impl fmt::Debug for Pool {
    /// Only the numbers: the inner pool knows the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Pool").field(&self.status()).finish()
    }
}

impl Pool {
    /// A pool of `size` connections, and `overflow` more under load. It
    /// connects when it is used.
    ///
    /// # Errors
    /// `Config` for a URL or a size that cannot be used.
    pub fn new(
        config: &StoreConfig,
        database: Database,
        role: Role,
        size: usize,
        overflow: usize,
    ) -> Result<Self, PostgresError> {
        if size == 0 {
            return Err(PostgresError::Config {
                key: match role {
                    Role::Service => "pool_size",
                    Role::Worker => "worker_pool_size",
                },
                why: "must be at least 1".to_owned(),
            });
        }
        let (mut postgres, tls) = parse_url(config, database)?;
        postgres.connect_timeout(config.connect_timeout);
        let settings = role.settings(config);
        let settings = match config.pooler {
            true => Some(statements(&settings)),
            false => {
                let mut options = postgres.get_options().unwrap_or_default().to_owned();
                for (name, value) in &settings {
                    let _ = write!(options, " -c {name}={value}");
                }
                postgres.options(options.trim_start());
                None
            }
        };

        let manager_config = ManagerConfig {
            recycling_method: RecyclingMethod::Fast,
        };
        let manager = Manager::from_config(postgres, tls.clone(), manager_config);
        let (pre_ping, recycle) = (config.pre_ping, config.recycle);
        let limit = config.connect_timeout;
        let expected = settings.is_none().then_some(role.name());
        let inner = deadpool_postgres::Pool::builder(manager)
            .post_create(Hook::async_fn(move |client, _| {
                Box::pin(async move {
                    let Some(expected) = expected else {
                        return Ok(());
                    };
                    let asked = client.query_one("SELECT current_user::text", &[]);
                    let role = timeout(limit, asked)
                        .await
                        .map_err(|_elapsed| HookError::message("Postgres does not answer"))?
                        .map_err(HookError::Backend)?;
                    match role.get::<_, &str>(0) == expected {
                        true => Ok(()),
                        false => Err(HookError::message(ROLE_IS_MISSING)),
                    }
                })
            }))
            .max_size(size.saturating_add(overflow))
            .timeouts(Timeouts {
                wait: Some(config.pool_timeout),
                create: Some(config.connect_timeout),
                recycle: Some(config.connect_timeout),
            })
            .runtime(Runtime::Tokio1)
            // The connection used last has the plans and the rows of these queries at hand.
            .queue_mode(QueueMode::Lifo)
            .pre_recycle(Hook::async_fn(move |client, metrics| {
                Box::pin(async move {
                    if metrics.age() > recycle {
                        return Err(HookError::message("the connection is old"));
                    }
                    if pre_ping && metrics.last_used() > PING_AFTER {
                        client.simple_query("").await.map_err(HookError::Backend)?;
                    }
                    Ok(())
                })
            }))
            .build()
            .map_err(|error| PostgresError::Unavailable {
                source: error.into(),
            })?;
        if overflow > 0 {
            // Ends with the pool.
            task::spawn("pool_trim", trim(inner.weak(), size));
        }
        Ok(Self {
            inner,
            database,
            echo: config.echo,
            settings,
            wait: config.pool_timeout,
            refused: Arc::default(),
            tls,
        })
    }

    /// The statements that begin a transaction.
    pub(crate) fn begin_with<'a>(&self, begin: &'a str) -> Cow<'a, str> {
        match &self.settings {
            Some(settings) => format!("{begin}{settings}").into(),
            None => begin.into(),
        }
    }

    /// Runs a statement as its own transaction, in one round trip.
    pub(crate) async fn alone<T>(
        &self,
        client: &Object,
        statement: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        if self.settings.is_none() {
            return statement.await;
        }
        let begin = self.begin_with("BEGIN");
        // `join3` polls in order, and the order of polling is that of sending.
        let (begun, result, committed) = join3(
            client.batch_execute(&begin),
            statement,
            client.batch_execute("COMMIT"),
        )
        .await;
        begun?;
        let result = result?;
        committed?;
        Ok(result)
    }

    /// The database that it connects to.
    pub fn database(&self) -> Database {
        self.database
    }

    /// A connection, waiting for one if all are busy, or if Postgres allows no more than are open.
    ///
    /// # Errors
    /// `PoolTimeout`, `Unavailable`, or `Config` where an operator has to act.
    pub async fn get(&self) -> Result<Object, PostgresError> {
        let end = Instant::now() + self.wait;
        loop {
            if self.inner.status().available == 0 && self.is_refused() {
                if Instant::now() >= end {
                    return Err(PostgresError::PoolTimeout);
                }
                sleep(RETURN_CHECK).await;
                continue;
            }
            match self.inner.get().await {
                Err(PoolError::Backend(error))
                    if error.code() == Some(&SqlState::TOO_MANY_CONNECTIONS)
                        && self.inner.status().size > 0
                        && Instant::now() < end =>
                {
                    self.note_refusal();
                }
                connected => return connected.map_err(|error| pool_error(self.database, error)),
            }
        }
    }

    /// Whether Postgres has refused a further connection a moment ago. Afterwards one call each
    /// second may try again.
    fn is_refused(&self) -> bool {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(Refusal { last, next_try }) = &mut *refused else {
            return false;
        };
        let now = Instant::now();
        if now < *next_try {
            return true;
        }
        match last.elapsed() > FORGOTTEN_AFTER {
            true => *refused = None,
            false => *next_try = now + TRY_AGAIN,
        }
        false
    }

    fn note_refusal(&self) {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if refused.is_none() {
            tracing::warn!(
                open = self.inner.status().size,
                "Postgres allows no more connections; calls wait for the open ones: lower \
                 database.pool_size and max_overflow, or raise max_connections"
            );
        }
        let now = Instant::now();
        *refused = Some(Refusal {
            last: now,
            next_try: now + TRY_AGAIN,
        });
    }

    /// The connections at this moment.
    pub fn status(&self) -> PoolStatus {
        let status = self.inner.status();
        PoolStatus {
            open: status.size,
            idle: status.available,
            waiting: status.waiting,
            max: status.max_size,
        }
    }
}

/// Statements that set a transaction's settings, to follow its `BEGIN`.
fn statements(settings: &[(&str, String)]) -> Arc<str> {
    let mut statements = String::new();
    for (name, value) in settings {
        let value = value.replace('\'', "''");
        let _ = write!(statements, "; SET LOCAL {name} = '{value}'");
    }
    statements.into()
}

/// The fields that SQL functions read, as JSON without spaces: in the
/// options of a connection a space ends a value.
fn policy_for_sql(policy: &MemoryPolicy) -> String {
    let MemoryPolicy {
        ttl,
        rebuild_expired,
        extraction,
        memory_max_count,
        ..
    } = *policy;
    let read = MemoryPolicy {
        ttl,
        rebuild_expired,
        extraction,
        memory_max_count,
        ..MemoryPolicy::default()
    };
    // Numbers, flags and names serialize.
    serde_json::to_string(&read).unwrap_or_default()
}

/// Reads a URL, without ever repeating it in an error: it may hold a password. Returns what
/// encrypts the connection, too.
///
/// # Errors
/// `Config`, with the key of the URL.
pub fn parse_url(
    config: &StoreConfig,
    database: Database,
) -> Result<(Config, MakeRustlsConnect), PostgresError> {
    let wrong = |why: &str| PostgresError::Config {
        key: database.key(),
        why: why.to_owned(),
    };
    let url = config.url_of(database).expose_secret();
    if url.is_empty() {
        return Err(wrong(
            "is required: postgresql://USER:PASSWORD@HOST:PORT/DATABASE",
        ));
    }
    let (encryption, url) = Encryption::take(url).map_err(|why| wrong(&why))?;
    let mut config = Config::from_str(&url)
        .map_err(|_| wrong("is not a Postgres URL, or has a parameter that is not known"))?;
    let tls = encryption.apply(&mut config).map_err(|why| wrong(&why))?;
    if config.get_application_name().is_none() {
        config.application_name("recollect");
    }
    config
        .keepalives_idle(TCP_TIMEOUT)
        .tcp_user_timeout(TCP_TIMEOUT);
    Ok((config, tls))
}

/// Closes idle connections beyond `size`, until the pool is gone.
async fn trim(pool: deadpool_postgres::WeakPool, size: usize) {
    let mut ticks = tokio::time::interval(TRIM_AFTER / 2);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let Some(pool) = pool.upgrade() else {
            return;
        };
        let mut excess = pool.status().size.saturating_sub(size);
        if excess == 0 {
            continue;
        }
        let trimmed = pool.retain(|_, metrics| {
            let keep = excess == 0 || metrics.last_used() < TRIM_AFTER;
            excess -= usize::from(!keep);
            keep
        });
        tracing::debug!(closed = trimmed.removed.len(), "closed idle connections");
    }
}
