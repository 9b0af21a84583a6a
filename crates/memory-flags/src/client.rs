//! Flags of the commands that talk to a server.

use std::path::PathBuf;

use clap::{Args, ValueEnum, value_parser};
use memory_contract::message::Provider;
use memory_contract::proto::{AppRef, Target, ThreadRef, UserRef};
use memory_import::System;

use crate::object::parse_object;
use crate::target::{ClientArgs, Named, ServerArgs, thread_of};
use crate::times::SaidArgs;

/// The largest budget that the contract allows.
pub(super) const MOST_TOKENS: i64 = 10_000_000;

/// `recollect import`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Formats:
  jsonl
      one JSON object a line: what `recollect export` writes, or simple lines such as
      {\"role\": \"user\", \"name\": \"Ada\", \"text\": \"Hello!\",
      \"created_at\": \"2025-03-01T09:00:00Z\", \"session_key\": \"42\"}
  chatgpt, claude, slack, openmemory
      what the product exports: the zip archive, the folder that it unpacks to, or a file
      in it (conversations.json, general/2025-03-01.json, memories.json)
  langchain
      a list of messages, as messages_to_dict or dumpd write them, or a list of objects
      with such a list in `messages`
  n8n
      rows of n8n_chat_histories, as JSON, JSON Lines or CSV with a header, whose
      separator may be a comma, a semicolon or a tab
  mem0, zep, redis
      what another memory system holds, as JSON of its API, in one document or one a line
  openai-chat, openai-responses, anthropic-messages, gemini
      a conversation as the provider's API takes or returns it: a request, a response or a
      list of messages, in a file of its own, one a line or several in a list, such as
      {\"messages\": [{\"role\": \"user\", \"content\": \"Hello!\"}, …]}

Examples:
  recollect import examples/conversation.jsonl
  recollect import chatgpt-export.zip --user ada --dry-run
  recollect import chats/*.jsonl --from openai-chat --app support --user ada
  recollect export | recollect import - --addr http://other:50051
  recollect import --from zep zep.jsonl --dry-run

docs/migrating.md says how to export from each product, and what becomes of it.

After storing, the command waits until recall finds everything, 10 minutes at most.
Importing a file again stores nothing twice, so run an interrupted import again to
finish it. Exit code 1: a part was rejected, or the file holds nothing to import.

An export includes app policies, registered files, threads with their messages, node
memories, plans, attempts, events and checkpoints, long-term memories and documents. A
policy, file, plan, checkpoint or document that exists with other content is kept and
reported, unless --replace is given. An existing thread keeps its title, metadata and
policy, and an existing long-term memory stays as it is. Sources of a memory that are
missing here are omitted and counted. At the end the threads are read back and compared
with the file.")]
pub struct ImportArgs {
    /// Files, folders and zip archives to read; `-` is standard input.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// The format of the files.
    #[arg(
        long = "from",
        visible_alias = "format",
        value_name = "FORMAT",
        value_enum,
        default_value_t = Format::Auto
    )]
    pub format: Format,
    /// The app of conversations that name none.
    #[arg(long, default_value = "default")]
    pub app: String,
    /// The user of conversations and memories that name none. [default: the file's name
    /// without its ending for jsonl, langchain and providers' formats; none for exports of
    /// other products, and where the session key says whose conversation it is]
    #[arg(long)]
    pub user: Option<String>,
    /// The session key of conversations that name none. [default: `session:`
    /// and the file's name without its ending]
    #[arg(long)]
    pub session: Option<String>,
    /// Store messages as new ones, without their external ids, even if they were imported
    /// or exported before.
    #[arg(long)]
    pub again: bool,
    /// Replace existing app policies, files, plans, checkpoints and documents that have
    /// other content.
    #[arg(long)]
    pub replace: bool,
    /// Do not compare the stored threads with the export.
    #[arg(long)]
    pub no_check: bool,
    /// Do not wait until the messages can be searched.
    #[arg(long)]
    pub no_wait: bool,
    /// Read the files and show what they hold; contact no server.
    #[arg(long, conflicts_with = "again")]
    pub dry_run: bool,
    /// Print one JSON object a file instead of a table: `file`, `threads`,
    /// `stored`, `known`, `app_policies`, `files`, `node_turns`, `plans`, `attempts`,
    /// `events`, `checkpoints`, `memories`, `documents`, `working_memories`, `merged`,
    /// `left_out`, `dry_run`, `missing_sources`, `refused`, `checked`, `checksum`,
    /// `searchable`, `errors`, `ms`.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub server: ServerArgs,
}

/// The format of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Detected from the content; zep and redis have to be named.
    Auto,
    /// One message a line, or what `recollect export` writes.
    Jsonl,
    /// ChatGPT's data export.
    Chatgpt,
    /// Claude's data export.
    Claude,
    /// The export of a Slack workspace.
    Slack,
    /// Messages of LangChain.
    Langchain,
    /// Rows of n8n's chat memory in Postgres.
    N8n,
    /// OpenAI's chat completions.
    #[value(alias = "openai")]
    OpenaiChat,
    /// OpenAI's responses.
    OpenaiResponses,
    /// Anthropic's messages.
    #[value(alias = "anthropic")]
    AnthropicMessages,
    /// Gemini's generateContent.
    Gemini,
    /// Memories of mem0.
    Mem0,
    /// The backup of OpenMemory.
    Openmemory,
    /// Threads and facts of Zep.
    Zep,
    /// Working memories and records of Redis's agent memory server.
    Redis,
}

impl From<Format> for memory_import::Format {
    fn from(format: Format) -> Self {
        match format {
            Format::Auto => Self::Auto,
            Format::Jsonl => Self::Jsonl,
            Format::Chatgpt => Self::System(System::Chatgpt),
            Format::Claude => Self::System(System::Claude),
            Format::Slack => Self::System(System::Slack),
            Format::Langchain => Self::System(System::Langchain),
            Format::N8n => Self::System(System::N8n),
            Format::OpenaiChat => Self::Provider(Provider::OpenaiChat),
            Format::OpenaiResponses => Self::Provider(Provider::OpenaiResponses),
            Format::AnthropicMessages => Self::Provider(Provider::AnthropicMessages),
            Format::Gemini => Self::Provider(Provider::Gemini),
            Format::Mem0 => Self::System(System::Mem0),
            Format::Openmemory => Self::System(System::Openmemory),
            Format::Zep => Self::System(System::Zep),
            Format::Redis => Self::System(System::Redis),
        }
    }
}

/// `recollect export`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  recollect export > everything.jsonl
  recollect export --output everything.jsonl --resume
  recollect export --app support --user ada --output ada.jsonl

One record a line: app policies, registered files, then each thread with its messages,
node memories, plan, attempts, events and checkpoints, then long-term memories, then
documents. The last line has the counts and a checksum of the content, which is the same
after an import elsewhere. Not exported: API keys, secrets, ephemeral threads, the
ledger, and what is derived from messages (summaries, observations, working memories).
--thread, --session, --app and --user limit the files to those that the messages refer
to; --thread and --session omit long-term memories and documents.

With --output the file is FILE.part until it is complete; --resume continues after its
last thread, for the same selection and server. Only its owner may read it. Exit code
1: the memory of a node cannot be read and is missing.")]
pub struct ExportArgs {
    /// Export only this thread.
    #[arg(long, value_name = "ID", conflicts_with_all = ["app", "user", "session"])]
    pub thread: Option<String>,
    /// Export only the threads, memories and documents of this app.
    #[arg(long)]
    pub app: Option<String>,
    /// Export only the threads, memories and documents of this user of the app.
    #[arg(long, requires = "app")]
    pub user: Option<String>,
    /// Export only the thread with this session key of the app and user.
    #[arg(long, value_name = "KEY", requires = "app")]
    pub session: Option<String>,
    /// Write to this file instead of standard output.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Continue FILE.part, which the same command left when it was interrupted.
    #[arg(long, requires = "output")]
    pub resume: bool,
    #[command(flatten)]
    pub server: ServerArgs,
}

impl ExportArgs {
    /// What to export; `None` for everything.
    pub fn target(&self) -> Option<Target> {
        let (app, user) = (self.app.clone(), self.user.clone());
        let thread = thread_of(
            self.thread.clone(),
            app.clone().unwrap_or_default(),
            user.clone(),
            self.session.clone(),
        );
        thread.map(Target::from).or_else(|| app_or_user(app, user))
    }
}

/// A conversation, or a user's conversations.
#[derive(Debug, Clone, Args)]
pub struct ThreadChoice {
    /// The thread's id.
    #[arg(long, value_name = "ID", conflicts_with_all = ["user", "session"])]
    pub thread: Option<String>,
    /// The app of the conversation or the user.
    #[arg(long, default_value = "default")]
    pub app: String,
    /// The user; without --session, all of the user's conversations.
    #[arg(long)]
    pub user: Option<String>,
    /// The session key of the conversation.
    #[arg(long, value_name = "KEY")]
    pub session: Option<String>,
}

impl ThreadChoice {
    /// The thread as a request names it; `None` without a thread and a session.
    pub fn thread(self) -> Option<ThreadRef> {
        thread_of(self.thread, self.app, self.user, self.session)
    }
}

/// `recollect recall`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  recollect recall --user conversation \"Where do they keep the spare key?\"
  recollect recall --thread 0197… --scope thread --top-k 10 \"refund of order 1138\"
  recollect recall --user ada --method lexical --json \"invoice 4711\" | jq .messages
  recollect recall --user ada --start 2026-03-01 --end 2026-03-08

With --thread or --session the recent messages of that conversation are returned too;
with --user alone, only matches and their neighbors. Without QUERY the newest messages from
--start to --end match, and only they are returned.")]
pub struct RecallArgs {
    /// The text to search for; not required with --start or --end.
    #[arg(value_name = "QUERY", required_unless_present_any = ["start", "end"])]
    pub query: Option<String>,
    #[command(flatten)]
    pub choice: ThreadChoice,
    /// The conversations to search. [default: as the policy says, which is those of the
    /// user unless it is set]
    #[arg(long, value_enum)]
    pub scope: Option<ScopeArg>,
    /// The number of best matches. [default: 5; without QUERY 100]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = value_parser!(i32).range(0..=100))]
    pub top_k: Option<i32>,
    /// The number of newest messages of the conversation. [default: 4; without QUERY 0]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = value_parser!(i32).range(0..=500))]
    pub recent: Option<i32>,
    /// Messages before each match. [default: 2; without QUERY 0]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = value_parser!(i32).range(0..=20))]
    pub before: Option<i32>,
    /// Messages after each match. [default: 1; without QUERY 0]
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
    #[command(flatten)]
    pub said: SaidArgs,
    /// Also show which candidates were omitted, and why.
    #[arg(long)]
    pub explain: bool,
    #[command(flatten)]
    pub client: ClientArgs,
}

/// The conversations to search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ScopeArg {
    /// The current conversation.
    Thread,
    /// All threads of the user in the app.
    User,
    /// All threads of the app.
    App,
    /// All threads of the user in the apps of the app's memory space.
    Space,
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
    /// List only the threads of this app.
    #[arg(long)]
    pub app: Option<String>,
    /// List only the threads of this user of the app.
    #[arg(long, requires = "app")]
    pub user: Option<String>,
    /// List only the threads whose metadata has these values, such as
    /// `{"team": "blue"}`.
    #[arg(long, value_name = "JSON", value_parser = parse_object)]
    pub metadata: Option<String>,
    /// The order: `create_time` or `update_time`, with ` desc` for the newest first.
    #[arg(long, value_name = "FIELD", default_value = "create_time desc")]
    pub order_by: String,
    /// List at most N threads.
    #[arg(long, default_value_t = 50, value_name = "N", allow_negative_numbers = true, value_parser = value_parser!(u32).range(1..))]
    pub limit: u32,
    #[command(flatten)]
    pub client: ClientArgs,
}

/// `recollect users`.
#[derive(Debug, Clone, Args)]
pub struct UsersArgs {
    /// The app of the users.
    #[arg(long, default_value = "default")]
    pub app: String,
    /// List at most N users.
    #[arg(long, default_value_t = 50, value_name = "N", allow_negative_numbers = true, value_parser = value_parser!(u32).range(1..))]
    pub limit: u32,
    #[command(flatten)]
    pub client: ClientArgs,
}

/// `recollect apps`.
#[derive(Debug, Clone, Args)]
pub struct AppsArgs {
    /// List at most N apps.
    #[arg(long, default_value_t = 50, value_name = "N", allow_negative_numbers = true, value_parser = value_parser!(u32).range(1..))]
    pub limit: u32,
    #[command(flatten)]
    pub client: ClientArgs,
}

impl ThreadsArgs {
    /// Which threads to list; `None` for all.
    pub fn target(&self) -> Option<Target> {
        app_or_user(self.app.clone(), self.user.clone())
    }
}

/// An app or one of its users, as a request names it.
fn app_or_user(app: Option<String>, user: Option<String>) -> Option<Target> {
    app.map(|app_id| match user {
        Some(user_id) => UserRef { app_id, user_id }.into(),
        None => AppRef { app_id }.into(),
    })
}

/// `recollect history`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  recollect history 0197b6a0-5f0e-7c3e-9a39-5d6c2e1f0a11
  recollect history --user conversation --session session:conversation/1 --max-tokens 500")]
pub struct HistoryArgs {
    #[command(flatten)]
    pub named: Named,
    /// Read back from this message, by its id or external id, instead of the head.
    #[arg(long, value_name = "MESSAGE_ID")]
    pub head: Option<String>,
    /// The budget in tokens.
    #[arg(long, default_value_t = 2000, value_name = "N", allow_negative_numbers = true, value_parser = value_parser!(i32).range(0..=MOST_TOKENS))]
    pub max_tokens: i32,
    /// Show at most N messages.
    #[arg(long, default_value_t = 100, value_name = "N", allow_negative_numbers = true, value_parser = value_parser!(i32).range(1..))]
    pub limit: i32,
    #[command(flatten)]
    pub client: ClientArgs,
}

/// `recollect watch`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  recollect watch 0197b6a0-5f0e-7c3e-9a39-5d6c2e1f0a11
  recollect watch --user ada --session 42 --json --content

Each line has the time, the action, the number of items, the actor and the subject. It
ends when the conversation is deleted, or with Ctrl-C.")]
pub struct WatchArgs {
    #[command(flatten)]
    pub named: Named,
    /// With --json, print the content of new messages, summaries, observations and
    /// extracted memories too.
    #[arg(long, requires = "json")]
    pub content: bool,
    /// Start after this cursor, which --json prints.
    #[arg(long)]
    pub cursor: Option<String>,
    #[command(flatten)]
    pub client: ClientArgs,
}

fn score(text: &str) -> Result<f32, String> {
    match text.parse() {
        Ok(score @ 0.0..=1.0) => Ok(score),
        _ => Err("it must be a number from 0 to 1".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_format_has_the_name_that_errors_give_it() {
        let named = Format::value_variants().iter().skip(1).map(|format| {
            let name = format.to_possible_value().unwrap();
            (name.get_name().to_owned(), (*format).into())
        });
        let named: Vec<(String, memory_import::Format)> = named.collect();
        let expected = memory_import::Format::NAMED.map(|(name, format)| (name.to_owned(), format));
        assert_eq!(named, expected);
    }
}
