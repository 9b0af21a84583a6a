//! Streamable HTTP in front of a gRPC stack.
//!
//! It is stateless: each POST is one request of the protocol with its own key, and is answered
//! with JSON. There are no sessions to steal, to count or to expire.

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures::future::{BoxFuture, Either};
use http::header::CONTENT_LENGTH;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body::Body as _;
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use memory_http::{failed, problem};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::time::timeout;
use tonic::Status;
use tonic::body::Body;
use tower::{BoxError, Layer, Service};

use crate::api::Transport;
use crate::server::MemoryServer;

/// Where it is served.
pub const PATH: &str = "/mcp";
/// The largest request.
const BODY_BYTES: usize = 1024 * 1024;
/// How long a request may take to arrive.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);
/// How long an answer may take: longer than the few calls of a tool.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(180);
/// Origins of pages on this machine.
const LOCAL_ORIGINS: [&str; 6] = [
    "http://localhost:*",
    "http://127.0.0.1:*",
    "http://[::1]:*",
    "https://localhost:*",
    "https://127.0.0.1:*",
    "https://[::1]:*",
];

/// A request under way. Dropped, it makes room for another one.
pub type Permit = Box<dyn Send>;
/// Admits a request by the credential in its headers.
pub type Admit = Arc<dyn Fn(HeaderMap) -> BoxFuture<'static, Result<Permit, Status>> + Send + Sync>;

/// What the layer has to know of the server.
#[derive(Clone)]
pub struct McpConfig {
    /// The origins whose pages may call from a browser; `*`: all. Requests from other pages
    /// are refused.
    pub origins: Vec<String>,
    /// Whether calls need no credential. Then pages on the same machine may call too.
    pub open: bool,
    /// Admits a request before it is read.
    pub admit: Admit,
}

impl fmt::Debug for McpConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpConfig")
            .field("origins", &self.origins)
            .field("open", &self.open)
            .finish_non_exhaustive()
    }
}

/// Serves the protocol at [`PATH`] by calls to the stack inside; passes other requests on.
#[derive(Clone, Debug)]
pub struct McpLayer {
    config: McpConfig,
}

impl McpLayer {
    /// The layer; outside of the stack that carries its calls out.
    pub fn new(config: McpConfig) -> Self {
        Self { config }
    }
}

impl<S> Layer<S> for McpLayer
where
    S: Service<Request<Body>, Response = Response<Body>> + Clone + Send + Sync + 'static,
    S::Future: Send + 'static,
    S::Error: Into<BoxError> + 'static,
{
    type Service = Mcp<S>;

    fn layer(&self, inner: S) -> Mcp<S> {
        let transport = Transport::new(inner.clone());
        let server = move || Ok(MemoryServer::of_requests(transport.clone()));
        let config = rmcp_config(&self.config);
        let sessions = Arc::new(NeverSessionManager::default());
        Mcp {
            endpoint: Endpoint {
                service: StreamableHttpService::new(server, sessions, config),
                admit: Arc::clone(&self.config.admit),
            },
            inner,
        }
    }
}

fn rmcp_config(config: &McpConfig) -> StreamableHttpServerConfig {
    let rmcp = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(BODY_BYTES)
        // `memory-http` checks the host where that protects anything.
        .disable_allowed_hosts();
    if config.origins.iter().any(|origin| origin == "*") {
        return rmcp.disable_allowed_origins();
    }
    let local = LOCAL_ORIGINS.into_iter().filter(|_| config.open);
    let origins = config.origins.iter().map(|origin| with_port(origin));
    rmcp.with_allowed_origins(origins.chain(local.map(str::to_owned)))
        .enforce_origin_validation()
}

/// An origin with its port, also where it is the usual one.
fn with_port(origin: &str) -> String {
    let has_port = origin
        .rsplit_once(':')
        .is_some_and(|(_, port)| !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()));
    match (has_port, origin.starts_with("https:")) {
        (true, _) => origin.to_owned(),
        (false, true) => format!("{origin}:443"),
        (false, false) => format!("{origin}:80"),
    }
}

/// A gRPC stack behind an [`McpLayer`].
#[derive(Clone)]
pub struct Mcp<S> {
    endpoint: Endpoint,
    inner: S,
}

impl<S> fmt::Debug for Mcp<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mcp").finish_non_exhaustive()
    }
}

#[derive(Clone)]
struct Endpoint {
    service: StreamableHttpService<MemoryServer, NeverSessionManager>,
    admit: Admit,
}

impl<S> Service<Request<Body>> for Mcp<S>
where
    S: Service<Request<Body>, Response = Response<Body>>,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = Either<S::Future, BoxFuture<'static, Result<Response<Body>, S::Error>>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        if request.uri().path() != PATH {
            return Either::Left(self.inner.call(request));
        }
        let endpoint = self.endpoint.clone();
        Either::Right(Box::pin(async move { Ok(endpoint.answer(request).await) }))
    }
}

impl Endpoint {
    async fn answer(self, request: Request<Body>) -> Response<Body> {
        let _permit = match (self.admit)(request.headers().clone()).await {
            Ok(permit) => permit,
            Err(status) => return failed(&status),
        };
        let request = match request.method() {
            &Method::POST => match read(request).await {
                Ok(request) => request,
                Err(refusal) => return *refusal,
            },
            _ => request.map(|_| Full::default()),
        };
        let Ok(mut response) = timeout(ANSWER_TIMEOUT, self.service.handle(request)).await else {
            return problem(
                StatusCode::GATEWAY_TIMEOUT,
                "deadline_exceeded",
                "the answer was not ready in time; try again",
            );
        };
        // Of a known length, the answer is dropped if it is not read in time.
        if let Some(length) = response.body().size_hint().exact() {
            let headers = response.headers_mut();
            headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
        }
        response.map(|body| Body::new(body.map_err(|never: Infallible| match never {})))
    }
}

/// Reads a request to its end.
async fn read(request: Request<Body>) -> Result<Request<Full<Bytes>>, Box<Response<Body>>> {
    let refuse = |status, code, message: &str| Err(Box::new(problem(status, code, message)));
    let (parts, body) = request.into_parts();
    let reading = Limited::new(body, BODY_BYTES).collect();
    match timeout(BODY_TIMEOUT, reading).await {
        Ok(Ok(body)) => Ok(Request::from_parts(parts, Full::new(body.to_bytes()))),
        Ok(Err(error)) if error.is::<LengthLimitError>() => refuse(
            StatusCode::PAYLOAD_TOO_LARGE,
            "resource_exhausted",
            "a request has at most 1 MiB; send fewer messages at a time",
        ),
        Ok(Err(_)) => refuse(
            StatusCode::BAD_REQUEST,
            "invalid_argument",
            "the request ended early",
        ),
        Err(_) => refuse(
            StatusCode::REQUEST_TIMEOUT,
            "deadline_exceeded",
            "the request did not arrive within 10 seconds",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_compared_with_its_port() {
        for (origin, expected) in [
            ("https://app.example.com", "https://app.example.com:443"),
            ("http://app.example.com", "http://app.example.com:80"),
            ("http://localhost:3000", "http://localhost:3000"),
            ("http://[::1]", "http://[::1]:80"),
            ("http://[::1]:8080", "http://[::1]:8080"),
        ] {
            assert_eq!(with_port(origin), expected);
        }
    }
}
