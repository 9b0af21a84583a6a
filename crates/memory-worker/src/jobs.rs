//! The registry of periodic jobs.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use memory_contract::{AppId, TenantId};
use memory_index::{Indexes, Selection};
use memory_runtime::error_chain;
use memory_store::{
    CollectionState, OutboxStats, OutsideErasure, Store, StoreError, SubscriptionQueue, WorkerStore,
};
use metrics::{
    Unit, counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram,
};
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::config::WorkerConfig;
use crate::rewrite::Rewrite;

/// Rows that one run changes at most.
const BATCH_ROWS: u32 = 500;
/// Rows of each queue that one run makes due after the clock was set back, at most.
const BATCH_DUE: u32 = 5_000;
/// Events of one queue that one run drops because of their age, and because of their number, at most.
const BATCH_EVENTS: u32 = 20_000;
/// Nodes flushed, or objects deleted, in one run at most.
const BATCH_OBJECTS: u32 = 64;
/// Apps whose memories one run looks at, at most.
const BATCH_APPS: u32 = 64;
/// Deletions for which the files of a database of our own are rewritten once, at most. Where none are
/// rewritten, a worker claims one deletion at a time, and others claim the rest.
const REWRITE_FOR: u32 = 64;
/// The pause of the jobs that erase deleted and expired data.
const ERASE_INTERVAL: Duration = Duration::from_secs(1);
/// The interval of the job that queues threads whose memories were erased.
const QUEUE_INTERVAL: Duration = Duration::from_secs(1);
/// The interval of the job that erases content whose messages were never written.
const SETTLE_INTERVAL: Duration = Duration::from_secs(60);
/// The interval of the job that notices a clock that was set back. It reads every queue.
const CLOCK_INTERVAL: Duration = Duration::from_secs(5);
/// The interval of the job that bounds the queues of subscriptions. It counts those that may be full.
const EVENTS_INTERVAL: Duration = Duration::from_secs(10);
/// The interval of jobs that measure queues.
const MEASURE_INTERVAL: Duration = Duration::from_secs(5);

/// Whether more work is left, so that the job runs again at once.
type More = bool;

/// Work that is repeated. A run does a bounded piece of it and is idempotent: one that
/// failed halfway is done again.
pub(crate) struct Job {
    /// The name in logs and metrics.
    pub(crate) name: &'static str,
    /// The pause between two runs without work left.
    interval: Duration,
    run: Box<dyn Fn() -> BoxFuture<'static, Result<More, StoreError>> + Send + Sync>,
}

