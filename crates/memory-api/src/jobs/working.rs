//! What working memories need in the background.

use std::time::Duration;

use memory_store::{Outbox, Store, StoreError};
use tonic::async_trait;

use super::{Job, PIECE};
use crate::config::WorkerConfig;

/// All jobs for working memories.
pub(super) fn all(config: &WorkerConfig, store: &Store, outbox: &Outbox) -> Vec<Box<dyn Job>> {
    vec![Box::new(ForgetExpired {
        store: store.clone(),
        outbox: outbox.clone(),
        interval: config.expiry_interval,
    })]
}

/// Forgets working memories whose time has come.
struct ForgetExpired {
    store: Store,
    outbox: Outbox,
    interval: Duration,
}

#[async_trait]
impl Job for ForgetExpired {
    fn name(&self) -> &'static str {
        "forget_working_memories"
    }

    fn interval(&self) -> Duration {
        self.interval
    }

    async fn run(&self) -> Result<bool, StoreError> {
        let count = self
            .outbox
            .sweep_working_memories(&self.store, PIECE)
            .await?;
        Ok(count >= u64::from(PIECE))
    }
}
