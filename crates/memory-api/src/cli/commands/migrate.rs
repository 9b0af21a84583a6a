//! `recollect migrate`.

use std::path::PathBuf;

use memory_api::{Config, Sources};
use secrecy::ExposeSecret;

use crate::cli::failure::{Failure, chain};

/// Migrates the configured database.
///
/// # Errors
/// When there is none, or when it cannot be migrated.
pub async fn run(file: Option<PathBuf>) -> Result<(), Failure> {
    let config = Config::load(&Sources {
        file,
        ..Default::default()
    })?
    .config;
    require_database(&config)?;
    let report = memory_store::migrate(&config.database.url)
        .await
        .map_err(|error| {
            Failure::machine(chain(&error), "`recollect doctor` checks the database.")
        })?;
    for name in &report.applied {
        println!("applied {name}");
    }
    let (count, version) = (report.applied.len(), report.version);
    println!("The schema is at version {version}; {count} migrations were applied now.");
    Ok(())
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
