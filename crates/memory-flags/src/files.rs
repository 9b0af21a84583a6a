//! Flags of `recollect files`.

use std::path::PathBuf;

use clap::{Args, Subcommand, value_parser};
use memory_contract::proto::UserRef;

use crate::target::ClientArgs;

/// `recollect files`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  recollect files ls --user ada
  recollect files put --user ada /projects/garden.md garden.md
  recollect files cat --user ada /projects/garden.md
  recollect files log --user ada /projects/garden.md
  recollect files diff --user ada /projects/garden.md --from 1
  recollect files restore --user ada /projects/garden.md 1
  recollect files search --user ada \"When are tulips planted?\"

These are the text files that agents keep for a user. rm needs a key with the scope `delete`.")]
pub struct MemoryFilesArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: MemoryFilesCommand,
}

/// The commands for files of agents.
#[derive(Debug, Clone, Subcommand)]
pub enum MemoryFilesCommand {
    /// List what is in a directory.
    Ls(ListFilesArgs),
    /// Print a file.
    Cat(ShowFileArgs),
    /// Create a file or replace its text.
    Put(PutFileArgs),
    /// Delete a file, or a directory with all files in it.
    Rm(RemoveFileArgs),
    /// Give a file or a directory another path.
    Mv(MoveFileArgs),
    /// List the versions of a file, also of a deleted one.
    Log(FilePathArgs),
    /// Show what changed between two versions of a file.
    Diff(DiffFileArgs),
    /// Give a file the text of an earlier version, or bring a deleted file back.
    Restore(RestoreFileArgs),
    /// Search the texts by meaning and by word.
    Search(SearchFilesArgs),
}

/// The owner of files.
#[derive(Debug, Clone, Args)]
pub struct FileOwnerArgs {
    /// The app of the files.
    #[arg(long, default_value = "default")]
    pub app: String,
    /// The user of the files. [default: none; files of the app]
    #[arg(long, default_value = "", hide_default_value = true)]
    pub user: String,
}

impl FileOwnerArgs {
    /// The user of the app.
    pub fn user_ref(&self) -> UserRef {
        UserRef {
            app_id: self.app.clone(),
            user_id: self.user.clone(),
        }
    }
}

/// `recollect files ls`.
#[derive(Debug, Clone, Args)]
pub struct ListFilesArgs {
    #[command(flatten)]
    pub owner: FileOwnerArgs,
    /// The directory.
    #[arg(default_value = "/")]
    pub path: String,
    /// List N levels.
    #[arg(long, default_value_t = 15, value_name = "N", allow_negative_numbers = true, value_parser = value_parser!(i32).range(1..=15))]
    pub depth: i32,
    #[command(flatten)]
    pub client: ClientArgs,
}

/// `recollect files cat`.
#[derive(Debug, Clone, Args)]
pub struct ShowFileArgs {
    #[command(flatten)]
    pub owner: FileOwnerArgs,
    /// The path of the file.
    pub path: String,
    /// Print this version. [default: the current one]
    #[arg(
        long = "at",
        value_name = "N",
        default_value_t = 0,
        hide_default_value = true
    )]
    pub number: i64,
    #[command(flatten)]
    pub client: ClientArgs,
}

/// `recollect files put`.
#[derive(Debug, Clone, Args)]
pub struct PutFileArgs {
    #[command(flatten)]
    pub owner: FileOwnerArgs,
    /// The path of the file.
    pub path: String,
    /// Read the text from this file. [default: standard input]
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    #[command(flatten)]
    pub client: ClientArgs,
}

/// `recollect files rm`.
#[derive(Debug, Clone, Args)]
pub struct RemoveFileArgs {
    #[command(flatten)]
    pub owner: FileOwnerArgs,
    /// The path of a file or a directory.
    pub path: String,
    /// Also erase the versions, which are otherwise kept for 30 days.
    #[arg(long)]
    pub erase: bool,
    #[command(flatten)]
    pub client: ClientArgs,
}

/// `recollect files mv`.
#[derive(Debug, Clone, Args)]
pub struct MoveFileArgs {
    #[command(flatten)]
    pub owner: FileOwnerArgs,
    /// The path of a file or a directory.
    pub path: String,
    /// Its path from now on.
    pub new_path: String,
    #[command(flatten)]
    pub client: ClientArgs,
}

/// A command about one file.
#[derive(Debug, Clone, Args)]
pub struct FilePathArgs {
    #[command(flatten)]
    pub owner: FileOwnerArgs,
    /// The path of the file.
    pub path: String,
    #[command(flatten)]
    pub client: ClientArgs,
}

/// `recollect files diff`.
#[derive(Debug, Clone, Args)]
pub struct DiffFileArgs {
    #[command(flatten)]
    pub owner: FileOwnerArgs,
    /// The path of the file.
    pub path: String,
    /// The earlier version. [default: the one before --to]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub from: i64,
    /// The later version. [default: the newest]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub to: i64,
    #[command(flatten)]
    pub client: ClientArgs,
}

/// `recollect files restore`.
#[derive(Debug, Clone, Args)]
pub struct RestoreFileArgs {
    #[command(flatten)]
    pub owner: FileOwnerArgs,
    /// The path of the file.
    pub path: String,
    /// The version. [default: the newest, which brings a deleted file back]
    #[arg(value_name = "VERSION", default_value_t = 0, hide_default_value = true)]
    pub number: i64,
    #[command(flatten)]
    pub client: ClientArgs,
}

/// `recollect files search`.
#[derive(Debug, Clone, Args)]
pub struct SearchFilesArgs {
    #[command(flatten)]
    pub owner: FileOwnerArgs,
    /// The text to search for.
    pub query: String,
    /// The directory to search.
    #[arg(long, default_value = "/")]
    pub path: String,
    /// Show at most N files.
    #[arg(long, default_value_t = 10, value_name = "N", allow_negative_numbers = true, value_parser = value_parser!(i32).range(1..=100))]
    pub top_k: i32,
    #[command(flatten)]
    pub client: ClientArgs,
}
