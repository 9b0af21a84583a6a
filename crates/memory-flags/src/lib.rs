#![doc = include_str!("../README.md")]
#![expect(
    missing_docs,
    reason = "flattened flags are documented where they are declared"
)]

mod client;
mod connect;
mod context;
mod conversation;
mod distill;
mod files;
mod health;
mod index;
mod keys;
mod mcp;
mod memory;
mod object;
mod plan;
mod proxy;
mod subscription;
mod target;
mod times;

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

pub use client::{
    AppsArgs, ExportArgs, HistoryArgs, ImportArgs, MethodArg, RecallArgs, ScopeArg, ThreadsArgs,
    UsersArgs, WatchArgs,
};
pub use connect::{AgentArg, ConnectArgs, DisconnectArgs, FilesArgs, HookArgs};
pub use context::{ContextArgs, ModeArg};
pub use conversation::{AppendArgs, DeleteThreadArgs, ThreadArgs, ThreadCommand};
pub use distill::{
    DeletionArgs, ObservationsArgs, SummaryArgs, UsageArgs, VerifyArgs, WorkingMemoryArgs,
};
pub use files::{
    DiffFileArgs, FilePathArgs, ListFilesArgs, MemoryFilesArgs, MemoryFilesCommand, MoveFileArgs,
    PutFileArgs, RemoveFileArgs, RestoreFileArgs, SearchFilesArgs, ShowFileArgs,
};
pub use health::HealthArgs;
pub use index::{
    CompareIndexesArgs, IndexArgs, IndexCommand, ListIndexesArgs, RetireIndexArgs, SwitchIndexArgs,
};
pub use keys::{CreateKeyArgs, KeyNameArgs, KeyScopeArg, KeysArgs, KeysCommand, ListKeysArgs};
pub use mcp::McpArgs;
pub use memory::{
    AddMemoryArgs, DeleteMemoriesArgs, ExtractMemoriesArgs, ListMemoriesArgs, MemoryArgs,
    MemoryCommand, MemoryIdArgs, PinMemoryArgs, ProfileArgs, SearchMemoriesArgs,
};
pub use plan::PlanArgs;
pub use proxy::ProxyArgs;
pub use subscription::{
    CreateSubscriptionArgs, SubscriptionArgs, SubscriptionCommand, SubscriptionNameArgs,
};
pub use target::{ClientArgs, DataDirArgs, Named, ServerArgs};

