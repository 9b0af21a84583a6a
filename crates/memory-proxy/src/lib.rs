#![doc = include_str!("../README.md")]

mod answer;
mod api;
mod asked;
mod config;
mod counts;
mod fit;
mod handle;
mod host;
mod place;
mod queue;
mod recall;
mod recollect;
mod same;
mod server;
mod sessions;
mod store;
mod tee;
mod upstream;
mod waiting;
mod whose;

pub use config::{ProxyConfig, Upstreams};
pub use fit::fitting_text;
pub use handle::Proxy;
pub use recall::quotations;
pub use recollect::Recollect;
pub use server::serve;
