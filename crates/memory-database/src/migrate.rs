//! Migrates a database to this release's schema and functions.

use std::{sync::LazyLock, time::Duration};

use memory_contract::duration_text::format_duration;
use memory_runtime::task;
use semver::Version;
use sha2::{Digest as _, Sha256};
use tokio::time::timeout;
use tokio_postgres::{Client, Connection, Row, Transaction, error::SqlState, types::ToSql};

use memory_postgres::{
    Database, Params, Pool, PostgresError, StoreConfig, connect_error, parse_url, query,
    query_error,
};

use crate::{
    StoreError,
    rows::{column, only, scalar},
};

include!(concat!(env!("OUT_DIR"), "/sql.rs"));

/// A file of `schema/` or `functions/`.
struct SqlFile {
    /// Relative to this crate, such as `schema/001_roles.sql`.
    path: &'static str,
    sql: &'static str,
}

/// The key of the advisory lock under which migrations run: "recollec" as bytes.
const LOCK: i64 = i64::from_be_bytes(*b"recollec");
/// How long a migration waits for another one, and each of its statements for
/// the tables it changes. `options=-c lock_timeout=…` in the URL is stronger.
const LOCK_TIMEOUT: Duration = Duration::from_secs(180);

/// The result of migrating one database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MigrationReport {
    /// The key of the database's URL: `url` or `chat_url`.
    pub key: &'static str,
    /// The schema files applied now, in order, then `functions` where those were
    /// applied; empty where the database was up to date.
    pub applied: Vec<String>,
    /// The version of the schema afterwards: the number of its last file.
    pub version: u32,
    /// The newer release whose functions were left, such as `0.2.0`; `None`: they are
    /// this release's.
    pub newer: Option<String>,
}

/// Brings the configured database, or both of them, to this release's schema and
/// functions, each in one transaction. Uses `url`, `chat_url` and `connect_timeout` of
/// the settings. The URL's user owns the schema, and has to be able to create roles
/// unless the roles exist. Safe to call concurrently: one caller migrates, the others
/// wait, for three minutes at most, and find it done. A database with a newer schema, or
/// with the functions of a newer release, is left alone.
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
    let transaction = client
        .transaction()
        .await
        .map_err(|error| query_error("BEGIN", error))?;
    if config.pooler {
        let wait = format!("SET LOCAL lock_timeout = {}", LOCK_TIMEOUT.as_millis());
        execute(&transaction, "lock_timeout", &wait, &[]).await?;
    }
    lock(&transaction).await?;
    let found = Found::read(&transaction).await?;
    let mut report = MigrationReport {
        key: database.key(),
        applied: Vec::new(),
        version: schema_version().max(found.version()),
        newer: (found.version() >= schema_version() && is_newer(&found.release))
            .then(|| found.release.clone()),
    };
    let up_to_date = found.sha256 == fingerprint() || report.newer.is_some();
    if found.version() > schema_version() || up_to_date {
        return Ok(report);
    }
    for (number, file) in (1_i32..).zip(SCHEMA).skip(found.files.len()) {
        apply(&transaction, file).await?;
        let insert =
            "INSERT INTO recollect.schema_files (number, name, sha256) VALUES ($1, $2, $3)";
        let row: [&(dyn ToSql + Sync); 3] = [&number, &file.path, &sha256([file])];
        execute(&transaction, file.path, insert, &row).await?;
        report.applied.push(file.path.to_owned());
    }
    // Functions may call each other, so a body may name one that comes later.
    let unchecked = "SET LOCAL check_function_bodies = off";
    execute(&transaction, "functions", unchecked, &[]).await?;
    for file in FUNCTIONS {
        apply(&transaction, file).await?;
    }
    let insert = "INSERT INTO recollect.schema_releases (sha256, release) VALUES ($1, $2)";
    let release: Params<'_> = &[&fingerprint(), &RELEASE];
    execute(&transaction, "functions", insert, release).await?;
    transaction
        .commit()
        .await
        .map_err(|error| query_error("COMMIT", error))?;
    report.applied.push("functions".to_owned());
    Ok(report)
}

