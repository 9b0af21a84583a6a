#![doc = include_str!("../README.md")]
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a measuring program prints, and its callers are tasks"
)]

mod blocks;
mod conversation;
mod data;
mod fair;
mod fit;
mod importing;
mod load;
mod machine;
mod progress;
mod quality;
mod questions;
mod random;
mod scale;
mod service;
mod stats;
mod table;

use std::{path::PathBuf, process::ExitCode};

use clap::{Args, Parser, Subcommand};

/// An error that ends the run.
type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Measures a running Recollect over gRPC.
#[derive(Parser)]
#[command(version, about, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    target: Target,
    /// Print one JSON object instead of a table.
    #[arg(long, global = true)]
    json: bool,
}

/// The service to measure.
#[derive(Args, Clone)]
pub struct Target {
    /// Measure this service, such as http://127.0.0.1:50051, instead of starting one.
    #[arg(long, global = true, env = "RECOLLECT_ADDR")]
    addr: Option<String>,
    /// API key for --addr.
    #[arg(long, global = true, env = "RECOLLECT_API_KEY", hide_env_values = true)]
    api_key: Option<String>,
    /// Database of --addr, for the floors of append and recall. Without it they are left out.
    #[arg(long, global = true)]
    database_url: Option<String>,
    /// Let the services that this run starts use this Qdrant, such as
    /// http://127.0.0.1:6334, instead of the embedded index. Their collections are removed
    /// in the end.
    #[arg(long, global = true, conflicts_with = "addr")]
    qdrant: Option<String>,
    /// The recollect binary to start. Default: the one in the directory of memory-bench.
    #[arg(long, global = true)]
    recollect: Option<PathBuf>,
}

#[derive(Subcommand)]
enum Command {
    /// Measure throughput and latency against floors of the same run.
    Load(load::Options),
    /// Measure recall and append on services with more and more messages.
    Scale(scale::Options),
    /// Measure how much evidence recall finds in conversations in the LoCoMo or REALTALK format.
    Quality(quality::Options),
    /// Measure what one tenant notices of another's import, on a service of its own.
    Fair(fair::Options),
    /// Fit the weights of recall's ranking to conversations with questions.
    Fit(fit::Options),
    /// Import conversations in the LoCoMo or REALTALK format into the service of --addr.
    Import(importing::Options),
}

#[tokio::main]
async fn main() -> ExitCode {
    let cli = Cli::parse();
    let outcome = match cli.command {
        Command::Load(options) => load::run(&cli.target, &options, cli.json).await,
        Command::Scale(options) => scale::run(&cli.target, &options, cli.json).await,
        Command::Quality(options) => quality::run(&cli.target, &options, cli.json).await,
        Command::Fair(options) => fair::run(&cli.target, &options, cli.json).await,
        Command::Fit(options) => fit::run(&options, cli.json).await,
        Command::Import(options) => importing::run(&cli.target, &options, cli.json).await,
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("memory-bench: {failure}");
            let mut cause = failure.source();
            while let Some(inner) = cause {
                eprintln!("  because: {inner}");
                cause = inner.source();
            }
            ExitCode::FAILURE
        }
    }
}
