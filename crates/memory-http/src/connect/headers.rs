//! Headers of the Connect protocol, and the headers of gRPC that they become.

use http::header::{
    ACCEPT_ENCODING, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, EXPECT, TE,
    TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use http::{HeaderMap, HeaderName, HeaderValue};

use super::form::Form;
use crate::unreadable::Unreadable;

const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("connect-protocol-version");
const TIMEOUT: HeaderName = HeaderName::from_static("connect-timeout-ms");
pub(super) const STREAM_ENCODING: HeaderName = HeaderName::from_static("connect-content-encoding");
const STREAM_ACCEPT: HeaderName = HeaderName::from_static("connect-accept-encoding");
const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
const GRPC_TIMEOUT: HeaderName = HeaderName::from_static("grpc-timeout");
const GRPC_ENCODING: HeaderName = HeaderName::from_static("grpc-encoding");
const GRPC_ACCEPT: HeaderName = HeaderName::from_static("grpc-accept-encoding");
/// The largest amount that gRPC's header can have, of milliseconds or seconds.
const LARGEST_TIMEOUT: u64 = 99_999_999;

/// Headers of a request that are about its body or its connection.
const NOT_PASSED: [HeaderName; 15] = [
    ACCEPT_ENCODING,
    CONNECTION,
    CONTENT_ENCODING,
    CONTENT_LENGTH,
    CONTENT_TYPE,
    EXPECT,
    GRPC_ACCEPT,
    GRPC_ENCODING,
    KEEP_ALIVE,
    PROTOCOL_VERSION,
    STREAM_ACCEPT,
    STREAM_ENCODING,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// Headers of an answer that belong to gRPC.
const NOT_SHOWN: [&str; 9] = [
    "content-length",
    "content-type",
    "date",
    "trailer",
    "grpc-accept-encoding",
    "grpc-encoding",
    "grpc-message",
    "grpc-status",
    "grpc-status-details-bin",
];

/// How the bytes of a request are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    Identity,
    Gzip,
    /// Another; tonic refuses it.
    Unknown,
}

impl Encoding {
    /// The encoding of a request of a form, from its headers.
    pub(super) fn requested(form: Form, headers: &HeaderMap) -> (Self, Option<HeaderValue>) {
        let name = match form {
            Form::Unary(_) => CONTENT_ENCODING,
            Form::Stream(_) => STREAM_ENCODING,
            Form::Get => return (Self::Identity, None),
        };
        let value = headers.get(name);
        let text = value.map(|value| value.to_str().unwrap_or("unknown"));
        (Self::named(text.unwrap_or_default()), value.cloned())
    }

    pub(super) fn named(name: &str) -> Self {
        match name.trim().to_ascii_lowercase().as_str() {
            "" | "identity" => Self::Identity,
            "gzip" => Self::Gzip,
            _ => Self::Unknown,
        }
    }
}

/// The header that says how the answer to a form may be compressed.
pub(super) fn accepted(form: Form) -> HeaderName {
    match form.streams() {
        true => STREAM_ACCEPT,
        false => ACCEPT_ENCODING,
    }
}

/// Whether a caller accepts gzip.
pub(crate) fn accepts_gzip(headers: &HeaderMap, name: &HeaderName) -> bool {
    let values = headers.get_all(name).iter();
    values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|choice| {
            let (coding, weight) = choice.split_once(';').unwrap_or((choice, ""));
            let weight = weight.trim().strip_prefix("q=").unwrap_or("1");
            coding.trim().eq_ignore_ascii_case("gzip") && weight.parse() != Ok(0.0_f32)
        })
}

