//! Runs seeded scenarios against real processes and prints what they measured. The exit
//! code is 1 if a limit was missed.
#![allow(
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a program for developers"
)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use recollect_tests::DataDir;
use recollect_tests::chaos::{Kill, Progress, Report, kill};

/// Seeded scenarios against real processes of Recollect. Build with
/// `cargo build --workspace --bins` first.
#[derive(Parser)]
#[command(name = "recollect-chaos")]
struct Arguments {
    #[command(subcommand)]
    scenario: Scenario,
    #[command(flatten)]
    common: Common,
}

#[derive(Args, Clone, Copy)]
struct Common {
    /// Determines what is sent and when processes are killed. Default: random.
    #[arg(long, global = true)]
    seed: Option<u64>,
    /// Longest duration of the load in seconds, without starting and checking.
    #[arg(long, global = true)]
    seconds: Option<u64>,
    /// Print each report as one line of JSON.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Subcommand, Clone, Copy)]
enum Scenario {
    /// Kill server, worker and Postgres under writers.
    Kill {
        /// Number of kills.
        #[arg(long, default_value_t = 200)]
        count: usize,
        /// Number of writers.
        #[arg(long, default_value_t = 64)]
        writers: usize,
        /// Keep the index in the server's process, and damage its files too.
        #[arg(long)]
        embedded: bool,
    },
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let common = arguments.common;
    let seed = common.seed.unwrap_or_else(|| fastrand::u64(..1_000_000));
    let progress = Progress::shown();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let run = || runtime.block_on(run(arguments.scenario, seed, common.seconds, &progress));
    let reports = catch_unwind(AssertUnwindSafe(run));
    progress.end();
    let Ok(reports) = reports else {
        eprintln!("The scenario could not go on. Its seed was {seed}.");
        return ExitCode::FAILURE;
    };
    for report in &reports {
        match common.json {
            true => println!("{}", report.json()),
            false => println!("{}", report.text()),
        }
    }
    match reports.iter().any(Report::failed) {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    }
}

async fn run(
    scenario: Scenario,
    seed: u64,
    seconds: Option<u64>,
    progress: &Progress,
) -> Vec<Report> {
    let time = |default: u64| Duration::from_secs(seconds.unwrap_or(default));
    match scenario {
        Scenario::Kill {
            count,
            writers,
            embedded,
        } => {
            let options = Kill {
                seed,
                count,
                time: time(3_600),
                writers,
                embedded,
                index_limit: Duration::from_secs(10),
            };
            vec![kill(DataDir::unlimited(), &options, progress).await]
        }
    }
}
