//! What long-term memories need in the background.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use memory_contract::{AppId, TenantId};
use memory_store::{Outbox, Store, StoreError};
use tonic::async_trait;

use super::{Job, PIECE};
use crate::config::WorkerConfig;

/// Apps looked at in one piece of work.
const APPS: u32 = 64;

/// All jobs for memories.
pub(super) fn all(config: &WorkerConfig, store: &Store, outbox: &Outbox) -> Vec<Box<dyn Job>> {
    vec![Box::new(ForgetMemories {
        store: store.clone(),
        outbox: outbox.clone(),
        interval: config.forget_interval,
        after: Mutex::default(),
    })]
}

/// Forgets what apps' policies do not keep.
struct ForgetMemories {
    store: Store,
    outbox: Outbox,
    interval: Duration,
    /// The app after which the next piece begins; none at the beginning.
    after: Mutex<Option<(TenantId, AppId)>>,
}

#[async_trait]
impl Job for ForgetMemories {
    fn name(&self) -> &'static str {
        "forget_memories"
    }

    fn interval(&self) -> Duration {
        self.interval
    }

    async fn run(&self) -> Result<bool, StoreError> {
        // Taken: after an error the next run begins anew.
        let after = self
            .after
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let swept = self.outbox.sweep_memories(&self.store, after, APPS, PIECE);
        let next = swept.await?;
        let more = next.is_some();
        *self.after.lock().unwrap_or_else(PoisonError::into_inner) = next;
        Ok(more)
    }
}
