//! The handlers: a request becomes domain types, goes to the store or to
//! recall, and the answer goes back.

mod admin;
mod export;
mod fields;
mod files;
mod history;
mod import;
mod messages;
mod nodes;
mod recall;
mod recall_convert;
mod sessions;
mod template;
mod threads;
mod tokens;

pub(crate) use admin::{About, Admin};
pub(crate) use messages::Messages;
pub(crate) use nodes::Nodes;
pub(crate) use recall::Recalls;
pub(crate) use threads::Threads;
