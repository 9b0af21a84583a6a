#![doc = include_str!("../README.md")]

mod batch;
mod defaults;
mod export;
mod foreign;
mod format;
mod ids;
mod input_file;
mod jsonl;
mod openai;
mod provider;
mod record;
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
