#![doc = include_str!("../README.md")]

mod address;
mod body;
mod config;
mod delivery;
mod post;
mod signature;

pub use address::receiver_url;
pub use config::WebhookConfig;
pub use delivery::Webhooks;

/// Describes this crate's metrics to the installed recorder.
pub fn describe_metrics() {
    delivery::describe_metrics();
}