/// All periodic jobs of a worker. Those of node memories do nothing without object
/// storage.
pub(crate) fn registry(
    config: &WorkerConfig,
    store: &Store,
    workers: &WorkerStore,
    outside: (Indexes, Option<Rewrite>),
) -> Vec<Job> {
    let with = || (store.clone(), workers.clone());
    // The app after which the next run of `forget_memories` begins.
    let after_app: Arc<Mutex<Option<(TenantId, AppId)>>> = Arc::default();
    vec![
        Job::new(
            "erase_expired",
            config.expiry_interval,
            with(),
            async |(store, workers)| {
                let count = workers.erasures(&store).sweep_threads(BATCH_ROWS).await?;
                Ok(full(count, BATCH_ROWS))
            },
        ),
        Job::new("erase", ERASE_INTERVAL, with(), async |(store, workers)| {
            workers.erasures(&store).run_erasures().await
        }),
        Job::new(
            "erase_outside",
            ERASE_INTERVAL,
            (with(), outside),
            async |((store, workers), (indexes, rewrite))| {
                erase_outside(&store, &workers, &indexes, rewrite).await
            },
        ),
        Job::new(
            "expire_nodes",
            config.expiry_interval,
            with(),
            async |(store, workers)| {
                let count = workers.nodes(&store).sweep_nodes(BATCH_ROWS).await?;
                Ok(full(count, BATCH_ROWS))
            },
        ),
        Job::new(
            "forget_working_memories",
            config.expiry_interval,
            with(),
            async |(store, workers)| {
                let count = workers
                    .working_memories(&store)
                    .sweep_working_memories(BATCH_ROWS)
                    .await?;
                Ok(full(count, BATCH_ROWS))
            },
        ),
        Job::new(
            "expire_documents",
            config.expiry_interval,
            with(),
            async |(store, workers)| {
                let count = workers
                    .documents(&store)
                    .sweep_documents(BATCH_ROWS)
                    .await?;
                Ok(full(count, BATCH_ROWS))
            },
        ),
        Job::new(
            "forget_memories",
            config.forget_interval,
            with(),
            move |(store, workers)| {
                let after_app = Arc::clone(&after_app);
                async move {
                    // Taken, so that the run after an error begins with the first app.
                    let after = lock(&after_app).take();
                    let next = workers
                        .memories(&store)
                        .sweep_memories(after, BATCH_APPS, BATCH_ROWS)
                        .await?;
                    let more = next.is_some();
                    *lock(&after_app) = next;
                    Ok(more)
                }
            },
        ),
        Job::new(
            "forget_requests",
            config.request_sweep_interval,
            with(),
            async |(store, workers)| {
                let messages = workers.messages(&store).sweep_requests(BATCH_ROWS).await?;
                let nodes = workers
                    .nodes(&store)
                    .sweep_node_requests(BATCH_ROWS)
                    .await?;
                let writes = workers
                    .nodes(&store)
                    .sweep_object_writes(BATCH_ROWS)
                    .await?;
                Ok(full(messages.max(nodes).max(writes), BATCH_ROWS))
            },
        ),
        Job::new(
            "forget_transactions",
            config.request_sweep_interval,
            with(),
            async |(store, workers)| {
                let count = workers
                    .erasures(&store)
                    .sweep_transactions(BATCH_ROWS)
                    .await?;
                Ok(full(count, BATCH_ROWS))
            },
        ),
        Job::new(
            "flush_nodes",
            config.nodes.interval,
            (with(), config.nodes.flush_after),
            async |((store, workers), age)| {
                if store.objects().is_none() {
                    return Ok(false);
                }
                let count = workers
                    .nodes(&store)
                    .flush_forgotten(age, BATCH_OBJECTS)
                    .await?;
                Ok(full(count, BATCH_OBJECTS))
            },
        ),
        Job::new(
            "erase_objects",
            config.nodes.interval,
            with(),
            async |(store, workers)| {
                let count = workers.nodes(&store).erase_objects(BATCH_OBJECTS).await?;
                Ok(full(count, BATCH_OBJECTS))
            },
        ),
        Job::new(
            "settle_contents",
            SETTLE_INTERVAL,
            with(),
            async |(store, workers)| {
                let count = workers.contents(&store).settle_contents(BATCH_APPS).await?;
                Ok(count > 0)
            },
        ),
        Job::new(
            "extract_again",
            QUEUE_INTERVAL,
            with(),
            async |(store, workers)| {
                let count = workers
                    .memories(&store)
                    .queue_extraction(BATCH_ROWS)
                    .await?;
                Ok(full(count, BATCH_ROWS))
            },
        ),
        Job::new(
            "make_due",
            CLOCK_INTERVAL,
            (workers.clone(), config.indexer.longest_wait()),
            async |(workers, change_wait)| {
                let rows = workers.make_due(change_wait, BATCH_DUE).await?;
                if rows > 0 {
                    tracing::warn!(
                        rows,
                        "the clock of the database was set back: queued work that would have waited too long is done now"
                    );
                }
                Ok(full(rows, BATCH_DUE))
            },
        ),
        Job::new(
            "sweep_events",
            EVENTS_INTERVAL,
            workers.subscriptions(),
            sweep_events,
        ),
        Job::new("measure_outbox", MEASURE_INTERVAL, with(), measure_outbox),
        Job::new(
            "measure_ephemeral",
            MEASURE_INTERVAL,
            with(),
            measure_ephemeral,
        ),
        Job::new("measure_distill", MEASURE_INTERVAL, with(), measure_distill),
        Job::new("measure_nodes", MEASURE_INTERVAL, with(), measure_nodes),
        Job::new(
            "measure_erasures",
            MEASURE_INTERVAL,
            with(),
            measure_erasures,
        ),
    ]
}

/// Erases deleted users, apps and tenants from the index, and from the files of a database of our
/// own, which are rewritten once for all of them. A failure is recorded with the deletion, which is
/// tried again later.
async fn erase_outside(
    store: &Store,
    workers: &WorkerStore,
    indexes: &Indexes,
    rewrite: Option<Rewrite>,
) -> Result<More, StoreError> {
    let limit = if rewrite.is_some() { REWRITE_FOR } else { 1 };
    let mut erased = Vec::new();
    for erasure in workers.erasures(store).claim_outside(limit).await? {
        let result = erase_from_index(indexes, &erasure).await;
        erased.push((erasure, result));
    }
    let rewritten = match rewrite {
        Some(rewrite) if erased.iter().any(|(_, result)| result.is_ok()) => {
            rewrite().await.map(|()| true)
        }
        _ => Ok(false),
    };
    let (mut progress, mut ended) = (false, Ok(()));
    for (erasure, result) in erased {
        let result = result.and(rewritten.clone());
        progress |= result.is_ok();
        let result = result.as_ref().copied().map_err(String::as_str);
        // The others are given back nevertheless.
        ended = ended.and(workers.erasures(store).end_outside(&erasure, result).await);
    }
    ended.map(|()| progress)
}

