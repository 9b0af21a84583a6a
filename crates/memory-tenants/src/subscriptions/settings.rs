//! Creates, reads and changes subscriptions.

use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use memory_contract::{AppId, UserId, limits};
use memory_database::{
    Databases, StoreError, SubscriptionError,
    rows::{column, only, scalar, unknown_status},
};
use memory_postgres::{Caller, Params, query};
use ring::rand::{SecureRandom as _, SystemRandom};
use secrecy::{
    SecretString,
    zeroize::{Zeroize as _, Zeroizing},
};
use tokio_postgres::Row;

use super::types::{NewSubscription, Subscription, SubscriptionChange, seconds};
use crate::keyring::{Keyring, Sealed};

/// The prefix of secrets that sign webhooks, by the specification Standard Webhooks.
const SECRET_PREFIX: &str = "whsec_";
/// Random bytes of such a secret.
const SECRET_BYTES: usize = 32;

/// The subscriptions of tenants, with the keys of their secrets. A clone shares both.
#[derive(Clone, Debug)]
pub struct Subscriptions {
    pub(super) store: Databases,
    pub(super) keyring: Arc<Keyring>,
}

impl Subscriptions {
    pub(crate) fn new(store: Databases, keyring: Arc<Keyring>) -> Self {
        Self { store, keyring }
    }

    /// Creates a subscription to the changes that begin from now on. Returns its secret, this
    /// once; `None` without a URL.
    ///
    /// # Errors
    /// `SubscriptionError::Exists`, `SubscriptionError::Full`; with a URL
    /// `SecretError::Unavailable` without a key.
    pub async fn create(
        &self,
        caller: &Caller,
        new: &NewSubscription,
    ) -> Result<(Subscription, Option<SecretString>), StoreError> {
        let NewSubscription {
            name,
            app,
            user,
            actions,
            url,
        } = new;
        let secret = (!url.is_empty()).then(new_secret).transpose()?;
        let sealed = secret
            .as_ref()
            .map(|secret| self.seal(caller, name, secret));
        let (key_id, nonce, ciphertext) = match sealed.transpose()? {
            Some(Sealed {
                key_id,
                nonce,
                ciphertext,
            }) => (Some(key_id), Some(nonce), Some(ciphertext)),
            None => (None, None, None),
        };
        let params: Params<'_> = &[
            &caller.tenant.as_str(),
            name,
            &app.as_str(),
            &user.as_str(),
            actions,
            url,
            &key_id,
            &nonce,
            &ciphertext,
            &limits::SUBSCRIPTIONS,
        ];
        let row = only(
            self.store
                .pool
                .within(caller, query!("subscriptions/create"), params)
                .await?,
        )?;
        match scalar::<&str>(&row)? {
            "ok" => Ok((self.get(caller, name).await?, secret)),
            "exists" => Err(SubscriptionError::Exists.into()),
            "full" => Err(SubscriptionError::Full.into()),
            other => Err(unknown_status(other)),
        }
    }

    /// One subscription.
    ///
    /// # Errors
    /// `SubscriptionError::NotFound`.
    pub async fn get(&self, caller: &Caller, name: &str) -> Result<Subscription, StoreError> {
        let most = limits::SUBSCRIPTION_EVENTS_COUNTED;
        one(self.read(caller, Some(name), most).await?)
    }

    /// What a subscription was created with, as it is now. Unlike [`Subscriptions::get`] it counts
    /// nothing.
    ///
    /// # Errors
    /// `SubscriptionError::NotFound`.
    pub async fn settings(
        &self,
        caller: &Caller,
        name: &str,
    ) -> Result<NewSubscription, StoreError> {
        one(self.read(caller, Some(name), 0).await?).map(|found| found.settings)
    }

    /// All subscriptions of the tenant, by name.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn list(&self, caller: &Caller) -> Result<Vec<Subscription>, StoreError> {
        let most = limits::SUBSCRIPTION_EVENTS_COUNTED;
        self.read(caller, None, most).await
    }

    async fn read(
        &self,
        caller: &Caller,
        name: Option<&str>,
        most: i64,
    ) -> Result<Vec<Subscription>, StoreError> {
        let tenant = caller.tenant.as_str();
        let params: Params<'_> = &[&tenant, &name, &most];
        let list = query!("subscriptions/list");
        let rows = self.store.pool.within(caller, list, params).await?;
        rows.iter().map(subscription).collect()
    }

    /// Changes a subscription; deliveries are tried again at once.
    ///
    /// # Errors
    /// `SubscriptionError::NotFound`.
    pub async fn update(
        &self,
        caller: &Caller,
        name: &str,
        change: &SubscriptionChange,
    ) -> Result<Subscription, StoreError> {
        let SubscriptionChange {
            enabled,
            url,
            actions,
        } = change;
        let params: Params<'_> = &[&caller.tenant.as_str(), &name, enabled, url, actions];
        let update = query!("subscriptions/update");
        self.store.pool.within(caller, update, params).await?;
        self.get(caller, name).await
    }

    /// Replaces the secret of a subscription with a URL. The former one signs too for a day.
    ///
    /// # Errors
    /// `SubscriptionError::NotFound`, `SecretError::Unavailable` without a key.
    pub async fn rotate(&self, caller: &Caller, name: &str) -> Result<SecretString, StoreError> {
        let secret = new_secret()?;
        let Sealed {
            key_id,
            nonce,
            ciphertext,
        } = self.seal(caller, name, &secret)?;
        let params: Params<'_> = &[
            &caller.tenant.as_str(),
            &name,
            &key_id,
            &nonce,
            &ciphertext,
            &limits::FORMER_SECRET_AGE.as_secs_f64(),
        ];
        let rotate = query!("subscriptions/rotate");
        let rows = self.store.pool.within(caller, rotate, params).await?;
        match rows.is_empty() {
            true => Err(SubscriptionError::NotFound.into()),
            false => Ok(secret),
        }
    }

    /// Deletes a subscription, and returns whether there was one.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn delete(&self, caller: &Caller, name: &str) -> Result<bool, StoreError> {
        let params: Params<'_> = &[&caller.tenant.as_str(), &name];
        let delete = query!("subscriptions/delete");
        let rows = self.store.pool.within(caller, delete, params).await?;
        Ok(!rows.is_empty())
    }

    fn seal(
        &self,
        caller: &Caller,
        name: &str,
        secret: &SecretString,
    ) -> Result<Sealed, StoreError> {
        self.keyring
            .seal(caller.tenant.as_str(), &place(name), secret)
    }
}

