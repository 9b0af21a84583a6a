//! One span and one set of metrics for each call.

use std::time::Instant;

use http::HeaderMap;
use memory_grpc::status::code_name;
use metrics::{
    Label, Unit, counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram,
};
use opentelemetry::propagation::Extractor;
use tonic::{Code, Status};
use tracing::{Instrument as _, Span, field};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

use super::around::{Around, Inner};
use super::methods::{Method, UNKNOWN};
use super::{Answer, Methods, Request, body};

/// Opens a span that continues the caller's trace, counts calls by method and
/// code, and measures them to the end of their answer.
#[derive(Clone, Debug)]
pub(crate) struct Observe {
    methods: Methods,
}

impl Observe {
    pub(crate) fn new(methods: Methods) -> Self {
        Self { methods }
    }
}

impl Around for Observe {
    fn call<S: Inner>(&self, inner: &mut S, request: Request) -> Answer<S::Error> {
        let call = Call::start(self.methods.of(request.uri().path()).clone());
        let span = span(&call.method, request.headers());
        let answer = inner.call(request).instrument(span.clone());
        Box::pin(async move {
            let response = answer.await?;
            // An error without a body stands in the headers; everything else
            // ends with trailers.
            if let Some(status) = Status::from_header_map(response.headers()) {
                call.end(&span, status.code());
                return Ok(response);
            }
            Ok(response.map(|body| body::on_end(body, move |code| call.end(&span, code))))
        })
    }
}

/// A call under way. Dropped early, it was cancelled.
struct Call {
    method: Method,
    start: Instant,
    ended: bool,
}

impl Call {
    fn start(method: Method) -> Self {
        gauge!("recollect_rpc_in_flight", "method" => method.name.to_string()).increment(1.0);
        Self {
            method,
            start: Instant::now(),
            ended: false,
        }
    }

    fn end(mut self, span: &Span, code: Code) {
        span.record("rpc.response.status_code", code_name(code));
        if is_server_error(code) {
            span.record("error.type", code_name(code));
            span.record("otel.status_code", "ERROR");
        }
        self.measure(code);
    }

    fn measure(&mut self, code: Code) {
        self.ended = true;
        let elapsed = self.start.elapsed();
        let service = self.method.service.to_string();
        let method = self.method.name.to_string();
        let status = code;
        let code = code_name(status);
        gauge!("recollect_rpc_in_flight", "method" => method.clone()).decrement(1.0);
        counter!("recollect_rpc_total",
            "service" => service.clone(), "method" => method.clone(), "code" => code)
        .increment(1);
        histogram!("recollect_rpc_seconds",
            "service" => service, "method" => method.clone(), "code" => code)
        .record(elapsed.as_secs_f64());
        let mut labels = vec![
            Label::new("rpc_system_name", "grpc"),
            Label::new("rpc_method", full_name(&self.method)),
            Label::new("rpc_response_status_code", code),
        ];
        if is_server_error(status) {
            labels.push(Label::new("error_type", code));
        }
        histogram!("rpc_server_call_duration_seconds", labels).record(elapsed.as_secs_f64());
        if self.method.ours {
            let duration_ms = elapsed.as_secs_f64() * 1_000.0;
            tracing::debug!(method, code, duration_ms, "call");
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if !self.ended {
            self.measure(Code::Cancelled);
        }
    }
}

fn span(method: &Method, headers: &HeaderMap) -> Span {
    // The health checks of an orchestrator would drown everything else.
    if !method.ours {
        return Span::none();
    }
    let span = tracing::info_span!(
        "rpc",
        otel.name = format!("{}/{}", method.service, method.name),
        otel.kind = "server",
        otel.status_code = field::Empty,
        rpc.system.name = "grpc",
        rpc.method = full_name(method),
        rpc.response.status_code = field::Empty,
        error.type = field::Empty,
    );
    let parent = opentelemetry::global::get_text_map_propagator(|propagator| {
        propagator.extract(&Headers(headers))
    });
    // Without a tracer there is no parent to set.
    let _ = span.set_parent(parent);
    span
}

/// `rpc.method` of OpenTelemetry's conventions, which name all unknown methods alike.
fn full_name(method: &Method) -> String {
    match method.service.as_ref() {
        UNKNOWN => "_OTHER".to_owned(),
        service => format!("{service}/{}", method.name),
    }
}

struct Headers<'a>(&'a HeaderMap);

impl Extractor for Headers<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key)?.to_str().ok()
    }

    fn keys(&self) -> Vec<&str> {
        self.0.keys().map(http::HeaderName::as_str).collect()
    }
}

/// Whether OpenTelemetry counts a code as an error of the server.
fn is_server_error(code: Code) -> bool {
    matches!(
        code,
        Code::Unknown
            | Code::DeadlineExceeded
            | Code::Unimplemented
            | Code::Internal
            | Code::Unavailable
            | Code::DataLoss
    )
}

pub(crate) fn describe_metrics() {
    describe_counter!("recollect_rpc_total", "Calls, by service, method and code.");
    describe_histogram!(
        "recollect_rpc_seconds",
        Unit::Seconds,
        "Time from the arrival of a call to the end of its response."
    );
    describe_gauge!("recollect_rpc_in_flight", "Calls in flight, by method.");
    // The name and the labels of OpenTelemetry's conventions, as Prometheus writes them.
    describe_histogram!(
        "rpc_server_call_duration_seconds",
        Unit::Seconds,
        "Time from the arrival of a call to the end of its response: \
         rpc.server.call.duration."
    );
}
