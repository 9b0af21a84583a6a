//! Delivers the events of a subscription, under a lease.

use std::time::Duration;

use memory_contract::{AppId, UserId, limits};
use memory_database::{
    SecretError, StoreError, SubscriptionError,
    queue::{LeaseId, error_text},
    rows::{column, optional_id, scalar},
};
use memory_postgres::{Caller, Params, query};
use tokio_postgres::Row;
use uuid::Uuid;

use super::settings::{Subscriptions, place};
use super::types::{
    DueSubscription, EventBatch, EventsSeen, NextEvents, SUBSCRIPTION_LEASE, SubscriptionEvent,
    Webhook,
};
use crate::keyring::Sealed;

impl Subscriptions {
    /// Leases a subscription to a stream. Returns whether it could: no other has it.
    ///
    /// # Errors
    /// `SubscriptionError::NotFound`.
    pub async fn lease(
        &self,
        caller: &Caller,
        name: &str,
        lease: LeaseId,
    ) -> Result<bool, StoreError> {
        let seconds = SUBSCRIPTION_LEASE.as_secs_f64();
        let params: Params<'_> = &[&caller.tenant.as_str(), &name, &lease.uuid(), &seconds];
        let take = query!("subscriptions/lease");
        let rows = self.store.pool.within(caller, take, params).await?;
        let found = rows.first();
        let found = found.ok_or(StoreError::Subscription(SubscriptionError::NotFound))?;
        scalar(found)
    }

    /// What to deliver now: the batch that is not acknowledged yet, or a new one. It prolongs
    /// the lease.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn next_events(
        &self,
        caller: &Caller,
        name: &str,
        lease: LeaseId,
    ) -> Result<NextEvents, StoreError> {
        let params: Params<'_> = &[
            &caller.tenant.as_str(),
            &name,
            &lease.uuid(),
            &SUBSCRIPTION_LEASE.as_secs_f64(),
            &limits::SUBSCRIPTION_BATCH,
        ];
        let next = query!("subscriptions/next_batch");
        let rows = self.store.pool.within(caller, next, params).await?;
        let Some(first) = rows.first() else {
            return Ok(NextEvents::Lost);
        };
        if column::<Option<i64>>(first, "id")?.is_none() {
            return Ok(NextEvents::None);
        }
        Ok(NextEvents::Batch(EventBatch {
            id: column(first, "batch_id")?,
            failed_attempts: column(first, "attempts")?,
            dropped: column(first, "dropped_count")?,
            events: rows.iter().map(event).collect::<Result<_, _>>()?,
        }))
    }

    /// What became of the events, without a lock; `None`: the lease was lost.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn peek(
        &self,
        caller: &Caller,
        name: &str,
        lease: LeaseId,
    ) -> Result<Option<EventsSeen>, StoreError> {
        let params: Params<'_> = &[&caller.tenant.as_str(), &name, &lease.uuid()];
        let peek = query!("subscriptions/peek");
        let rows = self.store.pool.within(caller, peek, params).await?;
        let seen = rows.first().map(|row| {
            Ok(EventsSeen {
                acknowledged: column(row, "is_acknowledged")?,
                waiting: column(row, "has_events")?,
            })
        });
        seen.transpose()
    }

    /// Deletes the events of a batch. Returns whether it had not been acknowledged before.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn acknowledge(
        &self,
        caller: &Caller,
        name: &str,
        batch: Uuid,
    ) -> Result<bool, StoreError> {
        let params: Params<'_> = &[&caller.tenant.as_str(), &name, &batch];
        let acknowledge = query!("subscriptions/acknowledge");
        let rows = self.store.pool.within(caller, acknowledge, params).await?;
        Ok(!rows.is_empty())
    }

    /// Ends a lease after a failure. The next attempt comes after `pause`; `None`: the
    /// subscription is disabled.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn fail(
        &self,
        caller: &Caller,
        due: &DueSubscription,
        error: &str,
        pause: Option<Duration>,
    ) -> Result<(), StoreError> {
        let params: Params<'_> = &[
            &caller.tenant.as_str(),
            &due.name,
            &due.lease.uuid(),
            &error_text(error),
            &pause.map(|pause| pause.as_secs_f64()),
        ];
        let fail = query!("subscriptions/fail");
        self.store.pool.within(caller, fail, params).await?;
        Ok(())
    }

    /// Ends a lease.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn release(
        &self,
        caller: &Caller,
        name: &str,
        lease: LeaseId,
    ) -> Result<(), StoreError> {
        let params: Params<'_> = &[&caller.tenant.as_str(), &name, &lease.uuid()];
        let release = query!("subscriptions/release");
        self.store.pool.within(caller, release, params).await?;
        Ok(())
    }

    /// Where to send the events of a leased subscription; `None`: nowhere any more.
    ///
    /// # Errors
    /// `SecretError::Unavailable` without the key that a secret was encrypted with, `Corrupt` for one
    /// that this key does not decrypt.
    pub async fn webhook(
        &self,
        caller: &Caller,
        due: &DueSubscription,
    ) -> Result<Option<Webhook>, StoreError> {
        let params: Params<'_> = &[&caller.tenant.as_str(), &due.name, &due.lease.uuid()];
        let signing = query!("subscriptions/signing");
        let rows = self.store.pool.within(caller, signing, params).await?;
        let Some(row) = rows.first() else {
            return Ok(None);
        };
        let columns = [
            ("key_id", "nonce", "ciphertext"),
            ("former_key_id", "former_nonce", "former_ciphertext"),
        ];
        let mut secrets = Vec::with_capacity(columns.len());
        for (key_id, nonce, ciphertext) in columns {
            let Some(key_id) = column::<Option<String>>(row, key_id)? else {
                continue;
            };
            let sealed = Sealed {
                key_id,
                nonce: column(row, nonce)?,
                ciphertext: column(row, ciphertext)?,
            };
            let opened = self
                .keyring
                .open(caller.tenant.as_str(), &place(&due.name), sealed);
            match opened {
                Ok(secret) => secrets.push(secret),
                // The key of a former secret may have been removed, and rotating replaces a secret
                // that cannot be read.
                Err(
                    StoreError::Secret(SecretError::Unavailable { .. })
                    | StoreError::Corrupt { .. },
                ) if !secrets.is_empty() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Some(Webhook {
            url: column(row, "url")?,
            secrets,
        }))
    }
}

fn event(row: &Row) -> Result<SubscriptionEvent, StoreError> {
    Ok(SubscriptionEvent {
        id: column(row, "id")?,
        actor: column(row, "actor")?,
        action: column(row, "action")?,
        thread: optional_id(row, "thread_id")?,
        app: AppId::new(column::<String>(row, "app_id")?),
        user: UserId::new(column::<String>(row, "user_id")?),
        subject: column(row, "subject")?,
        item_count: column(row, "item_count")?,
        created: column(row, "created_at")?,
    })
}
