//! Flags of `recollect index`.

use clap::{Args, Subcommand, value_parser};

use crate::target::{ClientArgs, DataDirArgs};

/// `recollect index`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  recollect index list
  recollect index compare --app support
  recollect index compare --app support --user ada --query \"Where is the spare key?\"
  recollect index compare --app support --sample 100 --top-k 5 --json | jq .meanOverlap

  recollect index switch recollect.all-minilm-l6-v2-int8-r10
  recollect index retire recollect.multilingual-e5-small-int8-r10

While embedding_next is configured, a server fills a second index, with another embedding
model, beside the one that serves. Both receive every change, so each can serve, and the
switch can be taken back, until one of them is retired.")]
pub struct IndexArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: IndexCommand,
}

/// The commands for indexes.
#[derive(Debug, Clone, Subcommand)]
pub enum IndexCommand {
    /// List the indexes: which one serves, and how far the others are.
    List(ListIndexesArgs),
    /// Compare what the index that serves and the next one find.
    Compare(CompareIndexesArgs),
    /// Make another index the one that serves.
    Switch(SwitchIndexArgs),
    /// Remove an index that does not serve.
    Retire(RetireIndexArgs),
}

/// `recollect index list`.
#[derive(Debug, Clone, Args)]
pub struct ListIndexesArgs {
    #[command(flatten)]
    pub data: DataDirArgs,
    /// Print one JSON object an index.
    #[arg(long)]
    pub json: bool,
}

/// `recollect index switch`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
All servers search it within a second or two. The index that served until now goes on
receiving every change; switch to it to go back.")]
pub struct SwitchIndexArgs {
    /// The index, as `recollect index list` names it.
    pub collection: String,
    /// Switch also to an index that is incomplete.
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub data: DataDirArgs,
}

/// `recollect index retire`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
It receives no more changes, and a worker removes it with all its points some seconds later.")]
pub struct RetireIndexArgs {
    /// The index, as `recollect index list` names it.
    pub collection: String,
    #[command(flatten)]
    pub data: DataDirArgs,
}

/// `recollect index compare`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Both indexes are searched with each query. The overlap is the share of the matches that both
have. This needs a key with the scope admin, and a server with embedding_next.")]
pub struct CompareIndexesArgs {
    /// The app whose messages are searched.
    #[arg(long, default_value = "default")]
    pub app: String,
    /// Search only the messages of this user. [default: of all users of the app]
    #[arg(long, default_value = "", hide_default_value = true)]
    pub user: String,
    /// Search for this text; may be repeated, up to 100 times. [default: stored questions]
    #[arg(long = "query", value_name = "TEXT")]
    pub queries: Vec<String>,
    /// Without --query, the number of stored questions to search for: the newest messages
    /// of users that end in a question mark.
    #[arg(long, value_name = "N", conflicts_with = "queries", default_value_t = 20, allow_negative_numbers = true, value_parser = value_parser!(i32).range(1..=100))]
    pub sample: i32,
    /// The number of best matches of each query to compare.
    #[arg(long, value_name = "N", default_value_t = 10, allow_negative_numbers = true, value_parser = value_parser!(i32).range(1..=100))]
    pub top_k: i32,
    #[command(flatten)]
    pub client: ClientArgs,
}
