#![doc = include_str!("../README.md")]

mod embedding_usage;
mod error;
mod listener;
mod parts;
mod running;
mod start;
mod telemetry;

pub use error::ServerError;
pub use running::Running;
pub use start::start;
pub use telemetry::{Telemetry, TelemetryError, init_telemetry};
