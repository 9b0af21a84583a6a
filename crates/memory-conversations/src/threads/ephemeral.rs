//! Ephemeral threads: ordinary threads that end after an idle time, and when a server
//! starts while no other one runs.

use std::time::Duration;

use deadpool_postgres::Object;
use memory_contract::thread::Thread;
use memory_database::{
    Databases, StoreError,
    rows::{column, only, scalar},
};
use memory_postgres::{Caller, Params, Pool, Role, StoreConfig, query, query_error};
use memory_runtime::task;
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep, timeout},
};

use crate::ThreadWorker;

/// The key of the advisory lock that every server process holds: "recoleph" as bytes.
const LOCK: i64 = i64::from_be_bytes(*b"recoleph");
const TRY_LOCK: &str = "pg_try_advisory_lock";
const UNLOCK: &str = "pg_advisory_unlock";
/// How long a server that starts waits for the lock of a process that has just died.
const SOLE_TIMEOUT: Duration = Duration::from_millis(500);
/// How long a server that starts waits for one that is ending ephemeral threads.
const SHARED_TIMEOUT: Duration = Duration::from_secs(30);
/// The pause between two attempts to take the lock.
const LOCK_PAUSE: Duration = Duration::from_millis(50);
/// Ephemeral threads that one statement ends, at most.
const END_BATCH: i64 = 5_000;
/// How often the connection that holds the lock is tested, and the pause between two
/// attempts to replace a lost one.
const PING_INTERVAL: Duration = Duration::from_secs(1);
/// How long such a test may take.
const PING_TIMEOUT: Duration = Duration::from_secs(3);
/// How long a server that starts alone waits for servers that have just lost their locks,
/// as all do when Postgres restarts. A living one has taken its lock again by then: after a
/// pause, a test, a pause and the time to connect.
const RETAKE_TIMEOUT: Duration = Duration::from_secs(8);

/// Ephemeral threads of all tenants that are not erased yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EphemeralStats {
    /// How many there are.
    pub threads: i64,
    /// Bytes of the parts and metadata of their messages.
    pub bytes: i64,
}

/// Counts reading as a use of an ephemeral thread, and sets its new expiry. What workers
/// read does not count.
///
/// # Errors
/// Only errors of the database.
pub async fn used(
    store: &Databases,
    caller: &Caller,
    thread: &mut Thread,
) -> Result<(), StoreError> {
    if thread.ephemeral && !caller.is_worker() {
        let params: Params<'_> = &[&caller.tenant.as_str(), &thread.id.uuid()];
        let used = query!("threads/use");
        let row = only(store.pool.within(caller, used, params).await?)?;
        thread.expires = scalar::<Option<_>>(&row)?.or(thread.expires);
    }
    Ok(())
}

impl ThreadWorker<'_> {
    /// Measures the ephemeral threads.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn ephemeral_stats(&self) -> Result<EphemeralStats, StoreError> {
        let found = self
            .workers
            .pool
            .call_for_all(query!("threads/ephemeral_stats"), &[]);
        let row = only(found.await?)?;
        Ok(EphemeralStats {
            threads: column(&row, "thread_count")?,
            bytes: column(&row, "content_bytes")?,
        })
    }
}

/// Marks this server process as alive: a shared advisory lock on a separate connection to
/// the conversations' database. Dropped, it releases the lock.
#[derive(Debug)]
pub struct ServerLock(JoinHandle<()>);

impl ServerLock {
    /// Takes the lock. Where no other process holds it, this first ends all ephemeral
    /// threads, of all tenants; workers erase them as they erase expired threads.
    ///
    /// A lock that is lost with its connection is taken again in the background, and
    /// nothing is ended then. A server that starts in between waits eight seconds for
    /// that, unless it has the database to itself or there is nothing to end.
    ///
    /// # Errors
    /// As [`Databases::connect`]; `Unavailable` also while another process takes more than
    /// 30 seconds to end threads.
    pub async fn acquire(config: &StoreConfig) -> Result<Self, StoreError> {
        let pool = Pool::new(config, config.chat(), Role::Worker, 1, 0)?;
        let connection = pool.get().await?;
        let mut alone = lock(&connection, TRY_LOCK, SOLE_TIMEOUT).await?;
        if alone && !config.private && any(&connection).await? {
            call(&connection, UNLOCK).await?;
            sleep(RETAKE_TIMEOUT).await;
            alone = lock(&connection, TRY_LOCK, SOLE_TIMEOUT).await?;
        }
        if alone {
            let ended = end_all(&connection).await?;
            tracing::info!(
                ended,
                "no other server is alive: all ephemeral threads have ended"
            );
        }
        lock_shared(&connection).await?;
        if alone {
            call(&connection, UNLOCK).await?;
        }
        Ok(Self(task::spawn("server_lock", hold(pool, connection))))
    }
}

impl Drop for ServerLock {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Whether there are ephemeral threads to end.
async fn any(connection: &Object) -> Result<bool, StoreError> {
    let any = query!("threads/any_ephemeral");
    let row = connection.query_one(any.sql, &[]).await;
    scalar(&row.map_err(|error| query_error(any.name, error))?)
}

async fn end_all(connection: &Object) -> Result<u64, StoreError> {
    let end = query!("threads/end_ephemeral");
    let mut ended = 0;
    loop {
        // Each batch is a separate transaction, well within the statement timeout.
        let count = connection
            .execute(end.sql, &[&END_BATCH])
            .await
            .map_err(|error| query_error(end.name, error))?;
        ended += count;
        if count == 0 {
            return Ok(ended);
        }
    }
}

/// Keeps the connection that has the lock, or takes the lock on a new one.
async fn hold(pool: Pool, connection: Object) {
    let mut held = Some(connection);
    loop {
        sleep(PING_INTERVAL).await;
        if let Some(connection) = held.take() {
            let pinged = timeout(PING_TIMEOUT, connection.simple_query("")).await;
            if matches!(pinged, Ok(Ok(_))) {
                held = Some(connection);
                continue;
            }
            tracing::warn!("the connection that shows that this server is alive was lost");
            drop(Object::take(connection));
        }
        let taken = async {
            let connection = pool.get().await?;
            lock_shared(&connection).await.map(|()| connection)
        };
        match taken.await {
            Ok(connection) => held = Some(connection),
            Err(error) => {
                tracing::debug!(%error, "the lock that shows that this server is alive was not taken");
            }
        }
    }
}

/// Calls a function of the lock that returns whether it had an effect.
async fn call(connection: &Object, function: &'static str) -> Result<bool, StoreError> {
    let sql = format!("SELECT {function}($1)");
    let row = connection.query_one(&sql, &[&LOCK]).await;
    scalar(&row.map_err(|error| query_error(function, error))?)
}

async fn lock_shared(connection: &Object) -> Result<(), StoreError> {
    match lock(connection, "pg_try_advisory_lock_shared", SHARED_TIMEOUT).await? {
        true => Ok(()),
        false => Err(StoreError::Unavailable {
            source: "another server is still ending ephemeral threads".into(),
        }),
    }
}

/// Tries to take the lock until it succeeds or the time is over.
async fn lock(
    connection: &Object,
    function: &'static str,
    limit: Duration,
) -> Result<bool, StoreError> {
    let end = Instant::now() + limit;
    loop {
        if call(connection, function).await? {
            return Ok(true);
        }
        if Instant::now() >= end {
            return Ok(false);
        }
        sleep(LOCK_PAUSE).await;
    }
}
