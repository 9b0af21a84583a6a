#![doc = include_str!("../README.md")]

mod api_keys;
mod audit;
mod authenticator;
mod config;
mod keyring;
mod secrets;
mod usage;
mod views;

pub use api_keys::{NewApiKey, looks_like_key};
pub use audit::{Refusals, TransactionQuery};
pub use authenticator::{Authenticator, LookupError};
pub use config::SecretsConfig;
pub use keyring::{Keyring, new_key};
pub use secrets::{Secret, Secrets};
pub use usage::{ModelKind, ModelTokens, ModelUsage, StorageUsage};
pub use views::{AuditStore, KeyStore, UsageStore};
