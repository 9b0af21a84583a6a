#![doc = include_str!("../README.md")]

mod config;
mod distill;
mod error;
mod health;
mod jobs;
mod layers;
mod refusals;
mod server;
mod services;
mod status;
pub mod telemetry;

pub use config::{
    AuthConfig, Config, ConfigError, DEFAULT_TOML, DistillWorkConfig, EffectiveValue, KeyConfig,
    Loaded, LogFormat, MemoriesConfig, NodeWorkConfig, Provenance, ServerConfig, Sources,
    TelemetryConfig, ValueSource, WorkerConfig,
};
pub use health::Readiness;
pub use server::{Roles, Running, Server, ServerError};
