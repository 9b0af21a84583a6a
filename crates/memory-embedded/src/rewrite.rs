//! Rewrites the files of the private database, so that erased rows leave no bytes in them.

use std::time::Duration;

use memory_runtime::{error_chain, task};
use tokio::time::{Instant, sleep};
use tokio_postgres::{Client, NoTls, error::SqlState};

/// How long to wait for transactions that may still read erased rows, and then for the lock of each
/// table.
const PATIENCE: Duration = Duration::from_secs(60);
/// The pause between two looks at these transactions, and between two attempts to lock a table.
/// Calls that queued behind an attempt run meanwhile.
const PAUSE: Duration = Duration::from_millis(250);
/// Values of rows are in the statistics, and analyzing an empty table would leave them.
const FORGET_STATISTICS: &str = "DELETE FROM pg_catalog.pg_statistic s USING pg_catalog.pg_class c
     WHERE c.oid = s.starelid AND c.relnamespace = 'recollect'::regnamespace";
const NOW: &str = "SELECT pg_current_xact_id()::xid::text";
const TABLES: &str = "SELECT c.oid::regclass::text FROM pg_catalog.pg_class c
     WHERE c.relkind = 'r' AND c.relnamespace = 'recollect'::regnamespace";

/// Rewrites all tables and the statistics, and removes the write-ahead log up to now. Each
/// table is locked while it is rewritten. Calls queue behind an attempt to lock it, so an attempt
/// lasts half a second at most, and is made again. What transactions in progress may still read would
/// be kept, so this waits for them first.
///
/// # Errors
/// Why it failed. It can be repeated.
pub async fn rewrite_files(url: &str) -> Result<(), String> {
    let connected = tokio_postgres::connect(url, NoTls).await;
    let (client, connection) = connected.map_err(|error| error_chain(&error))?;
    let connection = task::spawn("rewrite", connection);
    let rewritten = rewrite_with(&client).await;
    drop(client);
    connection.abort();
    rewritten.map_err(|error| error_chain(error.as_ref()))
}

async fn rewrite_with(client: &Client) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    client
        .batch_execute("SET statement_timeout = 0; SET lock_timeout = '500ms'")
        .await?;
    client.batch_execute(FORGET_STATISTICS).await?;
    // An older transaction may read rows that were erased before this one.
    let now: String = client.query_one(NOW, &[]).await?.get(0);
    let readers = format!(
        "SELECT count(*) FROM pg_catalog.pg_stat_activity a
         WHERE a.pid <> pg_backend_pid() AND age(a.backend_xmin) > age('{now}'::xid)"
    );
    let deadline = Instant::now() + PATIENCE;
    while client.query_one(&readers, &[]).await?.get::<_, i64>(0) > 0 {
        if Instant::now() > deadline {
            return Err("a transaction in progress may read erased rows".into());
        }
        sleep(PAUSE).await;
    }
    for row in client.query(TABLES, &[]).await? {
        let table: String = row.get(0);
        rewrite_table(client, &format!("VACUUM (FULL, ANALYZE) {table}")).await?;
    }
    rewrite_table(client, "VACUUM FULL pg_catalog.pg_statistic").await?;
    for statement in [
        // The switch begins a new segment of the log; the second removes those before it.
        "CHECKPOINT",
        "SELECT pg_switch_wal()",
        "CHECKPOINT",
    ] {
        client.batch_execute(statement).await?;
    }
    Ok(())
}

/// Makes a statement that locks a table, again while others hold the table.
async fn rewrite_table(client: &Client, statement: &str) -> Result<(), tokio_postgres::Error> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match client.batch_execute(statement).await {
            Err(error)
                if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE)
                    && Instant::now() < deadline =>
            {
                sleep(PAUSE).await;
            }
            ended => return ended,
        }
    }
}
