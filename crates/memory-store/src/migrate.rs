//! The schema.

use std::time::Duration;

use refinery::error::Kind;
use tokio::time::timeout;
use tokio_postgres::{Client, Connection, NoTls, config::SslMode, error::SqlState};

use crate::{
    StoreConfig, StoreError,
    config::Database,
    pool::{Pool, parse_url, tls},
    query::query,
    rows::{column, only},
    sqlstate,
};

mod embedded {
    refinery::embed_migrations!("migrations");
}

const HISTORY_TABLE: &str = "recollect.schema_history";
/// The key of the lock under which migrations run: "recollec" as bytes.
const LOCK: i64 = i64::from_be_bytes(*b"recollec");
/// How long a migration waits for another one, and each of its statements for
/// the tables it changes. `options=-c lock_timeout=…` in the URL is stronger.
const LOCK_TIMEOUT: Duration = Duration::from_secs(180);

/// What a migration did to one database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MigrationReport {
    /// The key of the database's URL: `url` or `chat_url`.
    pub key: &'static str,
    /// The names of the migrations applied now, in order; empty where the
    /// schema was up to date.
    pub applied: Vec<String>,
    /// The version of the schema afterwards.
    pub version: u32,
}

/// Brings the configured database, or both of them, to this release's schema,
/// and reports of each. Of the settings it takes `url`, `chat_url` and
/// `connect_timeout`. The URL's user owns the schema, and has to be able to
/// create roles unless the roles exist. Safe to call concurrently: one caller
/// migrates, the others wait, for three minutes at most, and find it done.
///
/// # Errors
/// `Config` for a wrong URL, `Unavailable` while Postgres does not answer,
/// `Migration` for everything else, with what to do where that is known.
pub async fn migrate(config: &StoreConfig) -> Result<Vec<MigrationReport>, StoreError> {
    let mut reports = vec![migrate_one(config, Database::Main).await?];
    if config.has_chat_database() {
        reports.push(migrate_one(config, Database::Chat).await?);
    }
    Ok(reports)
}

async fn migrate_one(
    config: &StoreConfig,
    database: Database,
) -> Result<MigrationReport, StoreError> {
    let mut client = connect(config, database).await?;
    // refinery takes no lock of its own. This one ends with the connection.
    run(&client, "SELECT pg_advisory_lock($1)", LOCK).await?;
    client
        .batch_execute("CREATE SCHEMA IF NOT EXISTS recollect")
        .await
        .map_err(|error| failed("the schema `recollect` cannot be created; its owner, or a user with the right to create in the database, has to migrate", error))?;

    let mut runner = embedded::migrations::runner();
    runner.set_migration_table_name(HISTORY_TABLE);
    let report = runner.run_async(&mut client).await.map_err(explain)?;
    run(&client, "SELECT pg_advisory_unlock($1)", LOCK).await?;
    let applied = report
        .applied_migrations()
        .iter()
        .map(|migration| migration.to_string())
        .collect();
    Ok(MigrationReport {
        key: database.key(),
        applied,
        version: latest(),
    })
}

/// Checks that the schema is at least the one that this release was built for.
/// Migrations only expand, so a newer one will do.
pub(crate) async fn check(pool: &Pool) -> Result<(), StoreError> {
    let found = match pool.call(query!("schema/version"), &[]).await {
        Ok(rows) => column::<i32>(&only(rows)?, 0)?.unsigned_abs(),
        // There is no such schema, or no such table in it.
        Err(StoreError::Query { source, .. })
            if source
                .code()
                .is_some_and(|code| ["3F000", "42P01", "42501"].contains(&code.code())) =>
        {
            0
        }
        Err(error) => return Err(error),
    };
    let needed = latest();
    if found >= needed {
        return Ok(());
    }
    Err(StoreError::Migration {
        why: format!(
            "the database at {} has a schema of version {found}, and this release needs {needed}; run the migration first",
            pool.database.key()
        ),
        source: None,
    })
}

/// The version of this release's schema.
fn latest() -> u32 {
    let runner = embedded::migrations::runner();
    runner
        .get_migrations()
        .iter()
        .map(|migration| migration.version().unsigned_abs())
        .max()
        .unwrap_or_default()
}

/// Connects within the configured time, the handshake included.
async fn connect(config: &StoreConfig, database: Database) -> Result<Client, StoreError> {
    let limit = config.connect_timeout;
    let mut postgres = parse_url(config, database)?;
    let options = format!(
        "-c lock_timeout={} {}",
        LOCK_TIMEOUT.as_millis(),
        postgres.get_options().unwrap_or_default(),
    );
    postgres.connect_timeout(limit).options(options.trim_end());
    let connected = async {
        match postgres.get_ssl_mode() {
            SslMode::Require => drive(database, postgres.connect(tls(database)?).await),
            _ => drive(database, postgres.connect(NoTls).await),
        }
    };
    match timeout(limit, connected).await {
        Ok(connected) => connected,
        Err(_elapsed) => Err(StoreError::Unavailable {
            source: database.cause(format!("no connection within {} ms", limit.as_millis())),
        }),
    }
}

fn drive<S, T>(
    database: Database,
    connected: Result<(Client, Connection<S, T>), tokio_postgres::Error>,
) -> Result<Client, StoreError>
where
    Connection<S, T>: Future<Output = Result<(), tokio_postgres::Error>> + Send + 'static,
{
    let (client, connection) =
        connected.map_err(|error| sqlstate::connect_error(database, error))?;
    // Its error is also that of the query under way.
    tokio::spawn(async move { connection.await.ok() });
    Ok(client)
}

async fn run(client: &Client, sql: &str, lock: i64) -> Result<(), StoreError> {
    match client.execute(sql, &[&lock]).await {
        Ok(_) => Ok(()),
        Err(error) if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) => Err(failed(
            "another migration holds the lock and did not end in time; wait for it and migrate again, or look for its connection in pg_stat_activity",
            error,
        )),
        Err(error) => Err(sqlstate::query_error("schema/lock", error)),
    }
}

fn failed(why: &str, error: tokio_postgres::Error) -> StoreError {
    StoreError::Migration {
        why: why.to_owned(),
        source: Some(error.into()),
    }
}

/// Takes what Postgres says, hint included, out of refinery's error.
fn explain(error: refinery::Error) -> StoreError {
    let mut source: Option<&(dyn std::error::Error + 'static)> = Some(&error);
    let mut why = match error.kind() {
        Kind::DivergentVersion(applied, _) => format!(
            "its migration {applied} is not one of this release: another build of Recollect \
             made it. Export with that build and import into a new database, or start afresh"
        ),
        _ => error.to_string(),
    };
    while let Some(cause) = source {
        if let Some(database) = cause
            .downcast_ref::<tokio_postgres::Error>()
            .and_then(|error| error.as_db_error())
        {
            why = database.message().to_owned();
            if let Some(hint) = database.hint() {
                why = format!("{why}. {hint}");
            }
        }
        source = cause.source();
    }
    StoreError::Migration {
        why,
        source: Some(error.into()),
    }
}
