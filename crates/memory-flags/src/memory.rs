//! Flags of `recollect memory`.

use std::time::Duration;

use clap::{Args, Subcommand, value_parser};
use memory_contract::duration_text::{format_duration, parse_duration};
use memory_contract::limits;
use memory_contract::proto::UserRef;

use crate::object::parse_object;
use crate::target::{ClientArgs, Named};
use crate::times::TimesArgs;

/// `recollect memory`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  recollect memory add --user ada \"Lives in Oslo\" --topic home
  recollect memory add --user ada \"Cannot have nuts\" --kind allergy --attributes '{\"substance\": \"nuts\"}'
  recollect memory search --user ada \"Where does she live?\"
  recollect memory profile --user ada
  recollect memory extract --user ada --session 42
  recollect memory list --user ada --superseded
  recollect memory list --user ada --as-of 2026-03-01 --known-at 2026-05-01T12:00:00Z
  recollect memory list --user ada --metadata '{\"team\": \"blue\"}'
  recollect memory delete --all-users --max-inactivity 180d --dry-run

Without --user the commands use the memories that belong to the app and to no user.")]
pub struct MemoryArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: MemoryCommand,
}

/// The commands for memories.
#[derive(Debug, Clone, Subcommand)]
pub enum MemoryCommand {
    /// List memories, the newest first.
    List(ListMemoriesArgs),
    /// Search memories by meaning and by word.
    Search(SearchMemoriesArgs),
    /// Show what is known of the user, on one page.
    Profile(ProfileArgs),
    /// Show a memory, its sources and the memories that it superseded.
    Show(MemoryIdArgs),
    /// Store a memory.
    Add(AddMemoryArgs),
    /// Extract memories from a conversation now.
    Extract(ExtractMemoriesArgs),
    /// Protect a memory from deletion by age, inactivity or number.
    Pin(PinMemoryArgs),
    /// Delete memories by age, by inactivity or by number.
    Delete(DeleteMemoriesArgs),
}

/// The owner of memories.
#[derive(Debug, Clone, Args)]
pub struct OwnerArgs {
    /// The app of the memories.
    #[arg(long, default_value = "default")]
    pub app: String,
    /// The user of the memories. [default: none; memories of the app]
    #[arg(long, default_value = "", hide_default_value = true)]
    pub user: String,
}

impl OwnerArgs {
    /// The user of the app.
    pub fn user_ref(&self) -> UserRef {
        UserRef {
            app_id: self.app.clone(),
            user_id: self.user.clone(),
        }
    }
}

/// `recollect memory list`.
#[derive(Debug, Clone, Args)]
pub struct ListMemoriesArgs {
    #[command(flatten)]
    pub owner: OwnerArgs,
    /// Only memories with this topic; repeated, with any of them.
    #[arg(long = "topic", value_name = "TOPIC")]
    pub topics: Vec<String>,
    /// Only memories of this kind of the app's policy; repeated, of any of them.
    #[arg(long = "kind", value_name = "KIND")]
    pub kinds: Vec<String>,
    /// Only memories whose metadata has these values, such as `{"team": "blue"}`.
    #[arg(long, value_name = "JSON", value_parser = parse_object)]
    pub metadata: Option<String>,
    /// Include superseded memories.
    #[arg(long)]
    pub superseded: bool,
    #[command(flatten)]
    pub times: TimesArgs,
    /// List at most N memories.
    #[arg(long, default_value_t = 50, value_name = "N", allow_negative_numbers = true, value_parser = value_parser!(u32).range(1..))]
    pub limit: u32,
    #[command(flatten)]
    pub client: ClientArgs,
}

/// `recollect memory search`.
#[derive(Debug, Clone, Args)]
pub struct SearchMemoriesArgs {
    /// The text to search for.
    #[arg(value_name = "QUERY")]
    pub query: String,
    #[command(flatten)]
    pub owner: OwnerArgs,
    /// The number of best matches.
    #[arg(long, default_value_t = 10, value_name = "N", allow_negative_numbers = true, value_parser = value_parser!(i32).range(1..=100))]
    pub top_k: i32,
    /// Only memories of this kind of the app's policy; repeated, of any of them.
    #[arg(long = "kind", value_name = "KIND")]
    pub kinds: Vec<String>,
    /// Only memories whose metadata has these values, such as `{"team": "blue"}`.
    #[arg(long, value_name = "JSON", value_parser = parse_object)]
    pub metadata: Option<String>,
    /// Include superseded memories.
    #[arg(long)]
    pub superseded: bool,
    #[command(flatten)]
    pub times: TimesArgs,
    #[command(flatten)]
    pub client: ClientArgs,
}

