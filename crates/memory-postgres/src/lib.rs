#![doc = include_str!("../README.md")]

mod caller;
mod config;
mod error;
mod error_chain;
mod group;
mod pool;
mod query;
pub mod task;
mod tls;

pub use caller::Caller;
pub use config::{Database, StoreConfig, masked};
pub use error::{PostgresError, connect_error, query_error};
pub use error_chain::error_chain;
pub use group::Group;
pub use pool::{Pool, PoolStatus, Role, parse_url};
pub use query::{Params, Query, Transaction};
