//! Flags of `recollect memory`.

use std::time::Duration;

use clap::{Args, Subcommand, value_parser};

use super::ClientArgs;

/// `recollect memory`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  recollect memory add --user ada \"Lives in Oslo\" --topic home
  recollect memory search --user ada \"Where does she live?\"
  recollect memory list --user ada --superseded
  recollect memory forget --all-users --max-inactivity 180d --dry-run

Without --user they are the memories that belong to the app and to no user.")]
pub struct MemoryArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: MemoryCommand,
}

/// What can be done with memories.
#[derive(Debug, Clone, Subcommand)]
pub enum MemoryCommand {
    /// List what is known, the one stored last first.
    List(ListMemoriesArgs),
    /// Find what is known by meaning and by word.
    Search(SearchMemoriesArgs),
    /// Show a memory, where it comes from and what it took the place of.
    Show(MemoryIdArgs),
    /// Store a memory.
    Add(AddMemoryArgs),
    /// Keep a memory from being forgotten.
    Pin(PinMemoryArgs),
    /// Erase memories by age, by time without use or by number.
    Forget(ForgetMemoriesArgs),
}

/// Whose memories.
#[derive(Debug, Clone, Args)]
pub struct OwnerArgs {
    /// The app.
    #[arg(long, default_value = "default")]
    pub app: String,
    /// The user. [default: none; what belongs to the app]
    #[arg(long, default_value = "", hide_default_value = true)]
    pub user: String,
}

/// `recollect memory list`.
#[derive(Debug, Clone, Args)]
pub struct ListMemoriesArgs {
    /// Whose.
    #[command(flatten)]
    pub owner: OwnerArgs,
    /// Keep those with this topic; repeat it for any of several.
    #[arg(long = "topic", value_name = "TOPIC")]
    pub topics: Vec<String>,
    /// Also those that a newer one has taken the place of.
    #[arg(long)]
    pub superseded: bool,
    /// The most memories to list.
    #[arg(long, default_value_t = 50, value_name = "N", allow_negative_numbers = true, value_parser = value_parser!(u32).range(1..))]
    pub limit: u32,
    /// The server.
    #[command(flatten)]
    pub client: ClientArgs,
}

/// `recollect memory search`.
#[derive(Debug, Clone, Args)]
pub struct SearchMemoriesArgs {
    /// What to look for.
    #[arg(value_name = "QUERY")]
    pub query: String,
    /// Whose.
    #[command(flatten)]
    pub owner: OwnerArgs,
    /// The number of best matches.
    #[arg(long, default_value_t = 10, value_name = "N", allow_negative_numbers = true, value_parser = value_parser!(i32).range(1..=100))]
    pub top_k: i32,
    /// Also those that a newer one has taken the place of.
    #[arg(long)]
    pub superseded: bool,
    /// The server.
    #[command(flatten)]
    pub client: ClientArgs,
}

/// `recollect memory show`.
#[derive(Debug, Clone, Args)]
pub struct MemoryIdArgs {
    /// The memory's id.
    #[arg(value_name = "MEMORY_ID")]
    pub memory: String,
    /// The server.
    #[command(flatten)]
    pub client: ClientArgs,
}

/// `recollect memory add`.
#[derive(Debug, Clone, Args)]
pub struct AddMemoryArgs {
    /// What is to be remembered.
    #[arg(value_name = "TEXT")]
    pub text: String,
    /// Whose.
    #[command(flatten)]
    pub owner: OwnerArgs,
    /// An id of your own: the same one again updates the memory.
    #[arg(long, value_name = "ID", default_value = "", hide_default_value = true)]
    pub record: String,
    /// What it is about; repeat it for more.
    #[arg(long = "topic", value_name = "TOPIC")]
    pub topics: Vec<String>,
    /// Whom or what it names; repeat it for more.
    #[arg(long = "entity", value_name = "NAME")]
    pub entities: Vec<String>,
    /// Keep it from being forgotten.
    #[arg(long)]
    pub pin: bool,
    /// The server.
    #[command(flatten)]
    pub client: ClientArgs,
}

/// `recollect memory pin`.
#[derive(Debug, Clone, Args)]
pub struct PinMemoryArgs {
    /// The memory's id.
    #[arg(value_name = "MEMORY_ID")]
    pub memory: String,
    /// Let it be forgotten again.
    #[arg(long)]
    pub off: bool,
    /// The server.
    #[command(flatten)]
    pub client: ClientArgs,
}

/// `recollect memory forget`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "A memory that any of the bounds names goes; pinned ones stay.")]
pub struct ForgetMemoriesArgs {
    /// Whose.
    #[command(flatten)]
    pub owner: OwnerArgs,
    /// Take every user of the app.
    #[arg(long, conflicts_with = "user")]
    pub all_users: bool,
    /// Forget what was stored longer ago, such as `365d`.
    #[arg(long, value_name = "DURATION", value_parser = memory_contract::duration_text::parse_duration, required_unless_present_any = ["max_inactivity", "max_count"])]
    pub max_age: Option<Duration>,
    /// Forget what nothing returned for longer, such as `180d`.
    #[arg(long, value_name = "DURATION", value_parser = memory_contract::duration_text::parse_duration)]
    pub max_inactivity: Option<Duration>,
    /// Keep so many for each user, those used last.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = value_parser!(i32).range(1..))]
    pub max_count: Option<i32>,
    /// Only tell what would be forgotten.
    #[arg(long)]
    pub dry_run: bool,
    /// The server.
    #[command(flatten)]
    pub client: ClientArgs,
}
