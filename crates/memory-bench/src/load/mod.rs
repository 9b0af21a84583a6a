//! Throughput and latency, compared with a floor measured in the same run.

mod append;
mod contention;
mod contexts;
mod facts;
mod history;
mod nodes;
mod observed;
mod recall;
mod report;
mod tool_log;
mod unindexed;
mod window;

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use clap::Args;
use serde::Serialize;

use crate::{
    Failure, Target, conversation, importing,
    machine::{Machine, resident_mib},
    service::{Service, new_app},
    stats::rounded,
};

/// A service without an embedding model, so that embedding does not take time from appends
/// and histories.
const WITHOUT_MODEL: &str = "[embedding]\nkind = \"none\"\n";
/// The same without a cache, to measure the database.
const WITHOUT_CACHE: &str = "[embedding]\nkind = \"none\"\n[cache]\nkind = \"none\"\n";
/// The same without background flushes, to measure the calls alone.
const WITHOUT_WORKER: &str =
    "[embedding]\nkind = \"none\"\n[worker.nodes]\nflush_after = \"24h\"\ninterval = \"1h\"\n";
/// Without an embedding model and without distilling.
const WITHOUT_DISTILLING: &str =
    "[embedding]\nkind = \"none\"\n[worker.distill]\nenabled = false\n";

/// What to measure.
#[derive(Args)]
pub struct Options {
    /// Concurrent callers for the append measurement.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 8, 64])]
    callers: Vec<usize>,
    /// Seconds for each append measurement, and for its floor.
    #[arg(long, default_value_t = 8)]
    seconds: u64,
    /// Conversations in the LoCoMo format to import and to recall from.
    /// Default: an example.
    #[arg(long)]
    conversations: Option<PathBuf>,
    /// Questions to recall with.
    #[arg(long, default_value_t = 300)]
    queries: usize,
    /// Messages in the long thread of the history measurement.
    #[arg(long, default_value_t = 100_000)]
    long_thread: usize,
    /// Turns that 16 writers add to the memory of one node; a single writer adds
    /// a tenth of them.
    #[arg(long, default_value_t = 10_000)]
    turns: usize,
    /// Steps of the loop whose log is condensed to observations.
    #[arg(long, default_value_t = 50)]
    steps: usize,
    /// Long-term memories: half of them added by calls, and half of them extracted.
    #[arg(long, default_value_t = 2_000)]
    facts: usize,
}

#[derive(Serialize)]
struct Report {
    machine: Machine,
    /// By number of callers; absent if no floor could be measured.
    append_ratio_to_pgbench: BTreeMap<usize, f64>,
    recall_p50_ratio_to_floor: Option<f64>,
    /// Absent for a running service, whose indexer cannot be held.
    recall_p50_ratio_with_20_unindexed: Option<f64>,
    context_p50_ratio_to_recall: f64,
    history_ratio_100k_to_100: f64,
    /// Absent for a running service, whose cache cannot be switched off.
    window_ratio_cached_to_uncached: Option<f64>,
    /// Absent for a running service, which may not distill.
    #[serde(flatten)]
    context_long: contexts::Ratios,
    rss_mb: Option<f64>,
    cold_start_s: Option<f64>,
    warm_start_s: Option<f64>,
    append: BTreeMap<usize, append::Measured>,
    import: ImportMeasured,
    recall: recall::Measured,
    unindexed: Option<unindexed::Measured>,
    history: history::Measured,
    window: Option<window::Measured>,
    /// Absent for a running service, whose objects cannot be read.
    nodes: Option<nodes::Measured>,
    /// Absent for a running service, which may not distill.
    distilled: Option<Distilled>,
}

/// The results of distilling, and its cost for appends.
#[derive(Serialize)]
struct Distilled {
    compression: f64,
    answerable_percent: f64,
    same_prefix_percent: f64,
    append_p95_ratio: f64,
    observed: observed::Measured,
    contexts: contexts::Measured,
    contention: contention::Measured,
    facts: facts::Measured,
}

#[derive(Serialize)]
struct ImportMeasured {
    messages: usize,
    durable_messages_per_s: f64,
    searchable_messages_per_s: f64,
}

