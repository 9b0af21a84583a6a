//! `StreamEvents`: the events of a subscription, batch after batch.

use std::time::Duration;

use memory_contract::convert::{action_from, timestamp};
use memory_contract::proto::{self, StreamEventsResponse};
use memory_grpc::{ApiError, Standing, available};
use memory_runtime::task;
use memory_store::{Caller, EventBatch, LeaseId, NextEvents, SubscriptionEvent, Subscriptions};
use tokio::sync::{broadcast, mpsc};
use tokio::time::{Instant, sleep};
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::Status;
use uuid::Uuid;

/// The pause between two looks for events, and for acknowledgments through other processes.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// How often a lease is prolonged: a third of what it lasts.
const RENEWAL: Duration = Duration::from_secs(5);

pub(super) type Events = ReceiverStream<Result<StreamEventsResponse, Status>>;
type Sender = mpsc::Sender<Result<StreamEventsResponse, Status>>;

/// Reads the events of one subscription.
pub(super) struct EventStream {
    pub(super) subscriptions: Subscriptions,
    pub(super) acknowledged: broadcast::Sender<Uuid>,
    pub(super) caller: Caller,
    pub(super) name: String,
}

impl EventStream {
    /// Sends batches until the caller closes the stream, its key is revoked, or the server stops.
    /// A layer enforces the deadline of the call.
    pub(super) fn run(self, standing: Standing, stop: CancellationToken) -> Events {
        let (sender, receiver) = mpsc::channel(1);
        let work = async move {
            let lease = LeaseId::new();
            let ended = tokio::select! {
                () = sender.closed() => None,
                () = stop.cancelled() => Some(ApiError::Stopping),
                () = standing.lost() => Some(ApiError::Unauthenticated),
                ended = self.send(&sender, lease) => ended.err(),
            };
            let released = self
                .subscriptions
                .release(&self.caller, &self.name, lease)
                .await;
            // Otherwise the lease ends by itself.
            drop(released);
            if let Some(error) = ended {
                drop(sender.send(Err(error.into())).await);
            }
        };
        // Ends when the caller stops reading.
        task::spawn_for_call("events", work);
        ReceiverStream::new(receiver)
    }

    /// Sends each batch once it may be delivered. Returns when the caller has gone.
    async fn send(&self, sender: &Sender, lease: LeaseId) -> Result<(), ApiError> {
        let (subscriptions, caller, name) = (&self.subscriptions, &self.caller, &self.name);
        let mut acknowledged = self.acknowledged.subscribe();
        let mut sent = None;
        loop {
            match available(|| subscriptions.next_events(caller, name, lease)).await? {
                NextEvents::Batch(batch) if sent != Some(batch.id) => {
                    sent = Some(batch.id);
                    if sender.send(Ok(response(batch))).await.is_err() {
                        return Ok(());
                    }
                }
                NextEvents::Batch(_) | NextEvents::None => {}
                NextEvents::Lost => {
                    // Another may have delivered the batch meanwhile.
                    sent = None;
                    if !available(|| subscriptions.lease(caller, name, lease)).await? {
                        sleep(POLL_INTERVAL).await;
                    }
                    continue;
                }
            }
            self.wait(&mut acknowledged, sent, lease).await?;
        }
    }

    /// Waits until there is a batch to send, or the lease has to be prolonged or is lost.
    async fn wait(
        &self,
        acknowledged: &mut broadcast::Receiver<Uuid>,
        sent: Option<Uuid>,
        lease: LeaseId,
    ) -> Result<(), ApiError> {
        let (subscriptions, caller, name) = (&self.subscriptions, &self.caller, &self.name);
        let since = Instant::now();
        while since.elapsed() < RENEWAL {
            tokio::select! {
                () = heard(acknowledged, sent) => {}
                () = sleep(POLL_INTERVAL) => {}
            }
            let seen = available(|| subscriptions.peek(caller, name, lease)).await?;
            if seen.is_none_or(|seen| seen.acknowledged && seen.waiting) {
                break;
            }
        }
        Ok(())
    }
}

/// Waits until a batch is acknowledged through this process, or so many others that it may have
/// been.
async fn heard(acknowledged: &mut broadcast::Receiver<Uuid>, sent: Option<Uuid>) {
    while let Ok(batch) = acknowledged.recv().await {
        if Some(batch) == sent {
            return;
        }
    }
}

fn response(batch: EventBatch) -> StreamEventsResponse {
    StreamEventsResponse {
        batch_id: batch.id.to_string(),
        events: batch.events.into_iter().map(event).collect(),
        dropped_count: batch.dropped,
    }
}

fn event(event: SubscriptionEvent) -> proto::SubscriptionEvent {
    let SubscriptionEvent {
        id,
        actor,
        action,
        thread,
        app,
        user,
        subject,
        item_count,
        created,
    } = event;
    proto::SubscriptionEvent {
        event_id: id.to_string(),
        actor,
        action: action_from(&action).into(),
        thread_id: thread.map(|id| id.to_string()).unwrap_or_default(),
        app_id: app.into(),
        user_id: user.into(),
        subject,
        item_count,
        create_time: Some(timestamp(created)),
    }
}
