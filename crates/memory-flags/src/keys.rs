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

These commands use the database of database.url or DATABASE_URL, as `recollect migrate`
does; no server has to run. A server accepts the database's keys if auth.database is
set or auth.keys is not empty.")]
pub struct KeysArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: KeysCommand,
}

/// The commands for keys.
#[derive(Debug, Clone, Subcommand)]
pub enum KeysCommand {
    /// Create a key and print it, this once.
    Create(CreateKeyArgs),
    /// List a tenant's keys, the newest first.
    List(ListKeysArgs),
    /// Revoke a key; every server rejects it within 5 seconds.
    Revoke(KeyNameArgs),
}

/// `recollect keys create`.
#[derive(Debug, Clone, Args)]
pub struct CreateKeyArgs {
    #[command(flatten)]
    pub key: KeyNameArgs,
    /// A scope; may be repeated. [default: read, write, delete]
    #[arg(long = "scope", value_name = "SCOPE", value_enum)]
    pub scopes: Vec<KeyScopeArg>,
    /// An app that it reaches; may be repeated. [default: all apps]
    #[arg(long = "app", value_name = "APP")]
    pub apps: Vec<String>,
    /// A beginning of the ids of apps that it reaches; may be repeated.
    #[arg(long = "app-prefix", value_name = "PREFIX")]
    pub app_prefixes: Vec<String>,
    /// A user that it reaches; may be repeated. [default: all users]
    #[arg(long = "user", value_name = "USER")]
    pub users: Vec<String>,
    /// A beginning of the ids of users that it reaches; may be repeated.
    #[arg(long = "user-prefix", value_name = "PREFIX")]
    pub user_prefixes: Vec<String>,
    /// Its lifetime, such as `90d`. [default: no end]
    #[arg(long, value_name = "DURATION", value_parser = memory_contract::duration_text::parse_duration)]
    pub expires_in: Option<Duration>,
}

/// Scopes of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum KeyScopeArg {
    /// Read data.
    Read,
    /// Add and change data.
    Write,
    /// Delete data.
    Delete,
    /// All of these, and manage keys and secrets, read the audit log and compare indexes.
    Admin,
}

/// `recollect keys list`.
#[derive(Debug, Clone, Args)]
pub struct ListKeysArgs {
    /// The tenant of the keys.
    #[arg(long)]
    pub tenant: String,
    /// Print one JSON object a key.
    #[arg(long)]
    pub json: bool,
}

/// A key.
#[derive(Debug, Clone, Args)]
pub struct KeyNameArgs {
    /// The tenant of the key.
    #[arg(long)]
    pub tenant: String,
    /// The key's name, unique within the tenant.
    #[arg(long)]
    pub name: String,
    /// Print JSON instead of text.
    #[arg(long)]
    pub json: bool,
}
