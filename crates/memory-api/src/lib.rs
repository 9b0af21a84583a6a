#![doc = include_str!("../README.md")]

pub mod config;
#[allow(missing_docs, reason = "moves into a crate of its own")]
pub mod distill;
mod error;
pub mod health;
#[allow(missing_docs, reason = "moves into a crate of its own")]
pub mod jobs;
mod layers;
mod refusals;
mod server;
mod services;
mod status;

pub use config::{
    AuthConfig, DistillWorkConfig, KeyConfig, NodeWorkConfig, ServerConfig, WorkerConfig,
};
pub use distill::{Distilling, budget::Budget};
pub use health::{Health, Readiness};
pub use jobs::distill::DistillThreads;
pub use server::{Server, Services};
