//! Commands, flags and their help.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

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
  recollect import examples/conversation.json   store a conversation
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
    /// Store conversations from files.
    Import(ImportArgs),
    /// Write conversations as JSONL, one record a line.
    Export(ExportArgs),
    /// Ask what was said before.
    Recall(RecallArgs),
    /// List conversations.
    Threads(ThreadsArgs),
    /// Show a conversation as a model would get it.
    History(HistoryArgs),
    /// Tell how the server and its index are doing.
    Status(ClientArgs),
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

/// Where the server is, and how to show its answer.
#[derive(Debug, Clone, Args)]
pub struct ClientArgs {
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

/// `recollect import`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Formats:
  jsonl   one JSON object a line: what `recollect export` writes, or simple lines
          such as {\"role\": \"user\", \"name\": \"Ada\", \"text\": \"Hello!\",
          \"created_at\": \"2025-03-01T09:00:00Z\", \"session_key\": \"thread:42\"}
  openai  {\"messages\": [{\"role\": \"user\", \"content\": \"Hello!\"}, …]}, in a file of its
          own or one a line
  locomo  session_1, session_2, … with dia_id, speaker, text; one thread a session

Examples:
  recollect import examples/conversation.json
  recollect import chats/*.jsonl --format openai --app support --user ada
  recollect export | recollect import - --addr http://other:50051

Importing a file again stores nothing twice. Exit code 1: a part was refused.")]
pub struct ImportArgs {
    /// Files to read; `-` is standard input.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// What the files look like.
    #[arg(long, value_enum, default_value_t = Format::Auto)]
    pub format: Format,
    /// The app of conversations that name none.
    #[arg(long, default_value = "default")]
    pub app: String,
    /// The user of conversations that name none. [default: the file's name
    /// without its ending]
    #[arg(long)]
    pub user: Option<String>,
    /// The session key of conversations that name none. [default: `session:`
    /// and the file's name without its ending]
    #[arg(long)]
    pub session: Option<String>,
    /// Store as new messages what was imported, or exported, before.
    #[arg(long)]
    pub again: bool,
    /// The server.
    #[command(flatten)]
    pub client: ClientArgs,
}

/// What a file of conversations looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Whatever the content looks like.
    Auto,
    /// One message a line.
    Jsonl,
    /// OpenAI's chat format.
    Openai,
    /// LoCoMo's long conversations.
    Locomo,
}

/// `recollect export`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  recollect export > everything.jsonl
  recollect export --app support --user ada --output ada.jsonl")]
pub struct ExportArgs {
    /// Export this thread alone.
    #[arg(long, value_name = "ID")]
    pub thread: Option<String>,
    /// Export the threads of this app alone.
    #[arg(long)]
    pub app: Option<String>,
    /// Export the threads of this user alone.
    #[arg(long)]
    pub user: Option<String>,
    /// Write to this file instead of standard output.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// The server.
    #[command(flatten)]
    pub client: ClientArgs,
}

/// Which conversation.
#[derive(Debug, Clone, Args)]
pub struct ThreadChoice {
    /// The thread's id.
    #[arg(long, value_name = "ID", conflicts_with_all = ["user", "session"])]
    pub thread: Option<String>,
    /// The app.
    #[arg(long, default_value = "default")]
    pub app: String,
    /// The user.
    #[arg(long)]
    pub user: Option<String>,
    /// The session key of the conversation.
    #[arg(long, value_name = "KEY")]
    pub session: Option<String>,
}

/// `recollect recall`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  recollect recall --user conversation \"Where do they keep the spare key?\"
  recollect recall --thread 0197… --scope user --top-k 10 \"refund of order 1138\"
  recollect recall --user ada --method lexical --json \"invoice 4711\" | jq .messages

With --thread or --session the recent messages of that conversation are
returned too; with --user alone only what matches, and what stands beside it.")]
pub struct RecallArgs {
    /// What to look for.
    #[arg(value_name = "QUERY")]
    pub query: String,
    /// The conversation at hand.
    #[command(flatten)]
    pub choice: ThreadChoice,
    /// Whose messages may be found. [default: thread with --thread or
    /// --session, else user]
    #[arg(long, value_enum)]
    pub scope: Option<ScopeArg>,
    /// The number of best matches. [default: 5]
    #[arg(long, value_name = "N")]
    pub top_k: Option<i32>,
    /// The number of newest messages of the conversation. [default: 4]
    #[arg(long, value_name = "N")]
    pub recent: Option<i32>,
    /// Messages before each match. [default: 2]
    #[arg(long, value_name = "N")]
    pub before: Option<i32>,
    /// Messages after each match. [default: 1]
    #[arg(long, value_name = "N")]
    pub after: Option<i32>,
    /// The budget in tokens for everything returned. [default: none]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub max_tokens: i32,
    /// Drop matches whose score is lower, 0 to 1.
    #[arg(long, value_name = "SCORE")]
    pub min_score: Option<f32>,
    /// How messages are matched.
    #[arg(long, value_enum, default_value_t = MethodArg::Hybrid)]
    pub method: MethodArg,
    /// Also find messages on branches other than the active one.
    #[arg(long)]
    pub all_branches: bool,
    /// Also tell what was left out, and why.
    #[arg(long)]
    pub explain: bool,
    /// The server.
    #[command(flatten)]
    pub client: ClientArgs,
}

/// Whose messages may be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ScopeArg {
    /// The thread's.
    Thread,
    /// All threads of the user in the app.
    User,
    /// All threads of the app.
    App,
}

/// How messages are matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MethodArg {
    /// By meaning and by word.
    Hybrid,
    /// By meaning alone.
    Dense,
    /// By word alone.
    Lexical,
}

/// `recollect threads`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  recollect threads --app support --user ada --limit 20")]
pub struct ThreadsArgs {
    /// List the threads of this app alone.
    #[arg(long)]
    pub app: Option<String>,
    /// List the threads of this user alone.
    #[arg(long)]
    pub user: Option<String>,
    /// The most threads to list, the newest first.
    #[arg(long, default_value_t = 50, value_name = "N")]
    pub limit: usize,
    /// The server.
    #[command(flatten)]
    pub client: ClientArgs,
}

/// `recollect history`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  recollect history 0197b6a0-5f0e-7c3e-9a39-5d6c2e1f0a11
  recollect history --user conversation --session session:conversation/1 --max-tokens 500")]
pub struct HistoryArgs {
    /// The thread's id; or name the conversation with --app, --user, --session.
    #[arg(value_name = "THREAD_ID", conflicts_with_all = ["user", "session"])]
    pub thread: Option<String>,
    /// The app.
    #[arg(long, default_value = "default")]
    pub app: String,
    /// The user.
    #[arg(long, requires = "session")]
    pub user: Option<String>,
    /// The session key.
    #[arg(long, value_name = "KEY", required_unless_present = "thread")]
    pub session: Option<String>,
    /// Read back from this message instead of the newest one.
    #[arg(long, value_name = "MESSAGE_ID")]
    pub head: Option<String>,
    /// The budget in tokens.
    #[arg(long, default_value_t = 2000, value_name = "N")]
    pub max_tokens: i32,
    /// The most messages.
    #[arg(long, default_value_t = 100, value_name = "N")]
    pub limit: i32,
    /// The server.
    #[command(flatten)]
    pub client: ClientArgs,
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
  recollect demo --file examples/conversation.json --ask \"What did they name the boat?\"

The server, its database and its index are gone when the demo ends.")]
pub struct DemoArgs {
    /// The conversation, in the LoCoMo format. [default: a real one from
    /// ../shared/data where there is one, else examples/conversation.json]
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Ask this instead of the file's own questions; may be repeated.
    #[arg(long, value_name = "QUESTION")]
    pub ask: Vec<String>,
    /// The directory with Postgres's programs, where it is not found by itself.
    #[arg(long, env = "RECOLLECT_POSTGRES_BIN", value_name = "DIR")]
    pub postgres_bin: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
