//! The `memory-bench` program.

use std::process::ExitCode;

use clap::Parser as _;
use memory_bench::{Cli, report};

#[tokio::main]
async fn main() -> ExitCode {
    match Cli::parse().run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            report("memory-bench", &failure);
            ExitCode::FAILURE
        }
    }
}
