//! Flags of the commands that talk to a server.

use std::path::PathBuf;

use clap::{Args, ValueEnum, value_parser};

use super::{ClientArgs, ServerArgs};

/// The largest budget that the contract allows.
pub(super) const MOST_TOKENS: i64 = 10_000_000;

/// `recollect import`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Formats:
  jsonl   one JSON object a line: what `recollect export` writes, or simple lines
          such as {\"role\": \"user\", \"name\": \"Ada\", \"text\": \"Hello!\",
          \"created_at\": \"2025-03-01T09:00:00Z\", \"session_key\": \"thread:42\"}
  openai  {\"messages\": [{\"role\": \"user\", \"content\": \"Hello!\"}, …]}, in a file of its
          own or one a line

Examples:
  recollect import examples/conversation.jsonl
  recollect import chats/*.jsonl --format openai --app support --user ada
  recollect export | recollect import - --addr http://other:50051

When all is stored, the command waits until recall finds it, for 10 minutes at
most. Importing a file again stores nothing twice, so an import that broke off is
finished by running it again. Exit code 1: a part was refused.

An export is stored with the policies of apps, the registered files, the memories
of nodes, plans, logs of iterations and long-term memories. A policy, file or plan
that is there with other content is kept and told, unless --replace is given; a
thread that is there keeps its title, metadata and policy, and a long-term memory
stays as it is. Messages that prove one and are not there are left out and counted.
At the end the threads are read back and compared with the file.")]
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
    /// Put an export's policies of apps, files and plans in the place of those
    /// that are there with other content.
    #[arg(long)]
    pub replace: bool,
    /// Do not compare what is stored with what an export's file holds.
    #[arg(long)]
    pub no_check: bool,
    /// Do not wait until what was stored can be searched.
    #[arg(long)]
    pub no_wait: bool,
    /// Print one JSON object a file instead of a table: `file`, `threads`,
    /// `stored`, `known`, `app_policies`, `files`, `node_turns`, `refused`,
    /// `checked`, `checksum`, `searchable`, `errors`, `ms`.
    #[arg(long)]
    pub json: bool,
    /// The server.
    #[command(flatten)]
    pub server: ServerArgs,
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
}

/// `recollect export`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  recollect export > everything.jsonl
  recollect export --output everything.jsonl --resume
  recollect export --app support --user ada --output ada.jsonl

One record a line: the policies of apps, registered files, then each thread with
its messages, the memories of its nodes, its plan and its log of iterations, then
long-term memories; the last line has the counts and a checksum of the content,
which stays the same when it is imported elsewhere. API keys, secrets, ephemeral
threads and the ledger are not exported, nor what is made anew of the messages:
summaries, observations and working memories. With --thread, --app or --user only
files that the messages refer to, and with --thread no long-term memories.

With --output the file gets its name when it is complete; until then it is
FILE.part, and --resume goes on behind the last thread in it, for the same
selection and server. Only its owner may read it. Exit code 1: the
memory of a node cannot be read, and is missing.")]
pub struct ExportArgs {
    /// Export this thread alone.
    #[arg(long, value_name = "ID")]
    pub thread: Option<String>,
    /// Export the threads and memories of this app alone.
    #[arg(long)]
    pub app: Option<String>,
    /// Export the threads and memories of this user alone.
    #[arg(long)]
    pub user: Option<String>,
    /// Write to this file instead of standard output.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Go on with FILE.part, which the same command left when it broke off.
    #[arg(long, requires = "output")]
    pub resume: bool,
    /// The server.
    #[command(flatten)]
    pub server: ServerArgs,
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
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = value_parser!(i32).range(0..=100))]
    pub top_k: Option<i32>,
    /// The number of newest messages of the conversation. [default: 4]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = value_parser!(i32).range(0..=500))]
    pub recent: Option<i32>,
    /// Messages before each match. [default: 2]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = value_parser!(i32).range(0..=20))]
    pub before: Option<i32>,
    /// Messages after each match. [default: 1]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = value_parser!(i32).range(0..=20))]
    pub after: Option<i32>,
    /// The budget in tokens for everything returned. [default: none]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true, allow_negative_numbers = true, value_parser = value_parser!(i32).range(0..=MOST_TOKENS))]
    pub max_tokens: i32,
    /// Drop matches whose score is lower, 0 to 1.
    #[arg(long, value_name = "SCORE", allow_negative_numbers = true, value_parser = score)]
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
    #[arg(long, default_value_t = 50, value_name = "N", allow_negative_numbers = true, value_parser = value_parser!(u32).range(1..))]
    pub limit: u32,
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
    #[arg(long, default_value_t = 2000, value_name = "N", allow_negative_numbers = true, value_parser = value_parser!(i32).range(0..=MOST_TOKENS))]
    pub max_tokens: i32,
    /// The most messages.
    #[arg(long, default_value_t = 100, value_name = "N", allow_negative_numbers = true, value_parser = value_parser!(i32).range(1..))]
    pub limit: i32,
    /// The server.
    #[command(flatten)]
    pub client: ClientArgs,
}

/// `recollect watch`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  recollect watch 0197b6a0-5f0e-7c3e-9a39-5d6c2e1f0a11
  recollect watch --user ada --session thread:42 --json | jq -r .action

A line tells when, what was done, to how many things, who did it and to what
else. It ends when the conversation is deleted, or with Ctrl-C.")]
pub struct WatchArgs {
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
    /// Begin with what was done after this cursor, which --json prints.
    #[arg(long)]
    pub cursor: Option<String>,
    /// The server.
    #[command(flatten)]
    pub client: ClientArgs,
}

fn score(text: &str) -> Result<f32, String> {
    match text.parse() {
        Ok(score @ 0.0..=1.0) => Ok(score),
        _ => Err("it must be a number from 0 to 1".to_owned()),
    }
}
