//! Object storage: reads, conditional writes and deletions.

mod backend;
mod codec;
mod config;
mod error;
mod files;
mod gates;
mod key;
mod local;
mod node_memory;
mod node_object;
mod objects;
mod open;
mod signed;

pub use backend::Backend;
pub use codec::{pack, unpack};
pub use config::ObjectsConfig;
pub use error::ObjectsError;
pub use gates::{Gate, Gates};
pub use key::{content_key, copy_key, memory_key};
pub use node_memory::StoredMessage;
pub use node_object::{NodeIndex, NodeObject, WaitingTurn};
pub use objects::{Object, Objects, Version, Written, describe_metrics, left, too_slow};
