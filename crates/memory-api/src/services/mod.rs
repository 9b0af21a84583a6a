//! The handlers: each reads a request into domain types, makes one call, and converts the
//! answer.

mod admin;
mod checkpoints;
mod context;
mod documents;
mod events;
mod files;
mod keys;
mod ledger;
mod memories;
mod messages;
mod nodes;
mod observations;
mod plans;
mod policies;
mod recall;
mod request;
mod room;
mod secrets;
mod threads;
mod transfer;
mod watch;
mod working_memory;

pub(crate) use admin::Admin;
pub(crate) use checkpoints::Checkpoints;
pub(crate) use context::Contexts;
pub(crate) use documents::Documents;
pub(crate) use events::Events;
pub(crate) use files::Files;
pub(crate) use keys::Keys;
pub(crate) use ledger::Ledgers;
pub(crate) use memories::Memories;
pub(crate) use messages::Messages;
pub(crate) use nodes::Nodes;
pub(crate) use observations::Observations;
pub(crate) use plans::Plans;
pub(crate) use policies::Policies;
pub(crate) use recall::Recalls;
pub(crate) use secrets::SecretStore;
pub(crate) use threads::Threads;
pub(crate) use transfer::Transfers;
pub(crate) use watch::Watching;
pub(crate) use working_memory::WorkingMemories;
