#![doc = include_str!("../README.md")]

mod caller;
mod config;
mod error;
mod group;
mod pool;
mod query;
mod tls;

pub use caller::Caller;
pub use config::{Database, StoreConfig, masked};
pub use error::{PostgresError, connect_error, query_error};
pub use group::Group;
pub use pool::{Pool, PoolStatus, Role, parse_url};
pub use query::{Params, Query, Transaction};
