#![doc = include_str!("../README.md")]

mod error_chain;
mod open_files;
mod package;
mod priority;
pub mod task;

pub use error_chain::error_chain;
pub use open_files::{open_files, raise_open_files};
pub use package::package_dir;
pub use priority::lower_thread_priority;
