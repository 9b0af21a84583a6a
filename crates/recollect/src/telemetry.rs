//! Logs, traces and metrics of the process.

use std::io::IsTerminal as _;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::{ExporterBuildError, SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing::level_filters::LevelFilter;
use tracing::{Level, Metadata};
use tracing_subscriber::filter::{FilterExt as _, FilterFn, ParseError, filter_fn};
use tracing_subscriber::layer::{Filter, SubscriberExt as _};
use tracing_subscriber::util::{SubscriberInitExt as _, TryInitError};
use tracing_subscriber::{EnvFilter, Layer as _, fmt};

use crate::config::{LogFormat, TelemetryConfig};

/// Buckets of everything measured in seconds: half a millisecond to a minute.
const SECONDS: [f64; 16] = [
    0.0005, 0.001, 0.002, 0.004, 0.008, 0.015, 0.03, 0.06, 0.125, 0.25, 0.5, 1.0, 2.0, 5.0, 15.0,
    60.0,
];
/// Buckets of batch sizes.
const SIZES: [f64; 10] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0];
/// How long the last traces may take to leave.
const FLUSH: Duration = Duration::from_secs(5);
const SERVICE: &str = "recollect";
/// Dependencies that say at `info` what is of no use to an operator. A
/// configured directive for the same target wins.
const QUIET: &str = "qdrant_edge=error";

/// Keeps traces flowing; dropped, it sends what is left.
#[derive(Debug)]
#[must_use = "dropped, it ends tracing"]
pub struct Telemetry {
    tracer: Option<SdkTracerProvider>,
}

