//! Starts a process.

use memory_config::{Config, Roles};
use memory_runtime::raise_open_files;

use crate::error::ServerError;
use crate::listener::bind;
use crate::running::Running;
use crate::{parts, telemetry};

/// Starts a process: checks the configuration, binds the ports, opens the store, the
/// model and the index, and starts the roles. The schema must be there already
/// (`recollect migrate`). An index that does not answer or a missing model degrades
/// recall and does not keep the process from starting.
///
/// # Errors
/// [`ServerError`]; then nothing is left running.
pub async fn start(config: Config, roles: Roles) -> Result<Running, ServerError> {
    raise_open_files();
    config.check()?;
    config.check_roles(roles)?;
    let metrics = telemetry::recorder()?;
    let grpc = match roles.api {
        true => Some(bind("server.listen", config.server.listen).await?),
        false => None,
    };
    let http = match config.telemetry.metrics_listen {
        Some(addr) => Some(bind("telemetry.metrics_listen", addr).await?),
        None => None,
    };
    // From here on everything that was started stops when `running` is dropped.
    let mut running = Running::new(&config, metrics, http);
    let parts = parts::open(&config, roles, running.health()).await?;
    running.start(config, parts, grpc).await?;
    Ok(running)
}
