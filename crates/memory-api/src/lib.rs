#![doc = include_str!("../README.md")]

mod checkpoints;
mod context;
mod documents;
mod events;
mod files;
mod handlers;
mod ledger;
mod memories;
mod messages;
mod nodes;
mod observations;
mod plans;
mod policies;
mod recall;
mod room;
mod storage_quota;
mod threads;
mod watch;
mod working_memory;

pub use checkpoints::Checkpoints;
pub use context::Contexts;
pub use documents::Documents;
pub use events::Events;
pub use files::Files;
pub use handlers::{Dependencies, Handlers};
pub use ledger::Ledgers;
pub use memories::Memories;
pub use messages::Messages;
pub use nodes::Nodes;
pub use observations::Observations;
pub use plans::Plans;
pub use policies::{Policies, app_policy};
pub use recall::Recalls;
pub use storage_quota::{Amount, Limits, StorageQuotas, Usage, describe_metrics};
pub use threads::Threads;
pub use working_memory::WorkingMemories;
