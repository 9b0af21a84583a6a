#![doc = include_str!("../README.md")]

mod agent;
mod change;
mod diff;
mod entry;
mod error;
mod file;
mod json;
mod target;
mod toml;
mod undo;

pub use agent::{Agent, Place};
pub use change::{Change, connect, disconnect};
pub use entry::Server;
pub use error::ConnectError;
