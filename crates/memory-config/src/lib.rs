#![doc = include_str!("../README.md")]

mod check;
mod check_models;
mod config;
mod error;
mod keys;
mod load;
mod policy;
mod roles;
mod sections;
mod sources;
#[cfg(test)]
mod tests;

pub use config::Config;
pub use error::ConfigError;
pub use load::{EffectiveValue, Loaded, Provenance};
pub use policy::PolicyConfig;
pub use roles::Roles;
pub use sections::{LogFormat, MemoriesConfig, TelemetryConfig};
pub use sources::{Sources, ValueSource};
