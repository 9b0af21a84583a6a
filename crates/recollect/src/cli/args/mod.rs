//! Commands, flags and their help.

mod client;
mod context;
mod distill;
mod keys;
mod memory;
mod plan;

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

pub use client::{
    ExportArgs, Format, HistoryArgs, ImportArgs, MethodArg, RecallArgs, ScopeArg, ThreadsArgs,
    WatchArgs,
};
pub use context::{ContextArgs, ModeArg};
pub use distill::{ObservationsArgs, SummaryArgs, UsageArgs, VerifyArgs, WorkingMemoryArgs};
pub use keys::{CreateKeyArgs, KeyNameArgs, KeyScopeArg, KeysArgs, KeysCommand, ListKeysArgs};
pub use memory::{
    AddMemoryArgs, ForgetMemoriesArgs, ListMemoriesArgs, MemoryArgs, MemoryCommand, MemoryIdArgs,
    PinMemoryArgs, SearchMemoriesArgs,
};
pub use plan::PlanArgs;

use super::failure::EXIT_CODES;

/// A memory for agents: exact conversation history, and recall by meaning and
/// by word.
#[derive(Debug, Parser)]
#[command(name = "recollect", version, propagate_version = true, after_help = EXIT_CODES)]
#[command(after_long_help = FIRST_STEPS)]
pub struct Cli {
    /// Read the configuration from this file instead of ./recollect.toml.
    #[arg(long, global = true, env = "RECOLLECT_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const FIRST_STEPS: &str = "\
First steps:
  recollect dev                                 start a server with everything in ./.recollect
  recollect import examples/conversation.jsonl  store a conversation
  recollect recall --user conversation \"What is the code of the shed?\"

Exit codes:
  0  it worked
  1  the request failed, or a part of it
  2  the command line is wrong
  3  the server cannot be reached
  4  what was asked for does not exist
  5  the configuration cannot be used
  6  something on this machine is missing or in the way";

/// What can be done.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Start a server with everything it needs, for development.
    Dev(DevArgs),
    /// Start the gRPC server from the configuration.
    Serve(ServeArgs),
    /// Start the background jobs alone: indexing, expiry.
    Worker,
    /// Bring the database's schema up to date, then exit.
    Migrate,
    /// Make, list and end the API keys that the database keeps.
    Keys(KeysArgs),
    /// Store conversations from files.
    Import(ImportArgs),
    /// Write conversations as JSONL, one record a line.
    Export(ExportArgs),
    /// Ask what was said before.
    Recall(RecallArgs),
    /// Show everything that a model would be given for a request.
    Context(ContextArgs),
    /// Show, store and forget long-term memories.
    Memory(MemoryArgs),
    /// List conversations.
    Threads(ThreadsArgs),
    /// Show a conversation as a model would get it.
    History(HistoryArgs),
    /// Show what an agent means to do in a conversation, and what it has tried.
    Plan(PlanArgs),
    /// Tell what is done to a conversation, as it is done.
    Watch(WatchArgs),
    /// Show what a session has in mind: context, messages, memories, data.
    WorkingMemory(WorkingMemoryArgs),
    /// Show what a long conversation was condensed to.
    Observations(ObservationsArgs),
    /// Show the summary of a conversation, and which messages it stands for.
    Summary(SummaryArgs),
    /// Prove that no message of a conversation was lost on the way to what is
    /// derived from it.
    Verify(VerifyArgs),
    /// Tell how the server and its index are doing.
    Status(ClientArgs),
    /// Tell what language models have cost, by day and model.
    Usage(UsageArgs),
    /// Check the set-up, and say how to mend what is wrong.
    Doctor(DoctorArgs),
    /// Print the effective configuration, with the source of each value.
    Config(ConfigArgs),
    /// Import a conversation into a throw-away server and ask it questions.
    Demo(DemoArgs),
    /// Print a completion script for a shell.
    #[command(
        after_help = "Example:\n  recollect completions bash > ~/.local/share/bash-completion/completions/recollect"
    )]
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
}

/// Where the server is.
#[derive(Debug, Clone, Args)]
pub struct ServerArgs {
    /// The server's address.
    #[arg(
        long,
        env = "RECOLLECT_ADDR",
        default_value = "http://127.0.0.1:50051",
        value_name = "URL",
        help_heading = "Server"
    )]
    pub addr: String,
    /// The API key.
    #[arg(
        long,
        env = "RECOLLECT_API_KEY",
        hide_env_values = true,
        value_name = "KEY",
        help_heading = "Server"
    )]
    pub api_key: Option<String>,
}

