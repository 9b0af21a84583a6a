//! Which changes a question has to see.

use memory_contract::proto::{Freshness, freshness::Requirement};
use prost_types::Duration;

/// How long one call waits for the index. A busy machine may
/// need longer, and then [`crate::Client`] asks again; what is left of the
/// call's time has to be enough for the answer even there.
pub fn fresh_wait() -> Duration {
    Duration {
        seconds: 10,
        nanos: 0,
    }
}

/// Everything up to a revision; an empty one stands for the default, the newest changes.
pub fn at_least(revision: impl Into<String>) -> Option<Freshness> {
    let revision = revision.into();
    (!revision.is_empty()).then(|| revision.into())
}

/// Everything up to a revision, with a wait for it.
pub fn at_least_within(revision: impl Into<String>, max_wait: Duration) -> Option<Freshness> {
    Some(Freshness {
        max_wait: Some(max_wait),
        ..at_least(revision)?
    })
}

/// Everything up to a revision, however long the index takes: [`crate::Client`] asks again.
pub fn fresh_from(revision: impl Into<String>) -> Option<Freshness> {
    at_least_within(revision, fresh_wait())
}

/// Only what is indexed.
pub fn eventual() -> Option<Freshness> {
    Some(Freshness {
        requirement: Some(Requirement::Eventual(())),
        max_wait: None,
    })
}