/// The files applied to a database.
#[derive(Default)]
struct Found {
    /// The SHA-256 of each schema file, by number from 1.
    files: Vec<String>,
    /// The SHA-256 of schema and functions together; empty: none were applied.
    sha256: String,
    /// The release that applied the functions; empty: not recorded.
    release: String,
}

impl Found {
    /// # Errors
    /// `Migration` where the applied files are not the beginning of this release's schema.
    async fn read(transaction: &Transaction<'_>) -> Result<Self, StoreError> {
        let tables = "SELECT to_regclass('recollect.schema_files') IS NOT NULL AS is_recorded, \
                      EXISTS (SELECT FROM pg_catalog.pg_class c \
                              WHERE c.relnamespace = to_regnamespace('recollect') AND c.relkind = 'r') AS has_tables";
        let row = only(query(transaction, tables).await?)?;
        match (column(&row, "is_recorded")?, column(&row, "has_tables")?) {
            (true, _) => {}
            (false, true) => return Err(diverged("it has tables, and no record of its schema")),
            (false, false) => return Ok(Self::default()),
        }
        let files = "SELECT f.sha256 FROM recollect.schema_files f ORDER BY f.number";
        let release = "SELECT r.sha256, r.release FROM recollect.schema_releases r
                       ORDER BY r.id DESC LIMIT 1";
        let rows = query(transaction, files).await?;
        let files = rows.iter().map(scalar);
        let files: Vec<String> = files.collect::<Result<_, _>>()?;
        let (of_all, release) = match query(transaction, release).await?.first() {
            Some(row) => (column(row, "sha256")?, column(row, "release")?),
            None => Default::default(),
        };
        if let Some((file, _)) = SCHEMA
            .iter()
            .zip(&files)
            .find(|(file, applied)| sha256([*file]) != **applied)
        {
            return Err(diverged(&format!(
                "{} has changed since it was applied",
                file.path
            )));
        }
        Ok(Self {
            files,
            sha256: of_all,
            release,
        })
    }

    fn version(&self) -> u32 {
        u32::try_from(self.files.len()).unwrap_or(u32::MAX)
    }
}

/// Checks that the database is at least as new as this release: its schema begins with this
/// release's files, and it has more files, or the functions of a newer release, or this release's
/// functions were applied at some time.
pub(crate) async fn check(pool: &Pool) -> Result<(), StoreError> {
    let own: Vec<String> = SCHEMA.iter().map(|file| sha256([file])).collect();
    let params: Params<'_> = &[&fingerprint(), &own];
    let (found, applied, changed, release) =
        match pool.call_for_all(query!("schema/state"), params).await {
            Ok(rows) => {
                let row = only(rows)?;
                let version: i32 = column(&row, "version")?;
                (
                    version.unsigned_abs(),
                    column(&row, "is_applied")?,
                    column(&row, "is_changed")?,
                    column(&row, "release")?,
                )
            }
            // There is no such schema, or no such table in it.
            Err(PostgresError::Query { source, .. })
                if source
                    .code()
                    .is_some_and(|code| ["3F000", "42P01", "42501"].contains(&code.code())) =>
            {
                (0, false, false, String::new())
            }
            Err(error) => return Err(error.into()),
        };
    if changed {
        return Err(diverged("its schema files are others"));
    }
    let newer = found == schema_version() && is_newer(&release);
    if applied || newer || found > schema_version() {
        return Ok(());
    }
    Err(StoreError::Migration {
        why: format!(
            "the database at {} has a schema of version {found} that lacks changes of this release, \
             whose version is {}; run `recollect migrate` first",
            pool.database().key(),
            schema_version(),
        ),
        source: None,
    })
}

/// The version of this release's schema: the number of its last file.
pub fn schema_version() -> u32 {
    u32::try_from(SCHEMA.len()).unwrap_or(u32::MAX)
}

/// The number of this release. All crates of the workspace have it.
const RELEASE: &str = env!("CARGO_PKG_VERSION");

