//! Starts the background work of a process.

use std::sync::Arc;

use memory_distill::Distiller;
use memory_index::{Background, Indexer, Indexes};
use memory_recall::Recall;
use memory_runtime::{error_chain, task::supervised};
use memory_store::{Store, Subscriptions, WorkerStore};
use memory_webhooks::Webhooks;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::config::WorkerConfig;
use crate::distill::{DistillQueue, Distilling};
use crate::jobs::{self, Job};
use crate::rewrite::Rewrite;

/// The dependencies of the background work.
pub struct Worker {
    /// Its intervals, leases and limits.
    pub config: WorkerConfig,
    /// Access to the data of one tenant at a time.
    pub store: Store,
    /// Access to the queues of all tenants.
    pub workers: WorkerStore,
    /// Reads and acknowledges the events of subscriptions.
    pub subscriptions: Subscriptions,
    /// One for each index; none where the index is left alone, for example because the
    /// configured embedding model is missing.
    pub indexers: Vec<Indexer>,
    /// The indexes, from which deleted users, apps and tenants are erased.
    pub indexes: Indexes,
    /// Called once for these deletions that were claimed together; `None` where Postgres is not
    /// our own.
    pub rewrite: Option<Rewrite>,
    /// Finds the known facts about a user while facts are extracted.
    pub recall: Recall,
    /// Summarizes, observes and extracts.
    pub distiller: Arc<Distiller>,
    /// Says whether users call this process.
    pub background: Background,
}

impl Worker {
    /// Starts everything on `tasks`. After `stop` is canceled each task ends with the
    /// piece of work at hand and returns its claims.
    pub fn spawn(self, tasks: &TaskTracker, stop: &CancellationToken) {
        let Self {
            config,
            store,
            workers,
            subscriptions,
            indexers,
            indexes,
            rewrite,
            recall,
            distiller,
            background,
        } = self;
        for indexer in indexers.into_iter().map(Arc::new) {
            let run = |indexer: Arc<Indexer>, stop| async move { indexer.run(stop).await };
            tasks.spawn(supervised("indexer", stop.clone(), indexer, run));
        }
        for job in jobs::registry(&config, &store, &workers, (indexes, rewrite)) {
            let (name, job) = (job.name, Arc::new(job));
            let run = |job: Arc<Job>, stop| async move { job.run_until(stop).await };
            tasks.spawn(supervised(name, stop.clone(), job, run));
        }
        match Webhooks::new(&config.webhooks, subscriptions, workers.subscriptions()) {
            Ok(webhooks) => {
                let webhooks = Arc::new(webhooks);
                tasks.spawn(supervised(
                    "webhooks",
                    stop.clone(),
                    webhooks,
                    Webhooks::run,
                ));
            }
            Err(error) => tracing::error!(
                error = %error_chain(&error),
                "webhooks cannot be sent: the machine has no usable certificates"
            ),
        }
        if config.distill.enabled {
            let distilling = Distilling {
                store,
                recall,
                distiller,
                background,
                config: config.distill,
            };
            let queue = Arc::new(DistillQueue::new(distilling, workers));
            tasks.spawn(supervised(
                "distill",
                stop.clone(),
                queue,
                DistillQueue::run,
            ));
        }
    }
}
