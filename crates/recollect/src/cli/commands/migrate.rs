//! `recollect migrate`.

use std::path::PathBuf;

use memory_config::{Config, ConfigError, Provenance, Sources};
use memory_store::StoreError;
use secrecy::ExposeSecret;

use crate::cli::failure::{Failure, chain};

/// Migrates the configured database, and that of the conversations where it is
/// another one.
///
/// # Errors
/// If no database is configured, or one cannot be migrated.
pub async fn run(file: Option<PathBuf>) -> Result<(), Failure> {
    let loaded = Config::load(&Sources {
        file,
        ..Default::default()
    })?;
    require_database(&loaded.config)?;
    let reports = memory_store::migrate(&loaded.config.database)
        .await
        .map_err(|error| not_migrated(error, &loaded.provenance))?;
    for report in &reports {
        // With one database the report needs no prefix.
        let whose = match reports.len() {
            1 => String::new(),
            _ => format!("database.{}: ", report.key),
        };
        for name in &report.applied {
            println!("{whose}applied {name}");
        }
        if let Some(newer) = &report.newer {
            println!(
                "{whose}The functions in the database are those of release {newer}; this older \
                 release leaves them."
            );
        }
        let version = report.version;
        let what = match report.applied.is_empty() {
            true => "nothing had to be applied",
            false => "it is up to date now",
        };
        println!("{whose}The schema is at version {version}; {what}.");
    }
    Ok(())
}

/// Why a database was not migrated. A URL that cannot be used is the
/// configuration's fault, and named with where it came from.
pub fn not_migrated(error: StoreError, provenance: &Provenance) -> Failure {
    match error {
        StoreError::Config { key, why } => provenance
            .locate(ConfigError::Value {
                key: format!("database.{key}"),
                origin: String::new(),
                problem: why,
            })
            .into(),
        error => Failure::machine(
            format!("the database cannot be migrated: {}", chain(&error)),
            "`recollect doctor` checks the database.",
        ),
    }
}

/// Refuses a configuration that names no database.
///
/// # Errors
/// [`Failure::Server`], with the exit code of the configuration.
pub fn require_database(config: &Config) -> Result<(), Failure> {
    if config.database.url.expose_secret().is_empty() {
        return Err(Failure::Server {
            message: "database.url is not set. Set it in the configuration file or as \
                      DATABASE_URL, or use `recollect dev`, which brings its own database."
                .to_owned(),
            config: true,
        });
    }
    Ok(())
}
