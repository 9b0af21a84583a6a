//! The Connect protocol: a call as JSON or protobuf over HTTP, translated into gRPC and back.
//!
//! Source: connectrpc.com/docs/protocol.

mod call;
mod codec;
mod failure;
mod form;
mod frames;
mod gzip;
mod headers;
mod request;
mod response;

use http::header::CONTENT_TYPE;
use http::{HeaderMap, Response, StatusCode};
use tonic::Status;
use tonic::body::Body;

pub(crate) use call::Call;
use codec::Codec;
pub(crate) use form::Form;
pub(crate) use gzip::compress as gzip;
pub(crate) use headers::accepts_gzip;

use crate::body::sent;
use crate::contract::Method;
use crate::problem::{problem, with_accepted};

/// The answer over HTTP to a request that a status refuses.
pub fn failed(status: &Status) -> Response<Body> {
    let unknown = || failure::Failure::internal("the request failed without a reason");
    let failure = failure::Failure::from_status(status).unwrap_or_else(unknown);
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, Codec::Json.content_type(false));
    failure.add_headers(&mut headers);
    sent(failure.status(), headers, failure.json().to_string().into())
}

/// The answer to a POST of a content type that is not for the method.
pub(crate) fn wrong_type(method: &Method) -> Response<Body> {
    let name = method.descriptor.name();
    let (message, types) = match method.streams() {
        true => (
            format!(
                "{name} streams: send content-type application/connect+json, or use gRPC or \
                 gRPC-web"
            ),
            "application/connect+json, application/connect+proto, application/grpc, \
             application/grpc-web",
        ),
        false => (
            format!("{name} takes one message: send content-type application/json"),
            "application/json, application/proto, application/grpc, application/grpc-web",
        ),
    };
    let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
    with_accepted(problem(status, "unimplemented", &message), types)
}