/// Whether a release, by its number, is newer than this one. One without a number is not.
fn is_newer(release: &str) -> bool {
    matches!((Version::parse(release), Version::parse(RELEASE)), (Ok(other), Ok(own)) if other > own)
}

/// The SHA-256 of this release's schema and functions.
fn fingerprint() -> &'static str {
    static SHA256: LazyLock<String> = LazyLock::new(|| sha256(SCHEMA.iter().chain(FUNCTIONS)));
    &SHA256
}

/// The hexadecimal SHA-256 of the texts of files.
fn sha256<'a>(files: impl IntoIterator<Item = &'a SqlFile>) -> String {
    let digest = files
        .into_iter()
        .fold(Sha256::new(), |digest, file| digest.chain_update(file.sql))
        .finalize();
    hex::encode(digest)
}

/// Connects within the configured time, the handshake included.
async fn connect(config: &StoreConfig, database: Database) -> Result<Client, StoreError> {
    let limit = config.connect_timeout;
    let (mut postgres, tls) = parse_url(config, database)?;
    postgres.connect_timeout(limit);
    if !config.pooler {
        let options = format!(
            "-c lock_timeout={} {}",
            LOCK_TIMEOUT.as_millis(),
            postgres.get_options().unwrap_or_default(),
        );
        postgres.options(options.trim_end());
    }
    let connected = async { drive(database, postgres.connect(tls).await) };
    match timeout(limit, connected).await {
        Ok(connected) => connected,
        Err(_elapsed) => Err(StoreError::Unavailable {
            source: database.cause(format!("no connection within {}", format_duration(limit))),
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
    let (client, connection) = connected.map_err(|error| connect_error(database, error))?;
    // Its error is also that of the query under way.
    task::spawn("connection", async move { connection.await.ok() });
    Ok(client)
}

/// Waits until no other migration runs.
async fn lock(transaction: &Transaction<'_>) -> Result<(), StoreError> {
    let sql = "SELECT pg_advisory_xact_lock($1)";
    match transaction.execute(sql, &[&LOCK]).await {
        Ok(_) => Ok(()),
        Err(error) if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) => {
            Err(StoreError::Migration {
                why: "another migration holds the lock and did not end in time; wait for it and \
                      migrate again, or look for its connection in pg_stat_activity"
                    .to_owned(),
                source: Some(error.into()),
            })
        }
        Err(error) => Err(query_error("schema/lock", error).into()),
    }
}

async fn query(transaction: &Transaction<'_>, sql: &str) -> Result<Vec<Row>, StoreError> {
    let rows = transaction.query(sql, &[]).await;
    rows.map_err(|error| failed("the history of the schema", error))
}

async fn apply(transaction: &Transaction<'_>, file: &SqlFile) -> Result<(), StoreError> {
    let done = transaction.batch_execute(file.sql).await;
    done.map_err(|error| failed(file.path, error))
}

async fn execute(
    transaction: &Transaction<'_>,
    path: &str,
    sql: &str,
    params: Params<'_>,
) -> Result<(), StoreError> {
    let done = transaction.execute(sql, params).await;
    done.map(drop).map_err(|error| failed(path, error))
}

/// The error of a file, with Postgres's hint.
fn failed(path: &str, error: tokio_postgres::Error) -> StoreError {
    let mut why = format!("{path}: {error}");
    if let Some(database) = error.as_db_error() {
        why = format!("{path}: {}", database.message());
        match database.hint() {
            Some(hint) => why = format!("{why}. {hint}"),
            None if *database.code() == SqlState::INSUFFICIENT_PRIVILEGE => why.push_str(
                ". The owner of the schema `recollect`, or a user with the right to create it in \
                 the database, has to migrate",
            ),
            None => {}
        }
    }
    StoreError::Migration {
        why,
        source: Some(error.into()),
    }
}

/// The database has a schema that this release cannot be applied to.
fn diverged(why: &str) -> StoreError {
    StoreError::Migration {
        why: format!(
            "its schema is not that of this release: {why}. An earlier build made the database, and \
             nothing upgrades it: create a new database, or, for `recollect dev`, remove the data \
             directory"
        ),
        source: None,
    }
}
