//! Text files of agents, as documents of their users.

mod begin;
mod edit;
mod import;
mod read;
mod stored;
mod text;
mod tree;
mod turns;

pub use edit::ChangedFile;
pub use import::check_reserved;
pub use read::{ComparedVersions, FoundPath, ListedFile};
pub use stored::memory_file_of;
pub use turns::Turns;
