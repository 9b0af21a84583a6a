//! Tests of logs, traces and metrics.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tracing_subscriber::{Layer, Registry, layer::Context};

use super::*;

/// Notes the target and level of every event.
#[derive(Clone, Default)]
struct Capture(Arc<Mutex<Vec<String>>>);

impl<S: tracing::Subscriber> Layer<S> for Capture {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        let meta = event.metadata();
        let line = format!("{} {}", meta.level(), meta.target());
        self.0.lock().unwrap().push(line);
    }
}

fn captured(filter: impl Filter<Registry> + Send + Sync + 'static) -> Vec<String> {
    let capture = Capture::default();
    let subscriber = tracing_subscriber::registry().with(capture.clone().with_filter(filter));
    tracing::subscriber::with_default(subscriber, || {
        tracing::debug!(target: "tokio_postgres::query", "parameters");
        tracing::trace!(target: "tokenizers::tokenizer", "characters");
        tracing::debug!(target: "memoryless", "of somebody else");
        tracing::info!(target: "fastembed", "of somebody else");
        tracing::warn!(target: "rmcp::service", "what a client sent");
        tracing::error!(target: "rmcp::service", "of somebody else");
        tracing::debug!(target: "memory_store::pool", "ours");
        tracing::trace!(target: "recollect", "ours");
    });
    capture.0.lock().unwrap().clone()
}

#[test]
fn no_configuration_makes_a_library_log_its_data() {
    let all = [
        "INFO fastembed",
        "ERROR rmcp::service",
        "DEBUG memory_store::pool",
        "TRACE recollect",
    ];
    for level in ["trace", "trace,tokio_postgres=trace,tokenizers=trace"] {
        assert_eq!(captured(logged(level).unwrap()), all, "{level}");
    }
    assert_eq!(captured(filter_fn(exported)), all);
    let info = ["INFO fastembed", "ERROR rmcp::service"];
    assert_eq!(captured(logged("info").unwrap()), info);
    let postgres = logged("info,tokio_postgres=debug").unwrap();
    assert_eq!(captured(postgres), info);
}

/// The names in calls of `counter!`, `gauge!` and `histogram!`, and in those that
/// describe them, of one source file.
fn metrics_of(source: &str) -> (BTreeSet<String>, BTreeSet<String>) {
    let source: String = source.split_whitespace().collect();
    let names = |prefix: &str| -> BTreeSet<String> {
        ["counter!(\"", "gauge!(\"", "histogram!(\""]
            .into_iter()
            .flat_map(|kind| {
                let call = format!("{prefix}{kind}");
                let parts: Vec<String> = source.split(&call).map(str::to_owned).collect();
                parts
                    .windows(2)
                    .filter(|pair| !prefix.is_empty() || !pair[0].ends_with("describe_"))
                    .filter_map(|pair| Some(pair[1].split_once('"')?.0.to_owned()))
                    .collect::<Vec<_>>()
            })
            .filter(|name| name.starts_with("recollect_"))
            .collect()
    };
    (names(""), names("describe_"))
}

fn rust_files(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

#[test]
fn every_metric_is_described_in_the_file_that_emits_it() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = Vec::new();
    for name in [
        "memory-objects",
        "memory-conversations",
        "memory-derived",
        "memory-embed",
        "memory-index",
        "memory-recall",
        "memory-distill",
        "memory-context",
        "memory-webhooks",
        "memory-worker",
        "memory-api",
        "memory-server",
    ] {
        rust_files(&crates.join(name).join("src"), &mut files);
    }
    let mut count = 0;
    for file in files {
        let (emitted, described) = metrics_of(&std::fs::read_to_string(&file).unwrap());
        assert_eq!(emitted, described, "{}", file.display());
        count += emitted.len();
    }
    assert!(count > 30, "only {count} metrics were found");
}
