//! Delivers what is due.

use std::sync::Arc;
use std::time::{Duration, Instant};

use memory_runtime::{error_chain, task};
use memory_store::{
    Caller, DueSubscription, EventBatch, NextEvents, StoreError, SubscriptionQueue, Subscriptions,
};
use metrics::{counter, describe_counter};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::config::WebhookConfig;
use crate::post::{Failed, Sender};

/// Receivers that are sent to at the same time, by one process.
const RECEIVERS: u32 = 256;
/// Batches that one receiver gets in a row; then others have their turn.
const TURN: usize = 20;
/// A turn begins no further batch after this time. A last one of 10 seconds, which is the longest that a
/// receiver may take, ends it after 15.
const TURN_TIME: Duration = Duration::from_secs(5);
/// The pause of an idle worker.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// The longest pause after the first failure; it doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(3_600);

/// Sends the events of all tenants' subscriptions.
pub struct Webhooks {
    subscriptions: Subscriptions,
    queue: SubscriptionQueue,
    sender: Sender,
    places: Arc<Semaphore>,
    /// Signaled when a receiver's turn has ended.
    ended: Arc<Notify>,
}

/// How a batch ended.
enum Ended {
    /// It was delivered.
    Delivered,
    /// The subscription has no more to send now, or another has it.
    Idle,
    /// Not delivered. The lease has ended.
    Failed,
}

impl Webhooks {
    /// Delivers what `queue` finds through `subscriptions`.
    ///
    /// # Errors
    /// The machine has no usable certificates.
    pub fn new(
        config: &WebhookConfig,
        subscriptions: Subscriptions,
        queue: SubscriptionQueue,
    ) -> Result<Self, reqwest::Error> {
        Ok(Self {
            subscriptions,
            queue,
            sender: Sender::new(config.allow_private)?,
            places: Arc::new(Semaphore::new(RECEIVERS as usize)),
            ended: Arc::default(),
        })
    }

    /// Delivers until `stop`, and then returns the leases.
    pub async fn run(self: Arc<Self>, stop: CancellationToken) {
        let mut ticks = interval(POLL_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                () = self.ended.notified() => {}
                _ = ticks.tick() => {}
            }
            let free = self.places.available_permits();
            if free == 0 {
                continue;
            }
            let due = self.queue.claim(free).await.unwrap_or_else(|error| {
                tracing::warn!(error = %error_chain(&error), "due webhooks could not be claimed");
                Vec::new()
            });
            for due in due {
                // There are as many as were free, and only this loop takes them.
                let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
                    break;
                };
                let work = Arc::clone(&self).turn(due, place, stop.clone());
                task::spawn("webhook", work);
            }
        }
        // Each has its place until it has ended. The semaphore is never closed.
        drop(self.places.acquire_many(RECEIVERS).await);
    }

    /// Sends the batches of one subscription.
    async fn turn(
        self: Arc<Self>,
        due: DueSubscription,
        place: OwnedSemaphorePermit,
        stop: CancellationToken,
    ) {
        if let Err(error) = self.batches(&due, &stop).await {
            // The lease ends by itself.
            tracing::warn!(
                subscription = due.name,
                error = %error_chain(&error),
                "the delivery of a webhook was interrupted"
            );
        }
        drop(place);
        self.ended.notify_one();
    }

    async fn batches(
        &self,
        due: &DueSubscription,
        stop: &CancellationToken,
    ) -> Result<(), StoreError> {
        let caller = Caller::worker(due.tenant.clone());
        let began = Instant::now();
        for _ in 0..TURN {
            if began.elapsed() >= TURN_TIME {
                break;
            }
            let sent = tokio::select! {
                // The batch is sent again.
                () = stop.cancelled() => break,
                sent = self.batch(&caller, due) => sent?,
            };
            match sent {
                Ended::Delivered => {}
                Ended::Idle => break,
                Ended::Failed => return Ok(()),
            }
        }
        self.subscriptions
            .release(&caller, &due.name, due.lease)
            .await
    }

    async fn batch(&self, caller: &Caller, due: &DueSubscription) -> Result<Ended, StoreError> {
        let (name, lease) = (&due.name, due.lease);
        let batch = match self.subscriptions.next_events(caller, name, lease).await? {
            NextEvents::Lost | NextEvents::None => return Ok(Ended::Idle),
            NextEvents::Batch(batch) => batch,
        };
        let sent = match self.subscriptions.webhook(caller, due).await {
            Ok(Some(webhook)) => self.sender.send(&webhook, name, &batch).await,
            Ok(None) => return Ok(Ended::Idle),
            Err(error) => Err(unreadable(error)?),
        };
        let Err(failed) = sent else {
            counter!("recollect_subscription_deliveries_total", "outcome" => "ok").increment(1);
            self.subscriptions
                .acknowledge(caller, name, batch.id)
                .await?;
            return Ok(Ended::Delivered);
        };
        self.failed(caller, due, &batch, failed).await?;
        Ok(Ended::Failed)
    }

    async fn failed(
        &self,
        caller: &Caller,
        due: &DueSubscription,
        batch: &EventBatch,
        failed: Failed,
    ) -> Result<(), StoreError> {
        let (outcome, why, pause) = match failed {
            Failed::Gone => (
                "gone",
                "the receiver answered 410 (Gone), which disables the subscription".to_owned(),
                None,
            ),
            Failed::Later(why, asked) => {
                let pause = pause(batch.failed_attempts, fastrand::f64());
                ("failed", why, Some(pause.max(asked.unwrap_or_default())))
            }
        };
        counter!("recollect_subscription_deliveries_total", "outcome" => outcome).increment(1);
        self.subscriptions.fail(caller, due, &why, pause).await
    }
}

/// The failure of a subscription whose secret cannot be read, which repeating does not change; other
/// errors are returned.
fn unreadable(error: StoreError) -> Result<Failed, StoreError> {
    let why = match error {
        StoreError::Secret(_) => error.to_string(),
        StoreError::Corrupt { .. } => {
            format!("{error}; make a new secret with RotateSubscriptionSecret")
        }
        error => return Err(error),
    };
    Ok(Failed::Later(why, Some(LONGEST_PAUSE)))
}

/// The pause after a failure that this many came before: half of it and a random part of the other
/// half, so that receivers that failed together are not tried together.
fn pause(failed_before: i32, random: f64) -> Duration {
    let doublings = failed_before.clamp(0, 16).unsigned_abs();
    let longest = (FIRST_PAUSE * (1 << doublings)).min(LONGEST_PAUSE);
    longest.mul_f64(0.5 + random / 2.0)
}

pub(crate) fn describe_metrics() {
    describe_counter!(
        "recollect_subscription_deliveries_total",
        "Attempts to send a batch of events to a receiver, by outcome: ok, failed or gone."
    );
}

#[cfg(test)]
mod tests {
    use memory_store::SUBSCRIPTION_LEASE;

    use super::*;
    use crate::post::TIMEOUT;

    #[test]
    fn pauses_grow_to_an_hour() {
        let most = |failed| pause(failed, 1.0).as_secs();
        let pauses = [0, 1, 2, 3, 10, 11, 12, i32::MAX].map(most);
        assert_eq!(pauses, [1, 2, 4, 8, 1_024, 2_048, 3_600, 3_600]);
        assert_eq!(pause(2, 0.0), Duration::from_secs(2));
    }

    #[test]
    fn a_lease_outlives_a_request() {
        assert!(SUBSCRIPTION_LEASE > TIMEOUT + Duration::from_secs(2));
    }
}
