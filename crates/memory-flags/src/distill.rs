//! Flags of the commands that show the derived text of a conversation.

use clap::Args;

use crate::target::{ClientArgs, Named};

/// `recollect observations`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  recollect observations 0197b6a0-5f0e-7c3e-9a39-5d6c2e1f0a11
  recollect observations --app agent --session run:7 --replaced")]
pub struct ObservationsArgs {
    #[command(flatten)]
    pub named: Named,
    /// Read back from this message instead of the head.
    #[arg(long, value_name = "MESSAGE_ID")]
    pub head: Option<String>,
    /// Also show the observations that a reflection replaced.
    #[arg(long)]
    pub replaced: bool,
    #[command(flatten)]
    pub client: ClientArgs,
}

/// `recollect summary`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  recollect summary 0197b6a0-5f0e-7c3e-9a39-5d6c2e1f0a11")]
pub struct SummaryArgs {
    #[command(flatten)]
    pub named: Named,
    /// Read back from this message instead of the head.
    #[arg(long, value_name = "MESSAGE_ID")]
    pub head: Option<String>,
    #[command(flatten)]
    pub client: ClientArgs,
}

/// `recollect working-memory`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  recollect working-memory 0197b6a0-5f0e-7c3e-9a39-5d6c2e1f0a11
  recollect working-memory --app support --user ada --session 42 --model gpt-4o")]
pub struct WorkingMemoryArgs {
    #[command(flatten)]
    pub named: Named,
    /// The model that reads it, whose window and tokenizer measure it; nothing is stored.
    #[arg(long)]
    pub model: Option<String>,
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
    #[command(flatten)]
    pub named: Named,
    #[command(flatten)]
    pub client: ClientArgs,
}

/// `recollect deletion`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Example:
  recollect deletion 6d0f6a52-9a0e-4c61-8a5e-2f7b7c3f1a10

Exit code 1: something is left, or the deletion has not finished.")]
pub struct DeletionArgs {
    /// The deletion_id that DeleteUser, DeleteApp or DeleteTenant returned.
    pub receipt: String,
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
    #[command(flatten)]
    pub client: ClientArgs,
}
