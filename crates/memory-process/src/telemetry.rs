//! Logs, traces and metrics of the process.

use std::io::IsTerminal as _;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use memory_config::{LogFormat, TelemetryConfig};
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};
use opentelemetry::Key;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::tonic_types::transport::ClientTlsConfig;
use opentelemetry_otlp::{
    ExporterBuildError, SpanExporter, WithExportConfig as _, WithTonicConfig as _,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing::level_filters::LevelFilter;
use tracing::{Level, Metadata};
use tracing_subscriber::filter::{FilterExt as _, FilterFn, ParseError, filter_fn};
use tracing_subscriber::layer::{Filter, SubscriberExt as _};
use tracing_subscriber::util::{SubscriberInitExt as _, TryInitError};
use tracing_subscriber::{EnvFilter, Layer as _, fmt};

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
/// Dependencies that log at `info` lines of no use to an operator. A
/// configured directive for the same target wins.
const QUIET: &str = "qdrant_edge=error";
/// A dependency whose events below `error` contain what clients send.
const TALKATIVE: &str = "rmcp";

/// Keeps traces flowing; dropped, it sends the last ones.
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
    /// The log level is invalid.
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
pub fn init_telemetry(config: &TelemetryConfig) -> Result<Telemetry, TelemetryError> {
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

/// The filter of logs: the configured levels, without events that may contain message text.
fn logged<S: 'static>(
    log_level: &str,
) -> Result<impl Filter<S> + Send + Sync + 'static, ParseError> {
    let level = EnvFilter::try_new(format!("{QUIET},{log_level}"))?;
    // Both filters have to give a hint, or nothing is left out early.
    let most = level.max_level_hint().unwrap_or(LevelFilter::TRACE);
    let discreet = FilterFn::new(discreet as fn(&Metadata<'_>) -> bool).with_max_level_hint(most);
    Ok(level.and(discreet))
}

/// The filter of traces, independent of the log level.
fn exported(meta: &Metadata<'_>) -> bool {
    // The exporter's own calls must not be traced.
    let exporting = ["h2", "hyper", "tonic", "tower", "opentelemetry"]
        .iter()
        .any(|other| meta.target().starts_with(other));
    discreet(meta) && !exporting
}

/// Whether an event certainly contains no message text. Below `info`, libraries log their
/// data: tokio-postgres the parameters of each statement, tokenizers each character. No
/// configuration can enable that; only our own crates, which never log text, may log
/// below `info`.
fn discreet(meta: &Metadata<'_>) -> bool {
    let name = meta.target().split("::").next().unwrap_or_default();
    let ours = name == SERVICE || name.starts_with("memory_");
    let least = if name == TALKATIVE {
        Level::ERROR
    } else {
        Level::INFO
    };
    ours || *meta.level() <= least
}

/// The process's metrics. The recorder is made by the first call.
pub(crate) fn recorder() -> Result<PrometheusHandle, TelemetryError> {
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
    describe_metrics();
    Ok(RECORDER.get_or_init(|| handle).clone())
}

impl Drop for Telemetry {
    fn drop(&mut self) {
        if let Some(tracer) = self.tracer.take() {
            // An error could not be reported any more.
            let _ = tracer.shutdown_with_timeout(FLUSH);
        }
    }
}

fn tracer_to(endpoint: &str) -> Result<SdkTracerProvider, ExporterBuildError> {
    let exporter = SpanExporter::builder().with_tonic().with_endpoint(endpoint);
    let exporter = match endpoint.starts_with("https://") {
        true => exporter.with_tls_config(ClientTlsConfig::new().with_native_roots()),
        false => exporter,
    };
    let exporter = exporter.build()?;
    Ok(SdkTracerProvider::builder()
        .with_batch_exporter(exporter)
        .with_resource(resource())
        .build())
}

/// What traces say of this process: OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES, and the
/// default name where neither has one.
fn resource() -> Resource {
    let detected = Resource::builder().build();
    let name = detected.get(&Key::from_static_str("service.name"));
    let is_named = name.is_some_and(|name| !name.as_str().starts_with("unknown_service"));
    match is_named {
        true => detected,
        false => Resource::builder().with_service_name(SERVICE).build(),
    }
}

fn describe_metrics() {
    memory_runtime::task::describe_metrics();
    memory_store::describe_metrics();
    memory_embed::describe_metrics();
    memory_index::describe_metrics();
    memory_recall::describe_metrics();
    memory_worker::describe_metrics();
    memory_server::describe_metrics();
}

#[cfg(test)]
mod tests;
