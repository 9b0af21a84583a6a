//! What subscriptions, their events and deliveries are.

use std::time::Duration;

use memory_contract::{AppId, TenantId, ThreadId, UserId};
use memory_database::{StoreError, queue::LeaseId, rows::column};
use secrecy::SecretString;
use time::OffsetDateTime;
use tokio_postgres::Row;
use uuid::Uuid;

/// How long a subscription stays with a stream or a worker that says nothing.
pub const SUBSCRIPTION_LEASE: Duration = Duration::from_secs(15);

/// A subscription to create.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSubscription {
    /// Its name, unique within the tenant.
    pub name: String,
    /// Only changes of this app; empty: of all.
    pub app: AppId,
    /// Only changes of this user; empty: of all.
    pub user: UserId,
    /// Only these actions, such as `append_messages`; empty: all.
    pub actions: Vec<String>,
    /// Where events are sent; empty: they are only streamed.
    pub url: String,
}

/// A subscription and what waits in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscription {
    /// What it was created with, as it is now.
    pub settings: NewSubscription,
    /// Whether changes become events, and events are sent.
    pub enabled: bool,
    /// Events that wait, counted up to `limits::SUBSCRIPTION_EVENTS_COUNTED`.
    pub waiting: i64,
    /// The age of the oldest waiting event.
    pub lag: Duration,
    /// Events that were acknowledged.
    pub delivered: i64,
    /// Events that were lost.
    pub dropped: i64,
    /// Attempts since the last one that succeeded.
    pub failed_attempts: i32,
    /// Why the last attempt failed; empty: it succeeded.
    pub last_error: String,
    /// When an attempt last failed.
    pub failed: Option<OffsetDateTime>,
    /// When it was created.
    pub created: OffsetDateTime,
    /// When it was last changed.
    pub updated: OffsetDateTime,
}

/// New values of a subscription; `None`: unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SubscriptionChange {
    /// Whether changes become events, and events are sent.
    pub enabled: Option<bool>,
    /// Where events are sent.
    pub url: Option<String>,
    /// The actions that are events; empty: all.
    pub actions: Option<Vec<String>>,
}

/// A change that a subscription delivers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubscriptionEvent {
    /// Its number, unique in the database.
    pub id: i64,
    /// Who made the change.
    pub actor: String,
    /// The action, such as `append_messages`.
    pub action: String,
    /// The changed thread.
    pub thread: Option<ThreadId>,
    /// The app whose data was changed; empty: that of no one app.
    pub app: AppId,
    /// The user whose data was changed; empty: that of no one user.
    pub user: UserId,
    /// The changed object besides the thread; may be empty.
    pub subject: String,
    /// How many things it changed.
    pub item_count: i64,
    /// When it was made.
    pub created: OffsetDateTime,
}

/// Events that are delivered together, the same until they are acknowledged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventBatch {
    /// Names the batch, in each repetition.
    pub id: Uuid,
    /// Attempts that failed before.
    pub failed_attempts: i32,
    /// Events that were lost since the batch before this one.
    pub dropped: i64,
    /// The events, in order; at least one.
    pub events: Vec<SubscriptionEvent>,
}

/// What there is to deliver under a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextEvents {
    /// Another has the lease, or the subscription was deleted.
    Lost,
    /// No event waits.
    None,
    /// These events.
    Batch(EventBatch),
}

/// What became of the events under a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventsSeen {
    /// Whether no batch awaits its acknowledgment.
    pub acknowledged: bool,
    /// Whether events wait.
    pub waiting: bool,
}

/// Where a subscription's events are sent, and what signs them.
#[derive(Debug)]
pub struct Webhook {
    /// The receiver.
    pub url: String,
    /// The secret, and the former one while it is valid.
    pub secrets: Vec<SecretString>,
}

/// A subscription that a worker has leased.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueSubscription {
    /// Its tenant.
    pub tenant: TenantId,
    /// Its name.
    pub name: String,
    /// The claim.
    pub lease: LeaseId,
}

/// The events of one subscription, which may have been deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventQueue {
    /// Its tenant.
    pub tenant: TenantId,
    /// Its number.
    pub subscription: i64,
}

/// The size of all queues of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubscriptionStats {
    /// Events that wait; an estimate if they are many.
    pub depth: i64,
    /// The age of the oldest one of an enabled subscription.
    pub lag: Duration,
}

/// A time in a row; none if a clock was set back.
pub(super) fn seconds(row: &Row, name: &str) -> Result<Duration, StoreError> {
    let seconds: f64 = column(row, name)?;
    Ok(Duration::try_from_secs_f64(seconds).unwrap_or_default())
}