/// The headers of the gRPC request: the caller's, without the ones about its body.
/// With a wrong one, its problem.
pub(super) fn inner(
    mut headers: HeaderMap,
    unknown_encoding: Option<HeaderValue>,
) -> (HeaderMap, Option<Unreadable>) {
    let timeout = version(&headers).and_then(|()| deadline(&headers));
    for name in NOT_PASSED {
        headers.remove(name);
    }
    headers.remove(TIMEOUT);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    headers.insert(TE, HeaderValue::from_static("trailers"));
    if let Some(encoding) = unknown_encoding {
        headers.insert(GRPC_ENCODING, encoding);
    }
    match timeout {
        Ok(None) => (headers, None),
        Ok(Some(timeout)) => {
            headers.insert(GRPC_TIMEOUT, timeout);
            (headers, None)
        }
        Err(problem) => (headers, Some(problem)),
    }
}

/// The timeout as gRPC writes it.
fn deadline(headers: &HeaderMap) -> Result<Option<HeaderValue>, Unreadable> {
    let Some(value) = headers.get(TIMEOUT) else {
        return Ok(None);
    };
    let digits = value.to_str().unwrap_or_default();
    let all_digits = digits.bytes().all(|byte| byte.is_ascii_digit());
    let milliseconds: u64 = match digits.parse() {
        Ok(milliseconds) if all_digits && digits.len() <= 10 => milliseconds,
        _ => {
            return Err(Unreadable::new("connect-timeout-ms must be 1 to 10 digits"));
        }
    };
    let timeout = match milliseconds <= LARGEST_TIMEOUT {
        true => format!("{milliseconds}m"),
        false => format!("{}S", milliseconds / 1_000),
    };
    Ok(HeaderValue::from_str(&timeout).ok())
}

fn version(headers: &HeaderMap) -> Result<(), Unreadable> {
    match headers.get(PROTOCOL_VERSION) {
        Some(version) if version != "1" => {
            Err(Unreadable::new("connect-protocol-version must be 1"))
        }
        _ => Ok(()),
    }
}

/// The metadata of an answer.
pub(super) fn shown(mut headers: HeaderMap) -> HeaderMap {
    for name in NOT_SHOWN {
        headers.remove(name);
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pairs = pairs.iter().map(|(name, value)| {
            let value = HeaderValue::from_str(value).unwrap();
            (HeaderName::from_static(name), value)
        });
        pairs.collect()
    }

    #[test]
    fn a_timeout_becomes_that_of_grpc() {
        let check = |text: &str, expected: Option<&str>| {
            let (found, problem) = inner(headers(&[("connect-timeout-ms", text)]), None);
            let found = found.get("grpc-timeout");
            assert_eq!(found.map(|value| value.to_str().unwrap()), expected);
            assert_eq!(problem.is_some(), expected.is_none(), "{text}");
        };
        check("1", Some("1m"));
        check("99999999", Some("99999999m"));
        check("9999999999", Some("9999999S"));
        for wrong in ["", "-1", "+1", "1.5", "1s", "99999999999"] {
            check(wrong, None);
        }
    }

    #[test]
    fn what_is_about_the_body_is_not_passed_on() {
        let outside = headers(&[
            ("authorization", "Bearer key"),
            ("connection", "keep-alive"),
            ("content-length", "3"),
            ("content-type", "application/json"),
            ("grpc-timeout", "1S"),
            ("traceparent", "00-1-2-3"),
        ]);
        let (inside, _) = inner(outside, None);
        let expected = headers(&[
            ("authorization", "Bearer key"),
            ("content-type", "application/grpc"),
            ("grpc-timeout", "1S"),
            ("te", "trailers"),
            ("traceparent", "00-1-2-3"),
        ]);
        assert_eq!(inside, expected);
    }

    #[test]
    fn gzip_is_used_where_it_is_accepted() {
        let check = |value: &str, expected: bool| {
            let headers = headers(&[("accept-encoding", value)]);
            assert_eq!(
                accepts_gzip(&headers, &ACCEPT_ENCODING),
                expected,
                "{value}"
            );
        };
        check("gzip", true);
        check("deflate, GZIP;q=0.5, br", true);
        check("gzip;q=0", false);
        check("br", false);
        check("", false);
    }
}
