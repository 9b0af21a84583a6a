//! What the server shows without a call: what it is, its OpenAPI document and the console.

use std::sync::LazyLock;

use bytes::Bytes;
use http::header::{ALLOW, CACHE_CONTROL, HOST, VARY};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use serde_json::json;
use tonic::body::Body;

use crate::connect;
use crate::console;
use crate::contract::{CONTRACT, PACKAGE};
use crate::problem::{page, problem};

/// Where the OpenAPI document is.
const OPENAPI: &str = "/openapi.json";

static ROOT: LazyLock<Bytes> = LazyLock::new(|| {
    let page = json!({
        "service": "recollect",
        "api": PACKAGE,
        "protocols": ["grpc", "grpc-web", "connect"],
        "openapi": OPENAPI,
    });
    format!("{page}\n").into()
});

static DOCUMENT: LazyLock<Bytes> = LazyLock::new(|| crate::openapi().to_string().into());
static COMPRESSED: LazyLock<Option<Bytes>> = LazyLock::new(|| connect::gzip(&DOCUMENT));

/// The answer to a request that is no call.
pub(crate) fn answer<B>(request: &Request<B>, has_console: bool) -> Response<Body> {
    let answer = content(request, has_console);
    match *request.method() {
        // Over HTTP/2 the transport would send it.
        Method::HEAD => answer.map(|_| Body::empty()),
        _ => answer,
    }
}

fn content<B>(request: &Request<B>, has_console: bool) -> Response<Body> {
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    let path = request.uri().path();
    if has_console && console::owns(path) {
        return match reads {
            true => console::answer(path, request.headers()).unwrap_or_else(nothing),
            false => not_allowed("GET, HEAD"),
        };
    }
    match path {
        "/" if reads => page(ROOT.clone(), None),
        OPENAPI if reads => document(request.headers()),
        "/" | OPENAPI => not_allowed("GET, HEAD"),
        path => match CONTRACT.method(path) {
            Some(method) if request.method() == Method::POST => connect::wrong_type(method),
            Some(method) if method.reads && !method.streams() => not_allowed("GET, POST"),
            Some(_) => not_allowed("POST"),
            None => nothing(),
        },
    }
}

fn nothing() -> Response<Body> {
    problem(
        StatusCode::NOT_FOUND,
        "unimplemented",
        "there is nothing at this path; /openapi.json lists the methods",
    )
}

/// The answer to native gRPC over HTTP/1.
pub(crate) fn needs_http2() -> Response<Body> {
    problem(
        StatusCode::HTTP_VERSION_NOT_SUPPORTED,
        "unimplemented",
        "gRPC needs HTTP/2; over HTTP/1.1 use application/json or gRPC-web",
    )
}

/// Whether the host that a request names is local ([`is_local_host`]).
pub(crate) fn is_local<B>(request: &Request<B>) -> bool {
    let header = request.headers().get(HOST);
    let authority = match header.and_then(|host| host.to_str().ok()) {
        Some(host) => host,
        None => request.uri().authority().map_or("", |host| host.as_str()),
    };
    let Ok(authority) = authority.parse::<http::uri::Authority>() else {
        return false;
    };
    is_local_host(authority.host())
}

/// Whether a host, without its port, is one that no other site's name can lead to: `localhost`, a
/// name below it, or an IP address.
pub fn is_local_host(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || host.to_ascii_lowercase().ends_with(".localhost")
        || address.parse::<std::net::IpAddr>().is_ok()
}

/// The answer to a request by a name that is not [`is_local`].
pub(crate) fn wrong_host() -> Response<Body> {
    problem(
        StatusCode::FORBIDDEN,
        "permission_denied",
        "a server without API keys answers requests to localhost or to an IP address only",
    )
}

fn not_allowed(methods: &'static str) -> Response<Body> {
    let message = format!("this path accepts {methods}");
    let mut response = problem(
        StatusCode::METHOD_NOT_ALLOWED,
        "unimplemented",
        message.as_str(),
    );
    let methods = HeaderValue::from_static(methods);
    response.headers_mut().insert(ALLOW, methods);
    response
}

fn document(headers: &HeaderMap) -> Response<Body> {
    let compressed = connect::accepts_gzip(headers, &http::header::ACCEPT_ENCODING)
        .then(|| COMPRESSED.clone())
        .flatten();
    let mut response = match compressed {
        Some(compressed) => page(compressed, Some("gzip")),
        None => page(DOCUMENT.clone(), None),
    };
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("max-age=3600"));
    headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_lead_here_are_local() {
        let check = |host: &str, expected: bool| {
            let request = Request::builder().header(HOST, host).body(()).unwrap();
            assert_eq!(is_local(&request), expected, "{host}");
        };
        for local in [
            "localhost",
            "localhost:50051",
            "LOCALHOST:1",
            "app.localhost:1",
            "127.0.0.1:50051",
            "[::1]:50051",
        ] {
            check(local, true);
        }
        for other in [
            "",
            "example.com",
            "localhost.example.com:50051",
            "127.0.0.1.example.com",
            "notlocalhost",
        ] {
            check(other, false);
        }
        let without = Request::builder().uri("http://[::1]:1/").body(()).unwrap();
        assert!(is_local(&without));
    }
}
