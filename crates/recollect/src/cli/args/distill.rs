//! Flags of the commands that show what was derived from a conversation.

use clap::Args;
use memory_contract::proto::SessionRef;

use super::ClientArgs;

/// A conversation, by its thread or by the caller's names.
#[derive(Debug, Clone, Args)]
pub struct Named {
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
}

impl Named {
    /// The fields `thread_id` and `session` of a request.
    pub fn fields(self) -> (String, Option<SessionRef>) {
        let session = self.session.map(|session_key| SessionRef {
            app_id: self.app,
            user_id: self.user.unwrap_or_default(),
            session_key,
            agent_session_key: String::new(),
        });
        (self.thread.unwrap_or_default(), session)
    }
}

/// `recollect observations`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  recollect observations 0197b6a0-5f0e-7c3e-9a39-5d6c2e1f0a11
  recollect observations --app agent --session run:7 --replaced")]
pub struct ObservationsArgs {
    /// The conversation.
    #[command(flatten)]
    pub named: Named,
    /// Read back from this message instead of the newest one.
    #[arg(long, value_name = "MESSAGE_ID")]
    pub head: Option<String>,
    /// Also show the observations that a reflection stands for.
    #[arg(long)]
    pub replaced: bool,
    /// The server.
    #[command(flatten)]
    pub client: ClientArgs,
}

/// `recollect summary`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  recollect summary 0197b6a0-5f0e-7c3e-9a39-5d6c2e1f0a11")]
pub struct SummaryArgs {
    /// The conversation.
    #[command(flatten)]
    pub named: Named,
    /// Read back from this message instead of the newest one.
    #[arg(long, value_name = "MESSAGE_ID")]
    pub head: Option<String>,
    /// The server.
    #[command(flatten)]
    pub client: ClientArgs,
}

/// `recollect working-memory`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  recollect working-memory 0197b6a0-5f0e-7c3e-9a39-5d6c2e1f0a11
  recollect working-memory --app support --user ada --session thread:42 --model gpt-4o")]
pub struct WorkingMemoryArgs {
    /// The conversation.
    #[command(flatten)]
    pub named: Named,
    /// The model that will read it, whose window counts from now on.
    #[arg(long)]
    pub model: Option<String>,
    /// The server.
    #[command(flatten)]
    pub client: ClientArgs,
}

/// `recollect verify`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Example:
  recollect verify 0197b6a0-5f0e-7c3e-9a39-5d6c2e1f0a11

Exit code 1: the ledger has a fault.")]
pub struct VerifyArgs {
    /// The conversation.
    #[command(flatten)]
    pub named: Named,
    /// The server.
    #[command(flatten)]
    pub client: ClientArgs,
}

/// `recollect usage`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  recollect usage
  recollect usage --days 7 --json")]
pub struct UsageArgs {
    /// Days up to today (UTC).
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(i32).range(1..=366))]
    pub days: i32,
    /// The server.
    #[command(flatten)]
    pub client: ClientArgs,
}
