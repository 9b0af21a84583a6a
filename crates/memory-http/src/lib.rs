#![doc = include_str!("../README.md")]

mod body;
mod config;
mod connect;
mod console;
mod contract;
mod cors;
mod keep_alive;
mod layer;
mod openapi;
mod pages;
mod problem;
mod unreadable;
mod until_sent;

pub use config::HttpConfig;
pub use connect::failed;
pub use cors::{InvalidOrigin, check_origin};
pub use layer::{Http, HttpLayer};
pub use openapi::document as openapi;
pub use pages::is_local_host;
pub use problem::problem;
pub use unreadable::Unreadable;
pub use until_sent::UntilSent;
