//! Flags of `recollect plan`.

use clap::{Args, value_parser};

use crate::target::{ClientArgs, Named};

/// `recollect plan`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  recollect plan 0197b6a0-5f0e-7c3e-9a39-5d6c2e1f0a11
  recollect plan --app builder --user ada --session 42 --attempts 100
  recollect plan 0197… --json | jq .attempts

With --json the plan is one object, and the attempts are another.")]
pub struct PlanArgs {
    #[command(flatten)]
    pub named: Named,
    /// Show at most N attempts, the oldest first.
    #[arg(long, default_value_t = 50, value_name = "N", allow_negative_numbers = true, value_parser = value_parser!(u32).range(1..))]
    pub attempts: u32,
    /// Show only failed attempts.
    #[arg(long)]
    pub failed: bool,
    #[command(flatten)]
    pub client: ClientArgs,
}
