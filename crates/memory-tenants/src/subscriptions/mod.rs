//! Subscriptions: which changes are delivered to which systems, and the events that wait.

mod delivery;
mod queue;
mod settings;
mod types;

pub use queue::SubscriptionQueue;
pub use settings::Subscriptions;
pub use types::{
    DueSubscription, EventBatch, EventQueue, EventsSeen, NewSubscription, NextEvents,
    SUBSCRIPTION_LEASE, Subscription, SubscriptionChange, SubscriptionEvent, SubscriptionStats,
    Webhook,
};
