//! Flags of `recollect context`.

use clap::{Args, ValueEnum, value_parser};

use crate::client::{MOST_TOKENS, ThreadChoice};
use crate::target::ClientArgs;
use crate::times::{SaidArgs, TimesArgs};

/// `recollect context`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  recollect context --user ada --session 42 \"What is my dog called?\"
  recollect context --thread 0197… --mode window --max-tokens 1000 \"And now?\"
  recollect context --thread 0197… --text \"And now?\"
  recollect context --thread 0197… --time-zone Europe/Berlin \"What did I say yesterday?\"
  recollect context --thread 0197… --known-at 2026-03-01 \"Where do I live?\"
  recollect context --thread 0197… --json \"And now?\" | jq -r '.rendered[0].body'

Nothing is stored. --start and --end select matches; recent messages stay. --as-of and
--known-at select the memories, those of the profile included.")]
pub struct ContextArgs {
    /// The user's new message. [default: none; the newest message is stored already]
    #[arg(value_name = "INPUT", default_value = "", hide_default_value = true)]
    pub input: String,
    #[command(flatten)]
    pub choice: ThreadChoice,
    /// The memory mode. [default: that of the policy]
    #[arg(long, value_enum)]
    pub mode: Option<ModeArg>,
    /// The system prompt.
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true
    )]
    pub system: String,
    /// The token budget of the whole context. [default: as the policy says]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = value_parser!(i32).range(1..=MOST_TOKENS))]
    pub max_tokens: Option<i32>,
    /// The model whose tokenizer counts.
    #[arg(
        long,
        value_name = "MODEL",
        default_value = "",
        hide_default_value = true
    )]
    pub model: String,
    #[command(flatten)]
    pub said: SaidArgs,
    #[command(flatten)]
    pub times: TimesArgs,
    /// Also show which candidates were left out, and why. With --json, also the policy in
    /// effect.
    #[arg(long)]
    pub explain: bool,
    /// Print the context as plain text, for a completion model.
    #[arg(long, conflicts_with = "json")]
    pub text: bool,
    #[command(flatten)]
    pub client: ClientArgs,
}

/// Memory modes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ModeArg {
    /// Nothing.
    None,
    /// The newest messages.
    Window,
    /// A few of the newest messages, and the best older matches.
    Hybrid,
    /// A summary of older turns, and the messages after it.
    Working,
    /// Observations of older steps, and the messages after them.
    Observational,
}
