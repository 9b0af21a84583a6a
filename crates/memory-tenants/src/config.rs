//! Configuration of secrets.

use memory_postgres::masked;
use secrecy::SecretString;
use serde::{Deserialize, Serialize, Serializer};

/// The keys that tenants' secrets are encrypted with, each the base64 of 32
/// bytes.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SecretsConfig {
    /// The key that secrets are encrypted with. Empty by default: then none can
    /// be stored or read.
    #[serde(serialize_with = "masked")]
    pub key: SecretString,
    /// Former keys: secrets that they encrypted can still be read.
    #[serde(serialize_with = "all_masked")]
    pub previous_keys: Vec<SecretString>,
}

/// Only how many there are is shown.
fn all_masked<S: Serializer>(secrets: &[SecretString], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(secrets.iter().map(|_| "********"))
}
