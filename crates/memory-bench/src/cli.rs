//! The command line.

use clap::{Parser, Subcommand};

use crate::{Failure, Target, behind, fair, importing, load, quality, redact, run, scale, search};

/// Measures a running Recollect over gRPC.
#[derive(Parser)]
#[command(version, about, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    target: Target,
    /// Print one JSON object instead of a table.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Subcommand)]
enum Command {
    /// Measure throughput and latency against floors of the same run.
    Load(load::Options),
    /// Measure recall and append on services with more and more messages.
    Scale(scale::Options),
    /// Measure how much evidence recall finds in data sets of conversations.
    Quality(quality::Options),
    /// Measure recall while messages are not indexed yet: of a new language, and after a burst.
    Behind(behind::Options),
    /// Measure what one tenant notices of another's import, on a service of its own.
    Fair(fair::Options),
    /// Measure what redaction finds in texts without secrets, and what it costs.
    Redact(redact::Options),
    /// Import conversations in the LoCoMo or REALTALK format into the service of --addr.
    Import(importing::Options),
    /// Measure searches of the service of --addr by native callers.
    Search(search::Options),
    /// Run another program that measures, with a throw-away service.
    Run(run::Options),
}

impl Cli {
    /// Carries out the command.
    ///
    /// # Errors
    /// The measurement failed.
    pub async fn run(self) -> Result<(), Failure> {
        let Self {
            command,
            target,
            json,
        } = self;
        match command {
            Command::Load(options) => load::run(&target, &options, json).await,
            Command::Scale(options) => scale::run(&target, &options, json).await,
            Command::Quality(options) => quality::run(&target, &options, json).await,
            Command::Behind(options) => behind::run(&target, &options, json).await,
            Command::Fair(options) => fair::run(&target, &options, json).await,
            Command::Redact(options) => redact::run(&target, &options, json).await,
            Command::Import(options) => importing::run(&target, &options, json).await,
            Command::Search(options) => search::run(&target, &options, json).await,
            Command::Run(options) => run::run(&target, &options).await,
        }
    }
}
