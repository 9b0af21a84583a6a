#![doc = include_str!("../README.md")]

mod archive;
mod batch;
mod defaults;
mod export;
mod exports;
mod foreign;
mod format;
mod ids;
mod input_file;
mod items;
mod jsonl;
mod openai;
mod opening;
mod provider;
mod record;
mod seen;
mod unit;
mod values;

pub use batch::Batch;
pub use defaults::Defaults;
pub use export::record_from;
pub use format::{Format, System};
pub use ids::{named_session, thread_key};
pub use jsonl::messages_of_lines;
pub use record::Placed;
pub use unit::{Source, Unit};
