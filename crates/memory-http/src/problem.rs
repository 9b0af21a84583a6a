//! Answers in JSON outside any call.

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use serde_json::json;
use tonic::body::Body;

use crate::body::sent;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const ACCEPT_POST: HeaderName = HeaderName::from_static("accept-post");

/// An error outside any call: `code` is a name of the Connect protocol.
pub fn problem(status: StatusCode, code: &str, message: &str) -> Response<Body> {
    let body = json!({ "code": code, "message": message }).to_string();
    let mut response = page(body.into(), None);
    *response.status_mut() = status;
    response
}

/// An error that names the accepted content types.
pub(crate) fn with_accepted(mut response: Response<Body>, types: &'static str) -> Response<Body> {
    let types = HeaderValue::from_static(types);
    response.headers_mut().insert(ACCEPT_POST, types);
    response
}

/// A page of JSON.
pub(crate) fn page(body: Bytes, encoding: Option<&'static str>) -> Response<Body> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, JSON);
    if let Some(encoding) = encoding {
        let encoding = HeaderValue::from_static(encoding);
        headers.insert(http::header::CONTENT_ENCODING, encoding);
    }
    sent(StatusCode::OK, headers, body)
}
