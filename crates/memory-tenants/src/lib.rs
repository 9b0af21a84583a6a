#![doc = include_str!("../README.md")]

mod api_keys;
mod audit;
mod authenticator;
mod config;
mod keyring;
mod secrets;
mod subscriptions;
mod usage;
mod views;

pub use api_keys::{NewApiKey, looks_like_key};
pub use audit::{Refusals, TransactionQuery};
pub use authenticator::{Authenticator, LookupError};
pub use config::SecretsConfig;
pub use keyring::{Keyring, new_key};
pub use secrets::{Secret, Secrets};
pub use subscriptions::{
    DueSubscription, EventBatch, EventQueue, EventsSeen, NewSubscription, NextEvents,
    SUBSCRIPTION_LEASE, Subscription, SubscriptionChange, SubscriptionEvent, SubscriptionQueue,
    SubscriptionStats, Subscriptions, Webhook,
};
pub use usage::{ModelKind, ModelTokens, ModelUsage, StorageUsage};
pub use views::{AuditStore, KeyStore, UsageStore};
