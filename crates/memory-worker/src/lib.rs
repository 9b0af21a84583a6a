#![doc = include_str!("../README.md")]

mod config;
mod distill;
mod jobs;
mod provider_keys;
mod rewrite;
mod token_budget;
mod worker;

pub use config::{DistillWorkConfig, NodeWorkConfig, WorkerConfig};
pub use provider_keys::TenantKeys;
pub use rewrite::Rewrite;
pub use token_budget::TokenBudget;
pub use worker::Worker;

/// Describes this crate's metrics to the installed recorder.
pub fn describe_metrics() {
    distill::describe_metrics();
    jobs::describe_metrics();
    memory_webhooks::describe_metrics();
    token_budget::describe_metrics();
}
