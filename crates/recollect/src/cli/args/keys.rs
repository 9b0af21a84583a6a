//! Flags of `recollect keys`.

use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};

/// `recollect keys`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  recollect keys create --tenant acme --name backend --scope admin
  recollect keys create --tenant acme --name reports --scope read --expires-in 90d --json | jq -r .secret
  recollect keys revoke --tenant acme --name reports

They work on the database that database.url or DATABASE_URL names, as `recollect
migrate` does; no server has to run. A server asks for the database's keys where
auth.database is set or auth.keys has some.")]
pub struct KeysArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: KeysCommand,
}

/// What can be done with keys.
#[derive(Debug, Clone, Subcommand)]
pub enum KeysCommand {
    /// Make a key and show it, this once.
    Create(CreateKeyArgs),
    /// List a tenant's keys, the newest first.
    List(ListKeysArgs),
    /// End a key; every server refuses it within 5 seconds.
    Revoke(KeyNameArgs),
}

/// `recollect keys create`.
#[derive(Debug, Clone, Args)]
pub struct CreateKeyArgs {
    /// Which key.
    #[command(flatten)]
    pub key: KeyNameArgs,
    /// What it may do; repeat it for more. [default: read, write, erase]
    #[arg(long = "scope", value_name = "SCOPE", value_enum)]
    pub scopes: Vec<KeyScopeArg>,
    /// How long it works, such as `90d`. [default: for good]
    #[arg(long, value_name = "DURATION", value_parser = memory_contract::duration_text::parse_duration)]
    pub expires_in: Option<Duration>,
}

/// What a key may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum KeyScopeArg {
    /// Read.
    Read,
    /// Add and change.
    Write,
    /// Erase.
    Erase,
    /// All of these, manage keys and secrets, and see who did what.
    Admin,
}

/// `recollect keys list`.
#[derive(Debug, Clone, Args)]
pub struct ListKeysArgs {
    /// The tenant whose keys they are.
    #[arg(long)]
    pub tenant: String,
    /// Print one JSON object a key.
    #[arg(long)]
    pub json: bool,
}

/// Which key.
#[derive(Debug, Clone, Args)]
pub struct KeyNameArgs {
    /// The tenant that the key stands for.
    #[arg(long)]
    pub tenant: String,
    /// The key's name, unique within the tenant.
    #[arg(long)]
    pub name: String,
    /// Print JSON instead of text.
    #[arg(long)]
    pub json: bool,
}
