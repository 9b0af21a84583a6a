#![doc = include_str!("../README.md")]

mod error_chain;
mod priority;
pub mod task;

pub use error_chain::error_chain;
pub use priority::lower_thread_priority;