/// `recollect memory profile`.
#[derive(Debug, Clone, Args)]
pub struct ProfileArgs {
    #[command(flatten)]
    pub owner: OwnerArgs,
    /// The largest size of the page. [default: the policy's, or else 500]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = value_parser!(i32).range(1..=10_000))]
    pub max_tokens: Option<i32>,
    #[command(flatten)]
    pub times: TimesArgs,
    #[command(flatten)]
    pub client: ClientArgs,
}

/// `recollect memory show`.
#[derive(Debug, Clone, Args)]
pub struct MemoryIdArgs {
    /// The memory's id.
    #[arg(value_name = "MEMORY_ID")]
    pub memory: String,
    #[command(flatten)]
    pub client: ClientArgs,
}

/// `recollect memory add`.
#[derive(Debug, Clone, Args)]
pub struct AddMemoryArgs {
    /// The text of the memory.
    #[arg(value_name = "TEXT")]
    pub text: String,
    #[command(flatten)]
    pub owner: OwnerArgs,
    /// An id of your own; adding it again updates the memory.
    #[arg(long, value_name = "ID", default_value = "", hide_default_value = true)]
    pub external_id: String,
    /// A topic; may be repeated.
    #[arg(long = "topic", value_name = "TOPIC")]
    pub topics: Vec<String>,
    /// A named entity; may be repeated.
    #[arg(long = "entity", value_name = "NAME")]
    pub entities: Vec<String>,
    /// Its kind, one of memory_kinds in the app's policy.
    #[arg(
        long,
        value_name = "KIND",
        default_value = "",
        hide_default_value = true
    )]
    pub kind: String,
    /// The values of its kind, such as `{"substance": "nuts"}`.
    #[arg(long, value_name = "JSON", value_parser = parse_object, requires = "kind")]
    pub attributes: Option<String>,
    /// Your own data about it, such as `{"team": "blue"}`.
    #[arg(long, value_name = "JSON", value_parser = parse_object)]
    pub metadata: Option<String>,
    /// Protect it from deletion by age, inactivity or number.
    #[arg(long)]
    pub pin: bool,
    #[command(flatten)]
    pub client: ClientArgs,
}

/// `recollect memory extract`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  recollect memory extract 0197b6a0-5f0e-7c3e-9a39-5d6c2e1f0a11
  recollect memory extract --app support --user ada --session 42 --wait 30s

Without this command the background extracts once 1,000 tokens wait, or when the conversation
has been quiet for 5 seconds, unless the server sets another time. Nothing is extracted from
imported messages, nor where the policy's extraction is off.

The newest 50 memories that come from the conversation are shown. With --json the first line is the
state of the extraction, and the second the memories. The exit code is 0 also if it is not complete.")]
pub struct ExtractMemoriesArgs {
    #[command(flatten)]
    pub named: Named,
    /// The longest wait until all messages are read, `0s` to `30s`.
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = parse_wait)]
    pub wait: Duration,
    #[command(flatten)]
    pub client: ClientArgs,
}

/// `recollect memory pin`.
#[derive(Debug, Clone, Args)]
pub struct PinMemoryArgs {
    /// The memory's id.
    #[arg(value_name = "MEMORY_ID")]
    pub memory: String,
    /// Remove the protection.
    #[arg(long)]
    pub off: bool,
    #[command(flatten)]
    pub client: ClientArgs,
}

/// `recollect memory delete`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "A memory that exceeds any of the bounds is deleted; pinned memories stay.")]
pub struct DeleteMemoriesArgs {
    #[command(flatten)]
    pub owner: OwnerArgs,
    /// Apply to every user of the app.
    #[arg(long, conflicts_with = "user")]
    pub all_users: bool,
    /// Delete memories older than this, such as `365d`.
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, required_unless_present_any = ["max_inactivity", "max_count"])]
    pub max_age: Option<Duration>,
    /// Delete memories that no search or context has returned for longer than this, such
    /// as `180d`.
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub max_inactivity: Option<Duration>,
    /// Keep at most N memories for each user, the most recently used.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = value_parser!(i32).range(1..))]
    pub max_count: Option<i32>,
    /// Only print what would be deleted.
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub client: ClientArgs,
}

fn parse_wait(text: &str) -> Result<Duration, String> {
    match parse_duration(text) {
        Ok(wait) if wait <= limits::MAX_WAIT => Ok(wait),
        Ok(_) => Err(format!("at most {}", format_duration(limits::MAX_WAIT))),
        Err(error) => Err(error.to_string()),
    }
}
