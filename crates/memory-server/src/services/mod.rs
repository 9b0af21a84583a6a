//! The services of administrators.

mod admin;
mod keys;
mod secrets;
mod subscriptions;

pub(crate) use admin::Admin;
pub(crate) use keys::Keys;
pub(crate) use secrets::SecretStore;
pub(crate) use subscriptions::SubscriptionHandlers;
