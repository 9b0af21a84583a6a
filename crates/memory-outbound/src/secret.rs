//! Keys in the configuration.

use secrecy::{ExposeSecret, SecretString};
use serde::Serializer;

/// Whether a key is set to more than blanks.
pub fn is_set(key: &SecretString) -> bool {
    !key.expose_secret().trim().is_empty()
}

/// Serializes a key as asterisks, and an empty or unset one as none.
///
/// # Errors
/// Only errors of the serializer.
pub fn masked<S: Serializer>(
    secret: &Option<SecretString>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match secret {
        Some(secret) if !secret.expose_secret().is_empty() => serializer.serialize_some("********"),
        Some(_) | None => serializer.serialize_none(),
    }
}