/// Where the server is, and how to show its answer.
#[derive(Debug, Clone, Args)]
pub struct ClientArgs {
    /// The server.
    #[command(flatten)]
    pub server: ServerArgs,
    /// Print JSON instead of a table: the messages of the API, one a line.
    #[arg(long)]
    pub json: bool,
}

/// `recollect dev`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  recollect dev
  recollect dev --data-dir /var/tmp/memory --listen 127.0.0.1:50052
  recollect dev --listen 127.0.0.1:0 --json --stop-with-stdin    for test harnesses

Postgres is the system's own, run as a private cluster in the data directory
(as an unprivileged user when started by root). The index and the model are in
the process. Other settings come from the configuration, as in `serve`.")]
pub struct DevArgs {
    /// The address that gRPC listens on; port 0 takes a free one.
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<SocketAddr>,
    /// The address of /metrics, /livez and /readyz; port 0 takes a free one.
    #[arg(long, value_name = "ADDR")]
    pub metrics_listen: Option<SocketAddr>,
    /// Where everything is kept.
    #[arg(
        long,
        env = "RECOLLECT_DATA_DIR",
        default_value = "./.recollect",
        value_name = "DIR"
    )]
    pub data_dir: PathBuf,
    /// The directory with Postgres's programs, where it is not found by itself.
    #[arg(long, env = "RECOLLECT_POSTGRES_BIN", value_name = "DIR")]
    pub postgres_bin: Option<PathBuf>,
    /// When ready, print one line of JSON on standard output: `addr`,
    /// `metrics_addr`, `pid`, `postgres`, `startup_ms`.
    #[arg(long)]
    pub json: bool,
    /// When ready, write that line to this file, which appears all at once.
    #[arg(long, value_name = "FILE")]
    pub ready_file: Option<PathBuf>,
    /// Stop when standard input ends.
    #[arg(long)]
    pub stop_with_stdin: bool,
}

/// `recollect serve`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  DATABASE_URL=postgresql://memory@db/memory recollect serve
  recollect serve --config /etc/recollect.toml --no-worker")]
pub struct ServeArgs {
    /// The address that gRPC listens on.
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<SocketAddr>,
    /// Leave the background jobs to `recollect worker`.
    #[arg(long)]
    pub no_worker: bool,
}

/// `recollect doctor`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Exit code 6: a check failed. It works before anything else does.")]
pub struct DoctorArgs {
    /// The data directory of `recollect dev`.
    #[arg(
        long,
        env = "RECOLLECT_DATA_DIR",
        default_value = "./.recollect",
        value_name = "DIR"
    )]
    pub data_dir: PathBuf,
    /// The directory with Postgres's programs, where it is not found by itself.
    #[arg(long, env = "RECOLLECT_POSTGRES_BIN", value_name = "DIR")]
    pub postgres_bin: Option<PathBuf>,
    /// Print one JSON object a check.
    #[arg(long)]
    pub json: bool,
}

/// `recollect config`.
#[derive(Debug, Clone, Args)]
pub struct ConfigArgs {
    /// Print one JSON object a key.
    #[arg(long)]
    pub json: bool,
}

/// `recollect demo`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  recollect demo
  recollect demo --file examples/conversation.jsonl --ask \"What did they name the boat?\"

The server, its database and its index are gone when the demo ends.")]
pub struct DemoArgs {
    /// The conversation, in a format of `recollect import`. [default: a shipped one, with
    /// questions]
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Ask this; may be repeated. [default: questions about the shipped conversation]
    #[arg(long, value_name = "QUESTION")]
    pub ask: Vec<String>,
    /// The directory with Postgres's programs, where it is not found by itself.
    #[arg(long, env = "RECOLLECT_POSTGRES_BIN", value_name = "DIR")]
    pub postgres_bin: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;
    use clap::Parser as _;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn numbers_out_of_range_are_refused_with_the_range() {
        let check = |args: &[&str], range: &str| {
            let error = Cli::try_parse_from(["recollect"].iter().chain(args)).unwrap_err();
            assert!(error.to_string().contains(range), "{args:?}: {error}");
        };
        check(&["threads", "--limit", "0"], "is not in 1..");
        check(&["threads", "--limit", "-1"], "is not in 1..");
        check(&["recall", "q", "--top-k", "-1"], "0..=100");
        check(&["recall", "q", "--after", "21"], "0..=20");
        check(&["recall", "q", "--min-score", "-0.5"], "from 0 to 1");
        check(
            &[
                "keys",
                "create",
                "--tenant",
                "a",
                "--name",
                "b",
                "--expires-in",
                "soon",
            ],
            "expected number",
        );
        check(&["history", "x", "--max-tokens", "-1"], "0..=10000000");
    }
}
