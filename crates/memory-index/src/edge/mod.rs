//! The embedded index: qdrant-edge in this process.

mod command;
mod compact;
mod copy;
mod copying;
mod directory;
mod engine;
mod engines;
mod erase;
mod files;
mod index;
mod log;
mod memory;
mod read_ahead;
mod reader;
mod setup;
mod start;
mod swap;
mod thread;
mod writer;

pub use index::EdgeIndex;
pub(crate) use thread::describe_metrics;
