//! `recollect serve` and `recollect worker`.

use std::path::PathBuf;

use memory_config::Roles;
use memory_config::{Config, Sources};
use memory_process::{ServerError, init_telemetry};
use memory_server::Readiness;
use serde_json::json;

use super::migrate::require_database;
use super::signals::Stop;
use crate::cli::args::ServeArgs;
use crate::cli::failure::{Failure, chain};

/// Runs the gRPC server, and the background jobs unless they run elsewhere.
///
/// # Errors
/// When it does not start, or ends by itself.
pub async fn serve(file: Option<PathBuf>, args: ServeArgs) -> Result<(), Failure> {
    let mut sources = Sources {
        file,
        ..Default::default()
    };
    if let Some(listen) = args.listen {
        sources
            .flags
            .push(("--listen".into(), "server.listen".into(), json!(listen)));
    }
    run(
        sources,
        if args.no_worker {
            Roles::API
        } else {
            Roles::ALL
        },
    )
    .await
}

/// Runs the background jobs alone.
///
/// # Errors
/// When they do not start, or end by themselves.
pub async fn worker(file: Option<PathBuf>) -> Result<(), Failure> {
    run(
        Sources {
            file,
            ..Default::default()
        },
        Roles::WORKER,
    )
    .await
}

async fn run(sources: Sources, roles: Roles) -> Result<(), Failure> {
    let loaded = Config::load(&sources)?;
    require_database(&loaded.config)?;
    let mut stop = Stop::listen(false)?;
    let _telemetry = init_telemetry(&loaded.config.telemetry)
        .map_err(|error| Failure::machine(chain(&error), ""))?;
    let started = tokio::select! {
        started = memory_process::start(loaded.config, roles) => started,
        _ = stop.wait() => return Ok(()),
    };
    let running = started.map_err(|error| match error {
        ServerError::Config(error) => loaded.provenance.locate(error).into(),
        error => Failure::from(error),
    })?;
    let failed = tokio::select! {
        error = running.failed() => Some(error),
        reason = async {
            match running.wait_ready().await {
                Readiness::Degraded(reasons) | Readiness::Unavailable(reasons) => {
                    tracing::warn!(reasons = reasons.join("; "), "degraded");
                }
                Readiness::Ready | Readiness::Starting => tracing::info!("ready"),
            }
            stop.wait().await
        } => {
            tracing::info!(reason, "stopping");
            None
        }
    };
    tokio::select! {
        () = running.stop() => {}
        _ = stop.wait() => tracing::warn!("stopped at once, on a second signal"),
    }
    failed.map_or(Ok(()), |error| Err(error.into()))
}