/// Why logs, traces or metrics could not be set up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TelemetryError {
    /// Another logger is there.
    #[error("logging is set up already")]
    AlreadySet(#[from] TryInitError),
    /// The log level is none.
    #[error("telemetry.log_level: must be a level such as `info`, or directives")]
    Level(#[from] ParseError),
    /// The trace exporter could not be made.
    #[error("telemetry.otlp_endpoint: cannot be used")]
    Exporter(#[from] ExporterBuildError),
    /// Another metrics recorder is there.
    #[error("metrics are set up already")]
    Metrics(#[source] BuildError),
}

/// Sets up logs to stderr, and traces by OTLP where an endpoint is configured.
/// Once in a process, inside a Tokio runtime.
///
/// # Errors
/// [`TelemetryError`].
pub fn init(config: &TelemetryConfig) -> Result<Telemetry, TelemetryError> {
    let level = logged(&config.log_level)?;
    let lines = match config.log_format {
        LogFormat::Json => fmt::layer()
            .json()
            .flatten_event(true)
            .with_current_span(true)
            .with_span_list(false)
            .with_writer(std::io::stderr)
            .boxed(),
        LogFormat::Pretty => fmt::layer()
            .with_ansi(std::io::stderr().is_terminal())
            .with_writer(std::io::stderr)
            .boxed(),
    };
    let tracer = config.otlp_endpoint.as_deref().map(tracer_to).transpose()?;
    let traces = tracer.as_ref().map(|provider| {
        opentelemetry::global::set_text_map_propagator(TraceContextPropagator::new());
        tracing_opentelemetry::layer()
            .with_tracer(provider.tracer(SERVICE))
            .with_filter(filter_fn(exported))
    });
    tracing_subscriber::registry()
        .with(traces)
        .with(lines.with_filter(level))
        .try_init()?;
    Ok(Telemetry { tracer })
}

/// What is logged: what is configured, as far as it is discreet.
fn logged<S: 'static>(
    log_level: &str,
) -> Result<impl Filter<S> + Send + Sync + 'static, ParseError> {
    let level = EnvFilter::try_new(format!("{QUIET},{log_level}"))?;
    // Both filters have to give a hint, or nothing is left out early.
    let most = level.max_level_hint().unwrap_or(LevelFilter::TRACE);
    let discreet = FilterFn::new(discreet as fn(&Metadata<'_>) -> bool).with_max_level_hint(most);
    Ok(level.and(discreet))
}

/// What is traced, whatever is logged.
fn exported(meta: &Metadata<'_>) -> bool {
    // The exporter's own calls must not make traces of their own.
    let exporting = ["h2", "hyper", "tonic", "tower", "opentelemetry"]
        .iter()
        .any(|other| meta.target().starts_with(other));
    discreet(meta) && !exporting
}

/// Whether it is sure to have no message's text in it. Below `info`, libraries
/// tell whatever they work on: tokio-postgres the parameters of each statement,
/// tokenizers each character. No configuration can ask for that; only our own
/// crates, which never log text, have more to say.
fn discreet(meta: &Metadata<'_>) -> bool {
    let name = meta.target().split("::").next().unwrap_or_default();
    let ours = name == SERVICE || name.starts_with("memory_");
    ours || *meta.level() <= Level::INFO
}

/// The process's metrics. The recorder is made by the first call.
pub fn recorder() -> Result<PrometheusHandle, TelemetryError> {
    static RECORDER: OnceLock<PrometheusHandle> = OnceLock::new();
    static MAKING: Mutex<()> = Mutex::new(());
    let _making = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(handle) = RECORDER.get() {
        return Ok(handle.clone());
    }
    let handle = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &SECONDS)
        .and_then(|builder| {
            builder.set_buckets_for_metric(Matcher::Suffix("_size".to_owned()), &SIZES)
        })
        .and_then(PrometheusBuilder::install_recorder)
        .map_err(TelemetryError::Metrics)?;
    describe();
    memory_recall::describe_metrics();
    Ok(RECORDER.get_or_init(|| handle).clone())
}

impl Drop for Telemetry {
    fn drop(&mut self) {
        if let Some(tracer) = self.tracer.take() {
            // Nobody is left to be told.
            let _ = tracer.shutdown_with_timeout(FLUSH);
        }
    }
}

fn tracer_to(endpoint: &str) -> Result<SdkTracerProvider, ExporterBuildError> {
    let exporter = SpanExporter::builder()
        .with_tonic()
        .with_endpoint(endpoint)
        .build()?;
    Ok(SdkTracerProvider::builder()
        .with_batch_exporter(exporter)
        .with_resource(Resource::builder().with_service_name(SERVICE).build())
        .build())
}

fn describe() {
    use metrics::{Unit, describe_counter, describe_gauge, describe_histogram};

    describe_counter!("recollect_rpc_total", "Calls by service, method and code.");
    describe_histogram!(
        "recollect_rpc_seconds",
        Unit::Seconds,
        "Time from a call's arrival to the end of its answer."
    );
    describe_gauge!("recollect_rpc_in_flight", "Calls under way.");
    describe_gauge!(
        "recollect_outbox_depth",
        "Changes that the index has yet to learn."
    );
    describe_gauge!("recollect_outbox_lag_seconds", "Age of the oldest of them.");
    describe_gauge!(
        "recollect_outbox_dead_letters",
        "Changes that were given up."
    );
    describe_gauge!("recollect_pool_open", "Open database connections by pool.");
    describe_gauge!(
        "recollect_pool_idle",
        "Database connections that nobody uses."
    );
    describe_gauge!(
        "recollect_pool_waiting",
        "Calls that wait for a database connection."
    );
    describe_gauge!(
        "recollect_pool_max",
        "The most database connections that may be open."
    );
    describe_counter!(
        "recollect_window_cache_total",
        "Windows that the cache may have, by outcome: hit or miss."
    );
    describe_gauge!(
        "recollect_ephemeral_threads",
        "Ephemeral threads of all tenants that are not erased yet."
    );
    describe_gauge!(
        "recollect_ephemeral_bytes",
        "Bytes of the parts and metadata of their messages."
    );
    describe_gauge!(
        "recollect_node_turns_waiting",
        "Turns of nodes that wait for a flush."
    );
    describe_gauge!(
        "recollect_node_flush_lag_seconds",
        "Age of the oldest of them."
    );
    describe_gauge!("recollect_nodes_failing", "Nodes whose last flush failed.");
    describe_gauge!(
        "recollect_object_deletions_pending",
        "Objects that are still to be erased."
    );
    describe_counter!(
        "recollect_object_writes_total",
        "Conditional writes of objects, by outcome: done, conflict or failed."
    );
    describe_gauge!(
        "recollect_distill_waiting",
        "Threads that wait to be distilled or are being distilled."
    );
    describe_gauge!(
        "recollect_distill_lag_seconds",
        "How long the oldest of them waits."
    );
    describe_gauge!(
        "recollect_distill_failing",
        "Threads whose last look failed."
    );
    describe_counter!(
        "recollect_distilled_total",
        "Texts stored, by kind and by who made them."
    );
    describe_counter!(
        "recollect_extracted_facts_total",
        "Facts taken out of messages, by what became of them."
    );
    describe_counter!(
        "recollect_model_calls_total",
        "Calls of language models, by outcome."
    );
    describe_counter!(
        "recollect_model_answers_malformed_total",
        "Answers to questions for facts that could not be read, even when asked again."
    );
    describe_gauge!(
        "recollect_model_breaker_open",
        "1: the model of this purpose is left alone after repeated failures, or tried again."
    );
    describe_counter!(
        "recollect_model_tokens_total",
        "Tokens of language models, by kind: input or output."
    );
    describe_gauge!(
        "recollect_ready",
        "2: ready, 1: degraded, 0: starting or unavailable."
    );
    describe_counter!(
        "recollect_job_runs_total",
        "Runs of background jobs by name and outcome."
    );
    describe_counter!(
        "recollect_refusals_dropped_total",
        "Refused changes that are missing in the record of who did what."
    );
    describe_histogram!(
        "recollect_job_seconds",
        Unit::Seconds,
        "Time of background jobs' runs."
    );
}

#[cfg(test)]
mod tests {
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
            tracing::debug!(target: "memory_store::pool", "ours");
            tracing::trace!(target: "recollect", "ours");
        });
        capture.0.lock().unwrap().clone()
    }

    #[test]
    fn no_configuration_makes_a_library_tell_what_it_works_on() {
        let all = [
            "INFO fastembed",
            "DEBUG memory_store::pool",
            "TRACE recollect",
        ];
        for level in ["trace", "trace,tokio_postgres=trace,tokenizers=trace"] {
            assert_eq!(captured(logged(level).unwrap()), all, "{level}");
        }
        assert_eq!(captured(filter_fn(exported)), all);
        let info = ["INFO fastembed"];
        assert_eq!(captured(logged("info").unwrap()), info);
        let postgres = logged("info,tokio_postgres=debug").unwrap();
        assert_eq!(captured(postgres), info);
    }
}