/// For the end of every help text.
const EXIT_CODES: &str = "Exit codes: 0 ok, 1 refused, 2 usage, 3 no server, 4 not found, 5 configuration, 6 machine. \
     More with --help.";

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
  0  success
  1  the request failed, entirely or in part
  2  the command line is wrong
  3  the server cannot be reached
  4  not found
  5  the configuration is invalid
  6  something on this machine is missing or in the way";

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Start a server with everything it needs, for development.
    Dev(DevArgs),
    /// Start the gRPC server from the configuration.
    Serve(ServeArgs),
    /// Start only the background work: indexing, distilling, expiry.
    Worker,
    /// Upgrade the database schema, then exit.
    Migrate,
    /// Create, list and revoke the API keys in the database.
    Keys(KeysArgs),
    /// List, compare, switch and remove indexes while the embedding model is changed.
    Index(IndexArgs),
    /// Store messages at the end of a conversation.
    Append(AppendArgs),
    /// Import conversations and memories from files.
    Import(ImportArgs),
    /// Export conversations as JSONL, one record a line.
    Export(ExportArgs),
    /// Search the messages of a user or a conversation.
    Recall(RecallArgs),
    /// Show the context that a model would get for a request.
    Context(ContextArgs),
    /// Serve memory to an MCP client on standard input and output.
    Mcp(McpArgs),
    /// Write Recollect into the configuration of an agent, such as Claude Code or Codex.
    Connect(ConnectArgs),
    /// Take Recollect out of the configuration of an agent.
    Disconnect(DisconnectArgs),
    /// Answer a hook of Claude Code, which `recollect connect` sets.
    Hook(HookArgs),
    /// Add memory to calls of language models: a proxy in front of their APIs.
    Proxy(ProxyArgs),
    /// List, search, add, extract, pin and delete long-term memories.
    Memory(MemoryArgs),
    /// List, print, edit and search the text files that agents keep for a user.
    Files(MemoryFilesArgs),
    /// List apps.
    Apps(AppsArgs),
    /// List the users of an app, with the size of their data.
    Users(UsersArgs),
    /// List conversations.
    Threads(ThreadsArgs),
    /// Delete a conversation.
    Thread(ThreadArgs),
    /// Show a conversation as a model would get it.
    History(HistoryArgs),
    /// Show the plan of a conversation and the attempts made.
    Plan(PlanArgs),
    /// Print the changes of a conversation as they happen.
    Watch(WatchArgs),
    /// Create, list, show, delete and stream subscriptions to changes.
    Subscription(SubscriptionArgs),
    /// Show a working memory: summary, messages, memories, data.
    WorkingMemory(WorkingMemoryArgs),
    /// Show the observations of a conversation.
    Observations(ObservationsArgs),
    /// Show the summary of a conversation and the messages that it covers.
    Summary(SummaryArgs),
    /// Check that every message of a conversation is stored in full or covered by
    /// derived text.
    Verify(VerifyArgs),
    /// Show the receipt of a deletion, and check that nothing is left of a deleted user, app or tenant.
    Deletion(DeletionArgs),
    /// Ask a server or a worker whether it serves.
    Health(HealthArgs),
    /// Show the state of the server and its index.
    Status(ClientArgs),
    /// Show the tokens that language models have used, by day and model.
    Usage(UsageArgs),
    /// Check the setup and say how to fix each problem.
    Doctor(DoctorArgs),
    /// Print the effective configuration, with the source of each value.
    Config(ConfigArgs),
    /// Import a conversation into a temporary server and ask it questions.
    Demo(DemoArgs),
    /// Print a completion script for a shell.
    #[command(
        after_help = "Example:\n  recollect completions bash > ~/.local/share/bash-completion/completions/recollect"
    )]
    Completions {
        /// The shell to complete for.
        shell: clap_complete::Shell,
    },
}

/// `recollect dev`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  recollect dev
  recollect dev --data-dir /var/tmp/memory --listen 127.0.0.1:50052
  recollect dev --listen 127.0.0.1:0 --json --stop-with-stdin    for test harnesses

Postgres comes with the package. The system's is used instead if its major version
is newer, and by a program that was built from source. It runs as a private cluster
in the data directory (as an unprivileged user when started by root).
The index and the model run in this process. Other settings come from the
configuration, as in `serve`.")]
pub struct DevArgs {
    /// The address that gRPC listens on; port 0 takes a free one.
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<SocketAddr>,
    /// The address of /metrics, /livez and /readyz; port 0 takes a free one.
    #[arg(long, value_name = "ADDR")]
    pub metrics_listen: Option<SocketAddr>,
    #[command(flatten)]
    pub data: DataDirArgs,
    /// The directory with Postgres's programs. [default: the newest of the package, the PATH
    /// and the system's directories]
    #[arg(long, env = "RECOLLECT_POSTGRES_BIN", value_name = "DIR")]
    pub postgres_bin: Option<PathBuf>,
    /// When ready, print one line of JSON on standard output: `addr`,
    /// `metrics_addr`, `pid`, `postgres`, `startup_ms`.
    #[arg(long)]
    pub json: bool,
    /// When ready, write that line to this file, atomically.
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
#[command(after_help = "Exit code 6: a check failed. It needs no running server.")]
pub struct DoctorArgs {
    #[command(flatten)]
    pub data: DataDirArgs,
    /// The directory with Postgres's programs. [default: the newest of the package, the PATH
    /// and the system's directories]
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

The server, its database and its index are removed when the demo ends.")]
pub struct DemoArgs {
    /// The conversation, in a format of `recollect import`. [default: a shipped one, with
    /// questions]
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Ask this; may be repeated. [default: questions about the shipped conversation]
    #[arg(long, value_name = "QUESTION")]
    pub ask: Vec<String>,
    /// The directory with Postgres's programs. [default: the newest of the package, the PATH
    /// and the system's directories]
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
        check(&["index", "compare", "--sample", "0"], "1..=100");
        check(&["index", "compare", "--top-k", "101"], "1..=100");
        check(&["recall", "q", "--min-score", "-0.5"], "from 0 to 1");
        check(&["memory", "extract", "x", "--wait", "31s"], "at most 30s");
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
