//! What belongs to a tenant as a whole: API keys, secrets, usage, and the record of changes.

mod api_keys;
mod audit;
mod authenticator;
mod keyring;
mod secrets;
pub(crate) mod transaction;
mod usage;

pub use api_keys::{NewApiKey, looks_like_key};
pub use audit::{Refusals, TransactionQuery};
pub use authenticator::{Authenticator, LookupError};
pub use keyring::{Keyring, new_key};
pub use secrets::{Secret, Secrets};
pub use transaction::Transaction;
pub use usage::{ModelTokens, ModelUsage, StorageUsage};
