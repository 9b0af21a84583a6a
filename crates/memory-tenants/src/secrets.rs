//! Secrets of tenants, encrypted.

use std::sync::Arc;

use memory_database::{
    Databases, Page, SecretError, StoreError,
    page::one_more,
    rows::{column, only},
};
use memory_postgres::{Caller, Params, query};
use secrecy::SecretString;
use time::OffsetDateTime;
use tokio_postgres::Row;

use crate::{
    keyring::{Keyring, Sealed},
    subscriptions::Subscriptions,
};

/// The metadata of a secret, without its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Secret {
    /// Its name, unique within the tenant.
    pub name: String,
    /// When the name was first set.
    pub created: OffsetDateTime,
    /// When the value was last set.
    pub updated: OffsetDateTime,
}

/// Secrets in a store, under the keys of the configuration. A clone shares
/// both.
#[derive(Clone, Debug)]
pub struct Secrets {
    store: Databases,
    keyring: Arc<Keyring>,
}

impl Secrets {
    /// The secrets of a store.
    pub fn new(store: Databases, keyring: Keyring) -> Self {
        Self {
            store,
            keyring: Arc::new(keyring),
        }
    }

    /// Subscriptions, whose secrets are encrypted with the same keys.
    pub fn subscriptions(&self) -> Subscriptions {
        Subscriptions::new(self.store.clone(), Arc::clone(&self.keyring))
    }

    /// Stores a value in place of what its name stood for.
    ///
    /// # Errors
    /// `SecretError::Unavailable` without a key.
    pub async fn set(
        &self,
        caller: &Caller,
        name: &str,
        value: &SecretString,
    ) -> Result<Secret, StoreError> {
        let Sealed {
            key_id,
            nonce,
            ciphertext,
        } = self.keyring.seal(caller.tenant.as_str(), name, value)?;
        let params: Params<'_> = &[&caller.tenant.as_str(), &name, &key_id, &nonce, &ciphertext];
        let rows = self
            .store
            .main
            .within(caller, query!("secrets/set"), params)
            .await?;
        secret(&only(rows)?)
    }

    /// Reads a secret in the clear.
    ///
    /// # Errors
    /// `SecretError::NotFound`; `SecretError::Unavailable` without the key that it was
    /// encrypted with; `Corrupt` for one that was moved or changed.
    pub async fn get(
        &self,
        caller: &Caller,
        name: &str,
    ) -> Result<(Secret, SecretString), StoreError> {
        let params: Params<'_> = &[&caller.tenant.as_str(), &name];
        let rows = self
            .store
            .main
            .within(caller, query!("secrets/get"), params)
            .await?;
        let row = rows
            .first()
            .ok_or(StoreError::Secret(SecretError::NotFound))?;
        let sealed = Sealed {
            key_id: column(row, "key_id")?,
            nonce: column(row, "nonce")?,
            ciphertext: column(row, "ciphertext")?,
        };
        let value = self.keyring.open(caller.tenant.as_str(), name, sealed)?;
        Ok((secret(row)?, value))
    }

    /// Lists names, in order, after the name `after`; `None` for the first
    /// page. It needs no key.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn list(
        &self,
        caller: &Caller,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Page<Secret, String>, StoreError> {
        let params: Params<'_> = &[
            &caller.tenant.as_str(),
            &after.unwrap_or_default(),
            &one_more(limit),
        ];
        let rows = self
            .store
            .main
            .within(caller, query!("secrets/list"), params)
            .await?;
        let secrets = rows
            .iter()
            .map(|row| Ok((column(row, "name")?, secret(row)?)))
            .collect::<Result<_, StoreError>>()?;
        Ok(Page::cut(secrets, limit))
    }

    /// Erases a secret, and returns whether there was one. It needs no key.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn delete(&self, caller: &Caller, name: &str) -> Result<bool, StoreError> {
        let params: Params<'_> = &[&caller.tenant.as_str(), &name];
        let rows = self
            .store
            .main
            .within(caller, query!("secrets/delete"), params)
            .await?;
        Ok(!rows.is_empty())
    }
}

fn secret(row: &Row) -> Result<Secret, StoreError> {
    Ok(Secret {
        name: column(row, "name")?,
        created: column(row, "created_at")?,
        updated: column(row, "updated_at")?,
    })
}
