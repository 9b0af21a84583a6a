//! The load report as tables, ratios first.

use comfy_table::Table;

use serde::Serialize;

use super::{
    append, contention, contexts, facts, history, nodes, observed,
    profile::{self, CallRow},
    recall, unindexed, window,
};
use crate::{blocks::Figures, machine::Machine, stats::Spread, table::table};

#[derive(Serialize)]
pub(super) struct Report {
    pub(super) machine: Machine,
    /// The index: `embedded` or `qdrant`.
    pub(super) index: &'static str,
    /// Workers that are processes of their own.
    pub(super) workers_apart: u16,
    pub(super) rounds: usize,
    pub(super) block_s: u64,
    /// Absent for a running service, whose indexer cannot be held.
    pub(super) recall_p50_ratio_with_20_unindexed: Option<f64>,
    pub(super) history_ratio_100k_to_100: Option<f64>,
    /// Absent for a running service, whose cache cannot be switched off.
    pub(super) window_ratio_cached_to_uncached: Option<f64>,
    /// Absent for a running service, which may not distill.
    #[serde(flatten)]
    pub(super) context_long: contexts::Ratios,
    pub(super) rss_mb: Option<f64>,
    pub(super) cold_start_s: Option<f64>,
    pub(super) warm_start_s: Option<f64>,
    pub(super) append: append::AppendFigures,
    pub(super) import: ImportFigures,
    pub(super) recall: recall::RecallFigures,
    pub(super) unindexed: Option<unindexed::UnindexedFigures>,
    pub(super) history: Option<history::HistoryFigures>,
    pub(super) window: Option<window::WindowFigures>,
    /// Absent for a running service, whose objects cannot be read.
    pub(super) nodes: Option<nodes::NodeFigures>,
    /// Absent for a running service, which may not distill.
    pub(super) distilled: Option<Distilled>,
}

/// The results of distilling, and its cost for appends.
#[derive(Serialize)]
pub(super) struct Distilled {
    pub(super) compression: f64,
    pub(super) answerable_percent: f64,
    pub(super) same_prefix_percent: f64,
    pub(super) append_p95_ratio: Spread,
    pub(super) observed: observed::ObservationFigures,
    pub(super) contexts: contexts::ContextFigures,
    pub(super) contention: contention::ContentionFigures,
    pub(super) facts: facts::FactFigures,
}

#[derive(Serialize)]
pub(super) struct ImportFigures {
    pub(super) messages: usize,
    pub(super) durable_messages_per_s: f64,
    pub(super) searchable_messages_per_s: f64,
}

/// A row of the summary: the figure, its value, and the aim.
type Row = (&'static str, String, &'static str);

/// Prints the report to standard output.
pub fn print(report: &Report) {
    let (machine, index) = (report.machine.line(), report.index);
    println!(
        "{machine}, index: {index}, workers apart: {}",
        report.workers_apart
    );
    println!(
        "median (lowest–highest) of {} rounds of blocks of {} s\n",
        report.rounds, report.block_s
    );
    summary(report);
    calls(report);
    lines(report);
}

/// Prints what was measured of appends.
pub fn print_appends(append: &append::AppendFigures) {
    println!("{}\n", ratios_of_appends(append));
    let rows = rows_of_appends(append);
    println!("{}", table_of_calls(&rows));
    floors_of_appends(append);
    profile::print_processor_times(&rows);
}

/// Prints what was measured of recall and contexts.
pub fn print_recall(recall: &recall::RecallFigures) {
    let mut summary = table(&["figure", "measured", "aim"], 1);
    for (figure, measured, aim) in ratios_of_recall(recall) {
        summary.add_row([figure.to_owned(), measured, aim.to_owned()]);
    }
    println!("{summary}\n");
    let rows = rows_of_recall(recall);
    println!("{}", table_of_calls(&rows));
    profile::print_processor_times(&rows);
    profile::print_stages(&recall.stages);
}

fn summary(report: &Report) {
    let mut summary = ratios_of_appends(&report.append);
    let rows = [
        ratios_of_recall(&report.recall),
        ratios(report),
        stored(report),
        distilled(report),
        started(report),
    ];
    for (figure, measured, aim) in rows.into_iter().flatten() {
        summary.add_row([figure.to_owned(), measured, aim.to_owned()]);
    }
    println!("{summary}\n");
}

