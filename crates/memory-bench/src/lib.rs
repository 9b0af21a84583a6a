#![doc = include_str!("../README.md")]
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a measuring program prints, and its callers are tasks"
)]

mod asking;
mod behind;
mod blocks;
mod cli;
mod clients;
mod data;
mod embedding;
mod failure;
mod fair;
mod importing;
mod indexed;
mod listening;
mod load;
mod machine;
mod meter;
mod metrics;
mod plain;
mod processor;
pub mod progress;
mod quality;
mod questions;
pub mod random;
mod redact;
mod run;
mod scale;
mod search;
mod service;
mod stages;
mod statements;
mod stats;
pub mod table;
pub mod tally;
mod target;

pub use cli::Cli;
pub use failure::{Failure, report};
pub use target::Target;
