//! Which pages may call from a browser.

use std::time::Duration;

use http::header::{AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderName, HeaderValue, Method, Uri};
use memory_contract::thread::SESSION_METADATA;
use tower_http::cors::{AllowOrigin, CorsLayer};

/// How long a browser may remember the answer to a preflight request.
const MAX_AGE: Duration = Duration::from_secs(2 * 3_600);
/// All origins.
const ANY: &str = "*";

/// Headers of gRPC-web, of Connect, of MCP, of traces and of the contract that a page may send.
const SENT: [&str; 16] = [
    SESSION_METADATA,
    "connect-accept-encoding",
    "connect-content-encoding",
    "connect-protocol-version",
    "connect-timeout-ms",
    "grpc-timeout",
    "mcp-method",
    "mcp-name",
    "mcp-protocol-version",
    "traceparent",
    "tracestate",
    "x-grpc-web",
    "x-recollect-app",
    "x-recollect-user",
    "x-request-id",
    "x-user-agent",
];

/// Headers of answers that a page may read.
const SHOWN: [&str; 5] = [
    "connect-content-encoding",
    "grpc-message",
    "grpc-status",
    "grpc-status-details-bin",
    "recollect-redacted",
];

/// Text that is not an origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidOrigin;

/// Checks an origin: `*`, or scheme and host, with a port that is not the usual one, as
/// browsers send it.
///
/// # Errors
/// If no browser sends this.
pub fn check_origin(origin: &str) -> Result<(), InvalidOrigin> {
    if origin == ANY {
        return Ok(());
    }
    let uri: Uri = origin.parse().map_err(|_| InvalidOrigin)?;
    let scheme = uri.scheme_str().ok_or(InvalidOrigin)?;
    let authority = uri.authority().ok_or(InvalidOrigin)?.as_str();
    let plain = format!("{scheme}://{authority}") == origin
        && !authority.contains('@')
        && origin == origin.to_ascii_lowercase();
    plain.then_some(()).ok_or(InvalidOrigin)
}

/// The answers to browsers; `None` without origins: browsers then refuse calls from pages
/// of other origins.
pub(crate) fn layer(origins: &[String]) -> Option<CorsLayer> {
    if origins.is_empty() {
        return None;
    }
    let allowed = match origins.iter().any(|origin| origin == ANY) {
        true => AllowOrigin::any(),
        false => AllowOrigin::list(
            origins
                .iter()
                .filter_map(|origin| HeaderValue::from_str(origin).ok()),
        ),
    };
    let sent = [AUTHORIZATION, CONTENT_TYPE, CONTENT_ENCODING];
    let shown = [CONTENT_ENCODING, RETRY_AFTER];
    Some(
        CorsLayer::new()
            .allow_origin(allowed)
            .allow_methods([Method::GET, Method::POST])
            .allow_headers(names(sent, &SENT))
            .expose_headers(names(shown, &SHOWN))
            .max_age(MAX_AGE),
    )
}

fn names<const N: usize>(known: [HeaderName; N], others: &[&'static str]) -> Vec<HeaderName> {
    let others = others.iter().map(|name| HeaderName::from_static(name));
    known.into_iter().chain(others).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_has_a_scheme_and_a_host() {
        for right in [
            "*",
            "https://app.example.com",
            "http://localhost:3000",
            "http://[::1]:8080",
        ] {
            assert_eq!(check_origin(right), Ok(()), "{right}");
        }
        for wrong in [
            "",
            "app.example.com",
            "https://app.example.com/",
            "https://app.example.com/page",
            "https://App.example.com",
            "https://user@app.example.com",
            "https://*.example.com x",
            "null",
        ] {
            assert_eq!(check_origin(wrong), Err(InvalidOrigin), "{wrong}");
        }
    }
}