fn ratios_of_appends(append: &append::AppendFigures) -> Table {
    let mut summary = table(&["figure", "measured", "aim"], 1);
    for (callers, measured) in &append.callers {
        let aim = match callers {
            0..32 => "≥ 0.8",
            32.. => "≥ 1.0",
        };
        summary.add_row([
            format!("append to pgbench, {callers} callers"),
            spread(measured.ratio_to_pgbench),
            aim.to_owned(),
        ]);
    }
    summary
}

fn spread(figure: Option<Spread>) -> String {
    figure.map_or("-".to_owned(), |figure| figure.to_string())
}

fn or_dash(value: Option<f64>, unit: &str) -> String {
    value.map_or("-".to_owned(), |value| format!("{value}{unit}"))
}

fn ratios_of_recall(recall: &recall::RecallFigures) -> Vec<Row> {
    vec![
        (
            "recall p50 to its floor",
            spread(recall.p50_ratio_to_floor),
            "≤ 1.2",
        ),
        (
            "HYBRID context p50 to recall p50",
            spread(Some(recall.context_p50_ratio_to_recall)),
            "≤ 1.2",
        ),
    ]
}

fn ratios(report: &Report) -> Vec<Row> {
    vec![
        (
            "recall p50, 20 unindexed messages to none",
            or_dash(report.recall_p50_ratio_with_20_unindexed, ""),
            "≤ 1.3",
        ),
        (
            "history, long thread to short",
            or_dash(report.history_ratio_100k_to_100, ""),
            "≤ 1.3",
        ),
        (
            "window, cached to not cached",
            or_dash(report.window_ratio_cached_to_uncached, ""),
            "< 1",
        ),
        (
            "window context p50, 2,000 messages to few",
            or_dash(report.context_long.context_long_window_p50_ratio, ""),
            "≤ 1.5",
        ),
        (
            "hybrid context p50, the same",
            or_dash(report.context_long.context_long_hybrid_p50_ratio, ""),
            "≤ 1.5",
        ),
        (
            "node context p50, the same",
            or_dash(report.context_long.context_long_node_p50_ratio, ""),
            "≤ 1.5",
        ),
        (
            "working context p50, the same",
            or_dash(report.context_long.context_long_working_p50_ratio, ""),
            "≤ 1.5",
        ),
        (
            "observational context p50, the same",
            or_dash(report.context_long.context_long_observational_p50_ratio, ""),
            "≤ 1.5",
        ),
    ]
}

fn stored(report: &Report) -> Vec<Row> {
    let nodes = |figure: fn(&nodes::NodeFigures) -> String| {
        report.nodes.as_ref().map_or("-".to_owned(), figure)
    };
    vec![
        (
            "node turns lost or duplicated",
            nodes(|nodes| nodes.wrong().to_string()),
            "0",
        ),
        (
            "object writes per flush that folds",
            nodes(|nodes| format!("{:.2}", nodes.writes_per_fold())),
            "1",
        ),
        (
            "node flush p50 to its floor, 1 writer",
            nodes(|nodes| format!("{:.2}", nodes.ratio_to_floor())),
            "",
        ),
    ]
}

fn distilled(report: &Report) -> Vec<Row> {
    let of =
        |figure: fn(&Distilled) -> String| report.distilled.as_ref().map_or("-".to_owned(), figure);
    vec![
        (
            "tool log to its observations",
            of(|distilled| format!("{:.1}", distilled.compression)),
            "≥ 5",
        ),
        (
            "facts of the log in observations",
            of(|distilled| format!("{:.1} %", distilled.answerable_percent)),
            "≥ 80 %",
        ),
        (
            "context found again by a prompt cache",
            of(|distilled| format!("{:.1} %", distilled.same_prefix_percent)),
            "≥ 90 %",
        ),
        (
            "append p95, distilling to not distilling",
            of(|distilled| distilled.append_p95_ratio.to_string()),
            "≤ 1.05",
        ),
        (
            "memories promoted per second",
            of(|distilled| format!("{:.0}", distilled.facts.promoted_per_s)),
            "",
        ),
        (
            "memories extracted per second",
            of(|distilled| {
                let rate = distilled.facts.extracted_per_s;
                rate.map_or("-".to_owned(), |rate| format!("{rate:.0}"))
            }),
            "",
        ),
    ]
}

