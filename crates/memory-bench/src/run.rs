//! Another program that measures, beside a throw-away service.

use clap::Args;
use tokio::process::Command;

use crate::{Failure, Target, service::Service};

/// What to run.
#[derive(Args)]
pub struct Options {
    /// The program and its arguments. RECOLLECT_ADDR names the service to it.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<String>,
}

/// Starts a service, runs the program to its end, and stops the service.
pub async fn run(target: &Target, options: &Options) -> Result<(), Failure> {
    if target.addr.is_some() {
        return Err("run starts a service of its own; omit --addr".into());
    }
    let (program, arguments) = options.command.split_first().ok_or("no program")?;
    let service = Service::start(target, "").await?;
    let status = Command::new(program)
        .args(arguments)
        .env("RECOLLECT_ADDR", &service.addr)
        .kill_on_drop(true)
        .status()
        .await;
    service.stop().await?;
    let status = status.map_err(|error| format!("{program}: {error}"))?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("{program}: {status}").into()),
    }
}
