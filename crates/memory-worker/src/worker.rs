//! Starts the background work of a process.

use std::sync::Arc;

use memory_distill::Distiller;
use memory_recall::{Indexer, Recall};
use memory_store::task::reporting_panics;
use memory_store::{Store, WorkerStore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::config::WorkerConfig;
use crate::distill::{DistillQueue, Distilling};
use crate::jobs;

/// The dependencies of the background work.
pub struct Worker {
    /// Its intervals, leases and limits.
    pub config: WorkerConfig,
    /// Access to the data of one tenant at a time.
    pub store: Store,
    /// Access to the queues of all tenants.
    pub outbox: WorkerStore,
    /// The indexer; `None` where the index is left alone, for example because the
    /// configured embedding model is missing.
    pub indexer: Option<Indexer>,
    /// Finds what is known about a user while facts are extracted.
    pub recall: Recall,
    /// Summarizes, observes and extracts.
    pub distiller: Arc<Distiller>,
}

impl Worker {
    /// Starts everything on `tasks`. After `stop` is canceled each task ends with the
    /// piece of work at hand and returns its claims.
    pub fn spawn(self, tasks: &TaskTracker, stop: &CancellationToken) {
        let Self {
            config,
            store,
            outbox,
            indexer,
            recall,
            distiller,
        } = self;
        if let Some(indexer) = indexer {
            tasks.spawn(reporting_panics("indexer", indexer.run(stop.clone())));
        }
        for job in jobs::registry(&config, &store, &outbox) {
            tasks.spawn(reporting_panics(job.name, job.run_until(stop.clone())));
        }
        if config.distill.enabled {
            let distilling = Distilling {
                store,
                recall,
                distiller,
                config: config.distill,
            };
            let queue = DistillQueue::new(distilling, outbox);
            tasks.spawn(reporting_panics("distill", queue.run(stop.clone())));
        }
    }
}