async fn erase_from_index(indexes: &Indexes, erasure: &OutsideErasure) -> Result<(), String> {
    for selection in Selection::of_deletion(&erasure.tenant, &erasure.scope) {
        let erased = indexes.erase(&selection).await;
        erased.map_err(|error| error_chain(&error))?;
    }
    Ok(())
}

/// Drops events of subscriptions that are too old or too many, one queue at a time, and measures the
/// queues.
async fn sweep_events(events: SubscriptionQueue) -> Result<More, StoreError> {
    let (mut lost, mut more, mut failed) = (0, false, None);
    for queue in events.unbounded().await? {
        match events.sweep(&queue, BATCH_EVENTS).await {
            Ok((dropped, left)) => {
                lost += dropped;
                more |= left;
            }
            // The other queues are bounded nevertheless.
            Err(error) => failed = Some(error),
        }
    }
    counter!("recollect_subscription_dropped_total").increment(lost);
    let stats = events.stats().await?;
    gauge!("recollect_subscription_depth").set(stats.depth as f64);
    gauge!("recollect_subscription_lag_seconds").set(stats.lag.as_secs_f64());
    match failed {
        Some(error) => Err(error),
        None => Ok(more),
    }
}

/// Whether a run filled its batch, so that more may be left.
fn full(count: u64, batch: u32) -> More {
    count >= u64::from(batch)
}

async fn measure_outbox((store, workers): (Store, WorkerStore)) -> Result<More, StoreError> {
    let stats = workers.outbox().stats().await?;
    gauge!("recollect_outbox_depth").set(stats.pending as f64);
    gauge!("recollect_outbox_lag_seconds").set(stats.lag.as_secs_f64());
    gauge!("recollect_outbox_dead_letters").set(stats.dead_letters as f64);
    let collections = store.index_collections().await?;
    let mut collections = collections.iter();
    let next = match collections.find(|one| one.state == CollectionState::Beside) {
        Some(next) => workers.outbox().of_collection(&next.name).stats().await?,
        None => OutboxStats::default(),
    };
    gauge!("recollect_next_outbox_depth").set(next.pending as f64);
    gauge!("recollect_next_outbox_lag_seconds").set(next.lag.as_secs_f64());
    gauge!("recollect_next_outbox_dead_letters").set(next.dead_letters as f64);
    Ok(false)
}

async fn measure_ephemeral((store, workers): (Store, WorkerStore)) -> Result<More, StoreError> {
    let stats = workers.threads(&store).ephemeral_stats().await?;
    gauge!("recollect_ephemeral_threads").set(stats.threads as f64);
    gauge!("recollect_ephemeral_bytes").set(stats.bytes as f64);
    Ok(false)
}

async fn measure_distill((store, workers): (Store, WorkerStore)) -> Result<More, StoreError> {
    let stats = workers.distillates(&store).distill_stats().await?;
    gauge!("recollect_distill_waiting").set(stats.waiting as f64);
    gauge!("recollect_distill_lag_seconds").set(stats.lag.as_secs_f64());
    gauge!("recollect_distill_failing").set(stats.failing as f64);
    Ok(false)
}

async fn measure_nodes((store, workers): (Store, WorkerStore)) -> Result<More, StoreError> {
    let stats = workers.nodes(&store).node_stats().await?;
    gauge!("recollect_node_turns_waiting").set(stats.waiting as f64);
    gauge!("recollect_node_flush_lag_seconds").set(stats.lag.as_secs_f64());
    gauge!("recollect_nodes_failing").set(stats.failing as f64);
    gauge!("recollect_object_deletions_pending").set(stats.deletions as f64);
    Ok(false)
}

async fn measure_erasures((store, workers): (Store, WorkerStore)) -> Result<More, StoreError> {
    let stats = workers.erasures(&store).erasure_stats().await?;
    gauge!("recollect_deletions_waiting").set(stats.waiting as f64);
    gauge!("recollect_deletion_lag_seconds").set(stats.lag.as_secs_f64());
    gauge!("recollect_deletions_failing").set(stats.failing as f64);
    Ok(false)
}

