#![doc = include_str!("../README.md")]

mod composite;
mod config;
mod databases;
mod error;
mod migrate;
mod redacting;
mod scope;
mod session;
mod transaction;
mod views;
mod workers;

pub mod page;
pub mod queue;
pub mod rows;
pub mod words;

pub use composite::Composite;
pub use config::EphemeralConfig;
pub use databases::Databases;
pub use error::{
    AppendError, CheckpointError, KeyError, MemoryError, MemoryFileError, NodeError, PlanError,
    SecretError, StoreError, SubscriptionError, ThreadError,
};
pub use memory_postgres::Caller;
pub use migrate::{MigrationReport, migrate, schema_version};
pub use page::Page;
pub use redacting::RedactingTenants;
pub use scope::{Bounds, Scope, Space};
pub use session::session_digest;
pub use transaction::{Transaction, read_transaction};
pub use workers::Workers;