fn one(found: Vec<Subscription>) -> Result<Subscription, StoreError> {
    let found = found.into_iter().next();
    found.ok_or_else(|| SubscriptionError::NotFound.into())
}

fn subscription(row: &Row) -> Result<Subscription, StoreError> {
    Ok(Subscription {
        settings: NewSubscription {
            name: column(row, "name")?,
            app: AppId::new(column::<String>(row, "app_id")?),
            user: UserId::new(column::<String>(row, "user_id")?),
            actions: column(row, "actions")?,
            url: column(row, "url")?,
        },
        enabled: column(row, "enabled")?,
        waiting: column(row, "waiting_count")?,
        lag: seconds(row, "lag_seconds")?,
        delivered: column(row, "delivered_count")?,
        dropped: column(row, "dropped_count")?,
        failed_attempts: column(row, "attempts")?,
        last_error: column(row, "last_error")?,
        failed: column(row, "failed_at")?,
        created: column(row, "created_at")?,
        updated: column(row, "updated_at")?,
    })
}

/// The name that a subscription's secret is encrypted for. No other secret can have it.
pub(super) fn place(name: &str) -> String {
    format!("subscription/{name}")
}

fn new_secret() -> Result<SecretString, StoreError> {
    let mut random = Zeroizing::new([0; SECRET_BYTES]);
    SystemRandom::new()
        .fill(random.as_mut_slice())
        .map_err(|_| StoreError::Crypto {
            what: "drawing a random secret",
        })?;
    let mut text = STANDARD.encode(random.as_slice());
    // As long as it will be, so that no copy is left where it grew.
    let mut secret = String::with_capacity(SECRET_PREFIX.len() + text.len());
    secret.push_str(SECRET_PREFIX);
    secret.push_str(&text);
    text.zeroize();
    Ok(SecretString::from(secret))
}