fn started(report: &Report) -> Vec<Row> {
    let import = &report.import;
    vec![
        (
            "import, messages/s until durable",
            format!("{:.0}", import.durable_messages_per_s),
            "",
        ),
        (
            "import, messages/s until searchable",
            format!("{:.0}", import.searchable_messages_per_s),
            "≥ 450",
        ),
        (
            "resident memory after import",
            or_dash(report.rss_mb, " MB"),
            "< 600 MB",
        ),
        (
            "cold start to ready",
            or_dash(report.cold_start_s, " s"),
            "< 3 s",
        ),
        (
            "start on existing data",
            or_dash(report.warm_start_s, " s"),
            "< 1 s",
        ),
    ]
}

/// Throughput and latency of each kind of call, and what it uses.
fn calls(report: &Report) {
    let mut rows = rows_of_appends(&report.append);
    rows.extend(rows_of_recall(&report.recall));
    println!("{}", table_of_calls(&rows));
    println!("callers \"n/s\": arrivals at a fixed rate; latency from the time that each was due");
    floors_of_appends(&report.append);
    profile::print_processor_times(&rows);
    profile::print_stages(&report.recall.stages);
    println!();
}

fn rows_of_recall(recall: &recall::RecallFigures) -> Vec<CallRow<'_>> {
    let mut rows = Vec::new();
    for (name, by_callers, at_rate) in [
        ("recall", &recall.recall, &recall.recall_at_rate),
        (
            "HYBRID context",
            &recall.context_hybrid,
            &recall.context_hybrid_at_rate,
        ),
    ] {
        for (callers, figures) in by_callers {
            rows.push(CallRow::new(name, callers, figures));
        }
        rows.push(CallRow::new(name, format!("{}/s", recall.rate), at_rate));
    }
    rows.push(CallRow::new("WINDOW context", 1, &recall.context_window));
    if let Some(floor) = &recall.floor {
        rows.push(CallRow::new("floor of recall", 1, floor));
    }
    for (part, figures) in &recall.floor_parts {
        rows.push(CallRow::new(format!("  {part}"), 1, figures));
    }
    rows
}

fn rows_of_appends(append: &append::AppendFigures) -> Vec<CallRow<'_>> {
    let by_callers = append.callers.iter();
    let mut rows: Vec<CallRow<'_>> = by_callers
        .map(|(callers, measured)| CallRow::new("append", callers, &measured.service))
        .collect();
    let rate = format!("{}/s", append.rate);
    rows.push(CallRow::new("append", rate, &append.at_rate));
    rows.push(CallRow::new("health check", 1, &append.health_check));
    rows
}

fn table_of_calls(rows: &[CallRow<'_>]) -> Table {
    let headings = ["", "callers"].into_iter().chain(Figures::HEADINGS);
    let headings: Vec<&str> = headings.collect();
    let mut calls = table(&headings, 1);
    for row in rows {
        calls.add_row(row.cells(row.figures.cells()));
    }
    calls
}

fn floors_of_appends(append: &append::AppendFigures) {
    for (callers, measured) in &append.callers {
        if let Some(floor) = measured.pgbench_per_s {
            println!("pgbench with {callers} clients: {floor} appends/s");
        }
    }
}

/// What has no place in the tables.
fn lines(report: &Report) {
    if let Some(unindexed) = &report.unindexed {
        println!("recall of unindexed messages: {}", unindexed.line());
    }
    if let Some(history) = &report.history {
        println!("history: {}", history.line());
    }
    if let Some(window) = &report.window {
        println!("window: {}", window.line());
    }
    if let Some(nodes) = &report.nodes {
        for line in nodes.lines() {
            println!("{line}");
        }
    }
    if let Some(Distilled {
        observed,
        contexts,
        contention,
        facts,
        ..
    }) = &report.distilled
    {
        println!("loop: {}", observed.line());
        for line in contexts.lines() {
            println!("context of a long conversation, {line}");
        }
        println!("appends: {}", contention.line());
        println!("memories: {}", facts.line());
    }
}
