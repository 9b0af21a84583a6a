//! Errors of subscriptions.

use memory_contract::limits;
use memory_contract::proto::ErrorReason;
use memory_store::SubscriptionError;
use tonic::Code;

use super::Answer;

impl Answer {
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
