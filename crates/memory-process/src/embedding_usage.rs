//! Records what the endpoints of embedding models charge, by tenant.

use std::time::Duration;

use memory_embed::Embedder;
use memory_runtime::error_chain;
use memory_store::{Caller, Store};
use tokio::time::{Instant, MissedTickBehavior, interval, timeout_at};
use tokio_util::sync::CancellationToken;

/// What was used since is lost if the process is killed.
const PERIOD: Duration = Duration::from_secs(10);
const TIMEOUT: Duration = Duration::from_secs(5);

/// The models behind endpoints, and where their usage is recorded.
pub(crate) struct EmbeddingUsageRecorder {
    store: Store,
    embedders: Vec<Embedder>,
}

impl EmbeddingUsageRecorder {
    /// Leaves out models of this process, which charge nothing.
    pub(crate) fn new<'a>(store: Store, embedders: impl IntoIterator<Item = &'a Embedder>) -> Self {
        let embedders = embedders.into_iter().filter(|one| !one.is_local());
        Self {
            store,
            embedders: embedders.cloned().collect(),
        }
    }

    /// Records the usage until `stop`. Call [`EmbeddingUsageRecorder::record`] when the work has
    /// ended.
    pub(crate) async fn run(&self, stop: CancellationToken) {
        if self.embedders.is_empty() {
            return;
        }
        let mut ticks = interval(PERIOD);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                _ = ticks.tick() => self.record().await,
            }
        }
    }

    /// Records what was used since the last time, within five seconds. What cannot be recorded is
    /// kept for the next time.
    pub(crate) async fn record(&self) {
        let end = Instant::now() + TIMEOUT;
        for embedder in &self.embedders {
            let mut is_away = false;
            for (tenant, used) in embedder.take_usage() {
                let caller = Caller::worker(tenant.clone());
                let usage = self.store.usage(&caller);
                let model = &embedder.model().name;
                let recording =
                    usage.add_embedding_usage(model, used.calls, used.failed, used.tokens);
                let recorded = match is_away {
                    true => None,
                    false => timeout_at(end, recording).await.ok(),
                };
                if let Some(Err(error)) = &recorded {
                    let error = error_chain(error);
                    tracing::debug!(error, "the usage of the embedding model was not recorded");
                }
                if !matches!(recorded, Some(Ok(()))) {
                    is_away = true;
                    embedder.add_usage(tenant, used);
                }
            }
        }
    }
}
