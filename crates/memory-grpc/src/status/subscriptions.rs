//! Errors of subscriptions.

use memory_contract::proto::ErrorReason;
use memory_contract::{key::KeyScope, limits};
use memory_store::SubscriptionError;
use tonic::Code;

use super::Answer;

impl Answer {
    /// A call that would take events from the receiver of a webhook.
    pub(super) fn webhook_denied() -> Self {
        Self {
            message: "the subscription has a URL, and its events belong to the receiver there: \
                      streaming or acknowledging them needs an API key with the scope `admin`. \
                      Create a subscription without a URL for a stream"
                .to_owned(),
            ..Self::permission_denied(KeyScope::Admin, None)
        }
    }

    /// What goes wrong with subscriptions alone.
    pub(super) fn subscription(error: &SubscriptionError) -> Self {
        match error {
            SubscriptionError::NotFound => Self::new(
                Code::NotFound,
                ErrorReason::SubscriptionNotFound,
                "there is no such subscription; ListSubscriptions names those that there are",
            ),
            SubscriptionError::Exists => Self::new(
                Code::AlreadyExists,
                ErrorReason::SubscriptionAlreadyExists,
                "there is a subscription of this name; choose another, or delete that one",
            ),
            SubscriptionError::Full => Self::new(
                Code::FailedPrecondition,
                ErrorReason::SubscriptionsFull,
                format!(
                    "the tenant has {} subscriptions, the most; delete one",
                    limits::SUBSCRIPTIONS
                ),
            ),
        }
    }
}