impl Job {
    /// A job that calls `run` with a copy of `with`.
    fn new<W, F, R>(name: &'static str, interval: Duration, with: W, run: F) -> Self
    where
        W: Clone + Send + Sync + 'static,
        F: Fn(W) -> R + Send + Sync + 'static,
        R: Future<Output = Result<More, StoreError>> + Send + 'static,
    {
        Self {
            name,
            interval,
            run: Box::new(move || Box::pin(run(with.clone()))),
        }
    }

    /// Runs again and again until `stop`. A failed run is logged, and repeated after
    /// the interval.
    pub(crate) async fn run_until(&self, stop: CancellationToken) {
        let mut ticks = interval(self.interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                _ = ticks.tick() => {}
            }
            while !stop.is_cancelled() && self.run_once().await {}
        }
    }

    async fn run_once(&self) -> More {
        let start = Instant::now();
        let result = (self.run)().await;
        record_run(self.name, start, result.is_ok());
        result.unwrap_or_else(|error| {
            tracing::warn!(job = self.name, error = %error_chain(&error), "a background job failed");
            false
        })
    }
}

/// Records one run of a background job.
pub(crate) fn record_run(name: &'static str, start: Instant, ok: bool) {
    let outcome = if ok { "ok" } else { "error" };
    counter!("recollect_job_runs_total", "job" => name, "outcome" => outcome).increment(1);
    histogram!("recollect_job_seconds", "job" => name).record(start.elapsed().as_secs_f64());
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn describe_metrics() {
    describe_counter!(
        "recollect_job_runs_total",
        "Runs of background jobs, by job and outcome (ok or error)."
    );
    describe_histogram!(
        "recollect_job_seconds",
        Unit::Seconds,
        "Duration of a background job's run, by job."
    );
    describe_gauge!(
        "recollect_subscription_depth",
        "Events waiting to be delivered to subscribers; above 100,000 an estimate."
    );
    describe_gauge!(
        "recollect_subscription_lag_seconds",
        Unit::Seconds,
        "Age of the oldest event waiting in an enabled subscription."
    );
    describe_counter!(
        "recollect_subscription_dropped_total",
        "Events of subscriptions that were lost: a full queue, or 30 days without delivery."
    );
    describe_gauge!(
        "recollect_outbox_depth",
        "Changes waiting to be written to the index."
    );
    describe_gauge!(
        "recollect_outbox_lag_seconds",
        Unit::Seconds,
        "Age of the oldest change waiting for the index."
    );
    describe_gauge!(
        "recollect_outbox_dead_letters",
        "Changes not indexed after the last attempt: dead letters."
    );
    describe_gauge!(
        "recollect_next_outbox_depth",
        "Changes waiting for the index beside the one that serves."
    );
    describe_gauge!(
        "recollect_next_outbox_lag_seconds",
        Unit::Seconds,
        "Age of the oldest change waiting for the index beside the one that serves."
    );
    describe_gauge!(
        "recollect_next_outbox_dead_letters",
        "Dead letters of the index beside the one that serves."
    );
    describe_gauge!(
        "recollect_ephemeral_threads",
        "Ephemeral threads of all tenants."
    );
    describe_gauge!(
        "recollect_ephemeral_bytes",
        "Bytes of messages in ephemeral threads of all tenants."
    );
    describe_gauge!(
        "recollect_distill_waiting",
        "Threads waiting to be distilled or being distilled."
    );
    describe_gauge!(
        "recollect_distill_lag_seconds",
        Unit::Seconds,
        "Time since the longest-waiting thread became due to be distilled."
    );
    describe_gauge!(
        "recollect_distill_failing",
        "Threads whose last distilling run failed."
    );
    describe_gauge!(
        "recollect_node_turns_waiting",
        "Turns of nodes waiting to be flushed to object storage."
    );
    describe_gauge!(
        "recollect_node_flush_lag_seconds",
        Unit::Seconds,
        "Age of the oldest node turn waiting to be flushed to object storage."
    );
    describe_gauge!("recollect_nodes_failing", "Nodes whose last flush failed.");
    describe_gauge!(
        "recollect_object_deletions_pending",
        "Objects waiting to be deleted from object storage."
    );
    describe_gauge!(
        "recollect_deletions_waiting",
        "Erasures of threads, users, apps and tenants that are not finished."
    );
    describe_gauge!(
        "recollect_deletion_lag_seconds",
        Unit::Seconds,
        "Age of the oldest erasure that is not finished."
    );
    describe_gauge!(
        "recollect_deletions_failing",
        "Erasures whose last step failed."
    );
}
