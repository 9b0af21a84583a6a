//! Rewrites the files of the private database, so that erased rows leave no bytes in them.

use std::time::Duration;

use memory_runtime::{error_chain, task};
use tokio::time::{Instant, sleep};
use tokio_postgres::{Client, NoTls, error::SqlState};

/// How long a rewrite waits in all, for transactions that may read erased rows and for locks: less than
/// a process that stops leaves its work.
const PATIENCE: Duration = Duration::from_secs(20);
/// The pause between two looks at these transactions, and between two attempts to lock a table.
/// Calls that queued behind an attempt run meanwhile.
const PAUSE: Duration = Duration::from_millis(250);
/// An attempt to lock a table lasts half a second at most. Within it Postgres looks for an autovacuum
/// that holds the table, and cancels it.
const TIMEOUTS: &str =
    "SET statement_timeout = 0; SET lock_timeout = '500ms'; SET deadlock_timeout = '100ms'";
/// Values of rows are in the statistics, and analyzing an empty table would leave them.
const FORGET_STATISTICS: &str = "DELETE FROM pg_catalog.pg_statistic s USING pg_catalog.pg_class c
     WHERE c.oid = s.starelid AND c.relnamespace = 'recollect'::regnamespace";
const NOW: &str = "SELECT pg_current_xact_id()::xid::text";
const TABLES: &str = "SELECT c.oid::regclass::text FROM pg_catalog.pg_class c
     WHERE c.relkind = 'r' AND c.relnamespace = 'recollect'::regnamespace";

/// Rewrites all tables and the statistics, and removes the write-ahead log up to now. Each
/// table is locked while it is rewritten. What transactions in progress may still read would
/// be kept, so this waits for them first.
///
/// # Errors
/// Why it failed. It can be repeated.
pub async fn rewrite_files(url: &str) -> Result<(), String> {
    let connected = tokio_postgres::connect(url, NoTls).await;
    let (client, connection) = connected.map_err(|error| error_chain(&error))?;
    let connection = task::spawn("rewrite", connection);
    let rewritten = Rewriting {
        client: &client,
        patience: PATIENCE,
    }
    .all()
    .await;
    drop(client);
    connection.abort();
    rewritten.map_err(|error| error_chain(error.as_ref()))
}

struct Rewriting<'a> {
    client: &'a Client,
    /// How long it may still wait.
    patience: Duration,
}

impl Rewriting<'_> {
    async fn all(&mut self) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        self.client.batch_execute(TIMEOUTS).await?;
        self.run(FORGET_STATISTICS).await?;
        // An older transaction may read rows that were erased before this one.
        let now: String = self.client.query_one(NOW, &[]).await?.get(0);
        let readers = format!(
            "SELECT count(*) FROM pg_catalog.pg_stat_activity a
             WHERE a.pid <> pg_backend_pid() AND age(a.backend_xmin) > age('{now}'::xid)"
        );
        while self.client.query_one(&readers, &[]).await?.get::<_, i64>(0) > 0 {
            if self.patience.is_zero() {
                return Err("a transaction in progress may read erased rows".into());
            }
            self.wait(Instant::now()).await;
        }
        for row in self.client.query(TABLES, &[]).await? {
            let table: String = row.get(0);
            self.run(&format!("VACUUM (FULL) {table}")).await?;
            self.run(&format!("ANALYZE {table}")).await?;
        }
        self.run("VACUUM FULL pg_catalog.pg_statistic").await?;
        for statement in [
            // The switch begins a new segment of the log; the second removes those before it.
            "CHECKPOINT",
            "SELECT pg_switch_wal()",
            "CHECKPOINT",
        ] {
            self.client.batch_execute(statement).await?;
        }
        Ok(())
    }

    /// Runs a statement that locks a table, again while others hold the table.
    async fn run(&mut self, statement: &str) -> Result<(), tokio_postgres::Error> {
        loop {
            let started = Instant::now();
            match self.client.batch_execute(statement).await {
                Err(error)
                    if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE)
                        && !self.patience.is_zero() =>
                {
                    self.wait(started).await;
                }
                ended => return ended,
            }
        }
    }

    /// Pauses. What has passed since `started` counts as waiting.
    async fn wait(&mut self, started: Instant) {
        sleep(PAUSE).await;
        self.patience = self.patience.saturating_sub(started.elapsed());
    }
}
