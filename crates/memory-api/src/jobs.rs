//! What a worker does in the background, beside indexing. Each job has a name,
//! does a bounded piece of work at a time, and may run in several processes at
//! once.

pub mod distill;
mod memories;
mod nodes;
mod working;

use std::time::{Duration, Instant};

use memory_store::{Outbox, Store, StoreError};
use metrics::{counter, gauge, histogram};
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;
use tonic::async_trait;

use crate::config::WorkerConfig;
use memory_store::error_chain;

/// Rows that one piece of work touches.
const PIECE: u32 = 500;
/// How often the outbox is measured.
const MEASURE_INTERVAL: Duration = Duration::from_secs(5);

/// Work that comes again and again.
#[async_trait]
pub trait Job: Send + Sync + 'static {
    /// Its name in logs and metrics.
    fn name(&self) -> &'static str;

    /// The pause between two runs.
    fn interval(&self) -> Duration;

    /// Does a piece of the work, and tells whether there is more to do now.
    /// Idempotent: a piece that failed halfway is done again.
    async fn run(&self) -> Result<bool, StoreError>;
}

/// All jobs of a worker.
pub fn all(config: &WorkerConfig, store: &Store, outbox: &Outbox) -> Vec<Box<dyn Job>> {
    let mut jobs: Vec<Box<dyn Job>> = vec![
        Box::new(EraseExpired {
            store: store.clone(),
            outbox: outbox.clone(),
            interval: config.expiry_interval,
        }),
        Box::new(ForgetRequests {
            outbox: outbox.clone(),
            interval: config.request_sweep_interval,
        }),
        Box::new(ForgetTransactions {
            outbox: outbox.clone(),
            interval: config.request_sweep_interval,
        }),
        Box::new(MeasureOutbox {
            outbox: outbox.clone(),
        }),
        Box::new(MeasureEphemeral {
            outbox: outbox.clone(),
        }),
    ];
    jobs.extend(nodes::all(config, store, outbox));
    jobs.extend(memories::all(config, store, outbox));
    jobs.push(Box::new(distill::MeasureDistill {
        outbox: outbox.clone(),
    }));
    jobs.extend(working::all(config, store, outbox));
    jobs
}

/// Runs a job until the server stops. A run that fails is logged, and tried
/// again after the pause.
pub async fn run(job: Box<dyn Job>, stop: CancellationToken) {
    let mut ticks = interval(job.interval());
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = ticks.tick() => {}
        }
        while !stop.is_cancelled() && run_once(job.as_ref()).await {}
    }
}

/// Runs a piece; whether there is more to do now.
async fn run_once(job: &dyn Job) -> bool {
    let start = Instant::now();
    let result = job.run().await;
    let outcome = if result.is_ok() { "ok" } else { "error" };
    counter!("recollect_job_runs_total", "job" => job.name(), "outcome" => outcome).increment(1);
    histogram!("recollect_job_seconds", "job" => job.name()).record(start.elapsed().as_secs_f64());
    match result {
        Ok(more) => more,
        Err(error) => {
            tracing::warn!(job = job.name(), error = %error_chain(&error), "a background job failed");
            false
        }
    }
}

/// Erases threads whose time has come.
struct EraseExpired {
    store: Store,
    outbox: Outbox,
    interval: Duration,
}

#[async_trait]
impl Job for EraseExpired {
    fn name(&self) -> &'static str {
        "erase_expired"
    }

    fn interval(&self) -> Duration {
        self.interval
    }

    async fn run(&self) -> Result<bool, StoreError> {
        let count = self.outbox.sweep_threads(&self.store, PIECE).await?;
        Ok(count >= u64::from(PIECE))
    }
}

/// Forgets request ids that nobody will repeat any more.
struct ForgetRequests {
    outbox: Outbox,
    interval: Duration,
}

#[async_trait]
impl Job for ForgetRequests {
    fn name(&self) -> &'static str {
        "forget_requests"
    }

    fn interval(&self) -> Duration {
        self.interval
    }

    async fn run(&self) -> Result<bool, StoreError> {
        let count = self.outbox.sweep_requests(PIECE).await?;
        let of_nodes = self.outbox.sweep_node_requests(PIECE).await?;
        Ok(count.max(of_nodes) >= u64::from(PIECE))
    }
}

/// Forgets who did what long ago.
struct ForgetTransactions {
    outbox: Outbox,
    interval: Duration,
}

#[async_trait]
impl Job for ForgetTransactions {
    fn name(&self) -> &'static str {
        "forget_transactions"
    }

    fn interval(&self) -> Duration {
        self.interval
    }

    async fn run(&self) -> Result<bool, StoreError> {
        let count = self.outbox.sweep_transactions(PIECE).await?;
        Ok(count >= u64::from(PIECE))
    }
}

/// Tells how far the index is behind.
struct MeasureOutbox {
    outbox: Outbox,
}

#[async_trait]
impl Job for MeasureOutbox {
    fn name(&self) -> &'static str {
        "measure_outbox"
    }

    fn interval(&self) -> Duration {
        MEASURE_INTERVAL
    }

    async fn run(&self) -> Result<bool, StoreError> {
        let stats = self.outbox.stats().await?;
        gauge!("recollect_outbox_depth").set(stats.pending as f64);
        gauge!("recollect_outbox_lag_seconds").set(stats.lag.as_secs_f64());
        gauge!("recollect_outbox_dead_letters").set(stats.dead_letters as f64);
        Ok(false)
    }
}

/// Measures the ephemeral threads.
struct MeasureEphemeral {
    outbox: Outbox,
}

#[async_trait]
impl Job for MeasureEphemeral {
    fn name(&self) -> &'static str {
        "measure_ephemeral"
    }

    fn interval(&self) -> Duration {
        MEASURE_INTERVAL
    }

    async fn run(&self) -> Result<bool, StoreError> {
        let stats = self.outbox.ephemeral_stats().await?;
        gauge!("recollect_ephemeral_threads").set(stats.threads as f64);
        gauge!("recollect_ephemeral_bytes").set(stats.bytes as f64);
        Ok(false)
    }
}
