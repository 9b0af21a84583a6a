#![doc = include_str!("../README.md")]

mod breaker;
mod endpoint;
mod pause;
mod secret;

pub use breaker::{Breaker, BreakerState, Outcome, Permit};
pub use endpoint::{builder, client, direct, endpoint_url, is_loopback};
pub use pause::retry_after;
pub use secret::{is_set, masked};
