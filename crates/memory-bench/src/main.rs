//! The `memory-bench` program.

use std::process::ExitCode;

use clap::Parser as _;
use memory_bench::{Cli, report};
use memory_embedded::{GUARD_COMMAND, exec_guarded};

fn main() -> ExitCode {
    // Before anything else: this process is about to become Postgres or a service.
    let args: Vec<_> = std::env::args_os().skip(1).collect();
    if let [command, guarded @ ..] = args.as_slice()
        && command == GUARD_COMMAND
    {
        let error = exec_guarded(guarded);
        report("memory-bench", &error.into());
        return ExitCode::FAILURE;
    }
    run()
}

#[tokio::main]
async fn run() -> ExitCode {
    match Cli::parse().run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            report("memory-bench", &failure);
            ExitCode::FAILURE
        }
    }
}
