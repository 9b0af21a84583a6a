//! The checks of Postgres in `recollect doctor`.

use std::path::Path;

use memory_config::Config;
use memory_runtime::task;
use memory_store::schema_version;
use secrecy::{ExposeSecret, SecretString};
use time::OffsetDateTime;
use tokio_postgres::NoTls;

use super::checks::{Finding, PROBE_TIMEOUT};
use crate::cli::failure::chain;
use memory_embedded::Binaries;

/// Postgres: the programs for the embedded default, or the database that is
/// configured; and that of the conversations, where it is another one.
pub async fn database(config: &Config, bin: Option<&Path>, data_dir: &Path) -> Vec<Finding> {
    let mut findings = match config.database.url.expose_secret().is_empty() {
        true => vec![programs(bin, data_dir)],
        false => check_database(config, &config.database.url, &MAIN).await,
    };
    if config.database.has_chat_database() {
        findings.extend(check_database(config, &config.database.chat_url, &CHAT).await);
    }
    findings
}

/// What the checks of a database are called.
struct Checks {
    database: &'static str,
    schema: &'static str,
    roles: &'static str,
    clock: &'static str,
    /// Where its URL is set.
    key: &'static str,
}

const MAIN: Checks = Checks {
    database: "database",
    schema: "schema",
    roles: "database roles",
    clock: "clock",
    key: "database.url (or DATABASE_URL)",
};

const CHAT: Checks = Checks {
    database: "chat database",
    schema: "chat schema",
    roles: "chat database roles",
    clock: "chat clock",
    key: "database.chat_url",
};

async fn check_database(config: &Config, url: &SecretString, checks: &Checks) -> Vec<Finding> {
    let unreachable = |problem: String| {
        vec![Finding::fail(
            checks.database,
            format!("it cannot be reached: {problem}"),
            format!("Check {}, and that Postgres listens there.", checks.key),
        )]
    };
    let client = match tokio::time::timeout(PROBE_TIMEOUT, connect(url)).await {
        Ok(Ok(client)) => client,
        Ok(Err(problem)) => return unreachable(problem),
        Err(_) => return unreachable("no answer within 3s".to_owned()),
    };
    let mut findings = Vec::new();
    let ask = async |sql: &str| match client.query_one(sql, &[]).await {
        Ok(row) => row.try_get::<_, String>(0).ok(),
        Err(_) => None,
    };
    findings.push(
        match ask("SELECT current_setting('server_version')").await {
            Some(version)
                if version
                    .split('.')
                    .next()
                    .is_some_and(|major| major.parse().is_ok_and(|m: u32| m >= 14)) =>
            {
                Finding::ok(checks.database, format!("Postgres {version} answers"))
            }
            Some(version) => Finding::fail(
                checks.database,
                format!("Postgres {version} is too old"),
                "Use version 14 or later.",
            ),
            None => Finding::fail(
                checks.database,
                "its version cannot be read",
                "Check that it is Postgres.",
            ),
        },
    );
    let version = ask("SELECT coalesce(max(number), 0)::text FROM recollect.schema_files").await;
    findings.push(match version {
        Some(version)
            if version
                .parse()
                .is_ok_and(|found: u32| found < schema_version()) =>
        {
            Finding::fail(
                checks.schema,
                format!(
                    "version {version} is older than this release's {}",
                    schema_version()
                ),
                "Run `recollect migrate`.",
            )
        }
        Some(version) => Finding::ok(checks.schema, format!("version {version}")),
        None => Finding::fail(checks.schema, "it is missing", "Run `recollect migrate`."),
    });
    let roles = ask(
        "SELECT count(*)::text FROM pg_roles WHERE rolname IN ('recollect_service', 'recollect_worker') \
         AND pg_has_role(current_user, oid, 'MEMBER')",
    )
    .await;
    findings.push(match roles.as_deref() {
        Some("2") => Finding::ok(checks.roles, "the user may act as both"),
        _ => Finding::fail(
            checks.roles,
            "the user may not act as recollect_service and recollect_worker",
            "Run `recollect migrate` as a user who may create roles, or: GRANT recollect_service, \
             recollect_worker TO the user.",
        ),
    });
    let free = "SELECT (current_setting('max_connections')::int \
         - current_setting('superuser_reserved_connections')::int)::text";
    if let Some(free) = ask(free).await.and_then(|free| free.parse().ok()) {
        findings.push(connections(config, free));
    }
    if let Some(text) = ask("SELECT extract(epoch FROM clock_timestamp())::text").await {
        let theirs: f64 = text.parse().unwrap_or_default();
        let ours = OffsetDateTime::now_utc().unix_timestamp_nanos() as f64 / 1e9;
        findings.push(clock(checks.clock, (ours - theirs).abs()));
    }
    findings
}

/// Compares the connections of one server with those that Postgres allows.
fn connections(config: &Config, allowed: usize) -> Finding {
    let database = &config.database;
    // The last one shows other servers that this one is alive.
    let most = database.pool_size + database.max_overflow + database.worker_pool_size + 1;
    match most <= allowed {
        true => Finding::ok(
            "connections",
            format!("a server opens up to {most} of {allowed}"),
        ),
        false => Finding::warn(
            "connections",
            format!("a server opens up to {most}, and Postgres allows {allowed}"),
            "Lower database.pool_size and max_overflow, or raise max_connections of Postgres; \
             beyond it calls wait for each other.",
        ),
    }
}

fn programs(bin: Option<&Path>, data_dir: &Path) -> Finding {
    let made = std::fs::read_to_string(data_dir.join("postgres/PG_VERSION"));
    let major = made.ok().and_then(|text| text.trim().parse().ok());
    match Binaries::find(bin, major) {
        Ok(found) => Finding::ok(
            "Postgres programs",
            format!("version {} in {}", found.version, found.dir.display()),
        ),
        Err(error) => Finding::fail("Postgres programs", error.to_string(), error.next_step()),
    }
}

async fn connect(url: &SecretString) -> Result<tokio_postgres::Client, String> {
    let (client, connection) = tokio_postgres::connect(url.expose_secret(), NoTls)
        .await
        .map_err(|error| chain(&error))?;
    task::spawn("connection", connection);
    Ok(client)
}

fn clock(check: &'static str, seconds_apart: f64) -> Finding {
    match seconds_apart < 2.0 {
        true => Finding::ok(check, "it agrees with the database's"),
        false => Finding::warn(
            check,
            format!("it is {seconds_apart:.0} s apart from the database's"),
            "Let both machines take the time from the network (NTP).",
        ),
    }
}