/// Runs all measurements and prints the report.
pub async fn run(target: &Target, options: &Options, json: bool) -> Result<(), Failure> {
    let dir = conversation::dir_or_example(options.conversations.as_ref())?;
    let conversations = conversation::read_all(&dir)?;

    // Import and recall, on a service with the default configuration.
    let service = Service::attach_or_start(target).await?;
    let cold_start = service.start;
    let mut clients = service.connect().await?;
    let app = new_app();
    let imported = importing::conversations(&mut clients, &app, &conversations).await?;
    let rss_mb = service.pid.and_then(resident_mib);
    drop(clients);
    let (service, index_copy) = if service.pid.is_some() {
        let (service, copy) = service.restart(target).await?;
        (service, Some(copy))
    } else {
        (service, None)
    };
    let warm_start = service.start;
    let recall = recall::measure(
        &service,
        index_copy.as_ref().map(|copy| copy.path()),
        &app,
        &conversations,
        options.queries,
    )
    .await?;
    service.stop().await?;
    let unindexed = if target.addr.is_some() {
        None
    } else {
        Some(unindexed::measure(target, &conversations, options.queries).await?)
    };

    // Appends and histories.
    let service = if target.addr.is_some() {
        Service::attach_or_start(target).await?
    } else {
        Service::start(target, WITHOUT_CACHE).await?
    };
    let mut append = BTreeMap::new();
    for &callers in &options.callers {
        let length = Duration::from_secs(options.seconds);
        append.insert(callers, append::measure(&service, callers, length).await?);
    }
    let history = history::measure(&service, options.long_thread).await?;
    let window = if target.addr.is_some() {
        None
    } else {
        let cached = Service::start(target, WITHOUT_MODEL).await?;
        let measured = window::measure(&cached, &service).await?;
        cached.stop().await?;
        Some(measured)
    };
    service.stop().await?;
    let nodes = if target.addr.is_some() {
        None
    } else {
        let service = Service::start(target, WITHOUT_WORKER).await?;
        let measured = nodes::measure(&service, options.turns).await?;
        service.stop().await?;
        Some(measured)
    };
    let distilled = if target.addr.is_some() {
        None
    } else {
        Some(distilled(target, options).await?)
    };

    let seconds = |start: Duration| rounded(start.as_secs_f64(), 2);
    let rate = |time: Duration| rounded(imported.messages as f64 / time.as_secs_f64().max(1e-9), 0);
    let report = Report {
        machine: Machine::here(),
        append_ratio_to_pgbench: append
            .iter()
            .filter_map(|(callers, measured)| Some((*callers, measured.ratio_to_pgbench?)))
            .collect(),
        recall_p50_ratio_to_floor: recall.p50_ratio_to_floor(),
        recall_p50_ratio_with_20_unindexed: unindexed.as_ref().map(unindexed::Measured::ratio),
        context_p50_ratio_to_recall: recall.p50_ratio_of_context(),
        history_ratio_100k_to_100: history.ratio(),
        window_ratio_cached_to_uncached: window.as_ref().map(window::Measured::ratio),
        context_long: distilled
            .as_ref()
            .map_or_else(contexts::Ratios::default, |one| one.contexts.ratios()),
        rss_mb: rss_mb.map(|mib| rounded(mib, 0)),
        cold_start_s: cold_start.map(seconds),
        warm_start_s: warm_start.map(seconds),
        append,
        import: ImportMeasured {
            messages: imported.messages,
            durable_messages_per_s: rate(imported.durable),
            searchable_messages_per_s: rate(imported.searchable),
        },
        recall,
        unindexed,
        history,
        window,
        nodes,
        distilled,
    };
    if json {
        println!("{}", serde_json::to_string(&report)?);
    } else {
        report::print(&report);
    }
    Ok(())
}

async fn distilled(target: &Target, options: &Options) -> Result<Distilled, Failure> {
    let distilling = Service::start(target, WITHOUT_MODEL).await?;
    let observed = observed::measure(&distilling, options.steps).await?;
    let contexts = contexts::measure(&distilling).await?;
    let idle = Service::start(target, WITHOUT_DISTILLING).await?;
    let length = Duration::from_secs(options.seconds);
    let contention = contention::measure(&distilling, &idle, length).await?;
    idle.stop().await?;
    distilling.stop().await?;
    // With the embedding model, as by default.
    let service = Service::start(target, "").await?;
    let facts = facts::measure(&service, options.facts).await?;
    service.stop().await?;
    Ok(Distilled {
        compression: observed.compression(),
        answerable_percent: observed.answerable(),
        same_prefix_percent: observed.same_prefix(),
        append_p95_ratio: contention.p95_ratio(),
        observed,
        contexts,
        contention,
        facts,
    })
}
