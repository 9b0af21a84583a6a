//! The load report as tables, ratios first.

use super::{Distilled, Report, nodes};
use crate::table::table;

/// Prints the report to standard output.
pub fn print(report: &Report) {
    println!("{}\n", report.machine.line());

    let mut summary = table(&["figure", "measured", "aim"], 1);
    for (callers, ratio) in &report.append_ratio_to_pgbench {
        summary.add_row([
            format!("append to pgbench, {callers} callers"),
            format!("{ratio:.2}"),
            "≥ 0.6".to_owned(),
        ]);
    }
    let or_dash = |value: Option<f64>, unit: &str| {
        value.map_or("-".to_owned(), |value| format!("{value}{unit}"))
    };
    let nodes = |figure: fn(&nodes::Measured) -> String| {
        report.nodes.as_ref().map_or("-".to_owned(), figure)
    };
    let distilled =
        |figure: fn(&Distilled) -> String| report.distilled.as_ref().map_or("-".to_owned(), figure);
    for (figure, measured, aim) in [
        (
            "recall p50 to its floor",
            or_dash(report.recall_p50_ratio_to_floor, ""),
            "≤ 1.5",
        ),
        (
            "recall p50",
            format!("{:.2} ms", report.recall.recall.p50_ms),
            "< 8 ms",
        ),
        (
            "recall p50, 20 unindexed messages to none",
            or_dash(report.recall_p50_ratio_with_20_unindexed, ""),
            "≤ 1.3",
        ),
        (
            "HYBRID context p50 to recall p50",
            format!("{:.2}", report.context_p50_ratio_to_recall),
            "≤ 1.3",
        ),
        (
            "history, long thread to short",
            format!("{:.2}", report.history_ratio_100k_to_100),
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
        (
            "node turns lost or doubled",
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
        (
            "tool log to its observations",
            distilled(|distilled| format!("{:.1}", distilled.compression)),
            "≥ 5",
        ),
        (
            "facts of the log in observations",
            distilled(|distilled| format!("{:.1} %", distilled.answerable_percent)),
            "≥ 80 %",
        ),
        (
            "context found again by a prompt cache",
            distilled(|distilled| format!("{:.1} %", distilled.same_prefix_percent)),
            "≥ 90 %",
        ),
        (
            "append p95, distilling to not distilling",
            distilled(|distilled| format!("{:.2}", distilled.append_p95_ratio)),
            "≤ 1.05",
        ),
        (
            "memories promoted per second",
            distilled(|distilled| format!("{:.0}", distilled.facts.promoted_per_s)),
            "",
        ),
        (
            "memories extracted per second",
            distilled(|distilled| {
                let rate = distilled.facts.extracted_per_s;
                rate.map_or("-".to_owned(), |rate| format!("{rate:.0}"))
            }),
            "",
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
            "",
        ),
    ] {
        summary.add_row([figure.to_owned(), measured, aim.to_owned()]);
    }
    println!("{summary}\n");

    let headings = [
        "callers",
        "to pgbench",
        "appends/s",
        "pgbench/s",
        "p50 ms",
        "p95 ms",
        "p99 ms",
    ];
    let mut appends = table(&headings, 0);
    for (callers, measured) in &report.append {
        appends.add_row([callers.to_string()].into_iter().chain(measured.row()));
    }
    println!("{appends}\n");

    println!(
        "import of {} messages: {:.0}/s to durable, {:.0}/s to searchable",
        report.import.messages,
        report.import.durable_messages_per_s,
        report.import.searchable_messages_per_s
    );
    println!("recall: {}", report.recall.line());
    if let Some(unindexed) = &report.unindexed {
        println!("recall of unindexed messages: {}", unindexed.line());
    }
    println!("context: {}", report.recall.contexts_line());
    println!("history: {}", report.history.line());
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
