//! The Connect protocol: a call as JSON or protobuf over HTTP, translated into gRPC and back.
//!
//! Source: connectrpc.com/docs/protocol.

mod codec;
mod failure;
mod frames;
mod gzip;
mod headers;
mod request;
mod response;

use std::sync::Arc;

use http::header::CONTENT_TYPE;
use http::{HeaderMap, Request, Response, StatusCode};
use tonic::Status;
use tonic::body::Body;

pub(crate) use codec::Codec;
pub(crate) use gzip::compress as gzip;
pub(crate) use headers::accepts_gzip;
pub(crate) use response::sent;

use crate::HttpConfig;
use crate::contract::{CONTRACT, Method};
use crate::pages;
use crate::until_sent::Sending;

/// The content types of methods without streams, and of those with.
const UNARY: [(&str, Codec); 2] = [
    ("application/json", Codec::Json),
    ("application/proto", Codec::Proto),
];
const STREAMING: [(&str, Codec); 2] = [
    ("application/connect+json", Codec::Json),
    ("application/connect+proto", Codec::Proto),
];

/// How a call is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// POST of one message.
    Unary(Codec),
    /// GET with the message in the query.
    Get,
    /// POST of messages in envelopes.
    Stream(Codec),
}

impl Form {
    /// The form of a POST with a content type.
    pub(crate) fn of(content_type: &str) -> Option<Self> {
        let find = |types: [(&'static str, Codec); 2]| {
            let mut types = types.into_iter();
            types.find(|(name, _)| *name == content_type)
        };
        let unary = find(UNARY).map(|(_, codec)| Self::Unary(codec));
        unary.or_else(|| find(STREAMING).map(|(_, codec)| Self::Stream(codec)))
    }

    /// Whether it is for methods with streams.
    pub(crate) fn streams(self) -> bool {
        matches!(self, Self::Stream(_))
    }
}

/// What is known of a call until its answer comes.
#[derive(Debug)]
pub(crate) struct Call {
    /// `None` for a path that leads nowhere.
    method: Option<Method>,
    codec: Codec,
    streams: bool,
    /// Whether the answer may be compressed.
    gzip: bool,
    sending: Sending,
}

impl Call {
    /// The call, and the gRPC request that it is inside.
    pub(crate) fn new(
        form: Form,
        request: Request<Body>,
        config: &Arc<HttpConfig>,
    ) -> (Self, Request<Body>) {
        let method = CONTRACT.method(request.uri().path()).cloned();
        let service = method.as_ref().map(|method| {
            let service = method.descriptor.parent_service();
            service.full_name().to_owned()
        });
        let compressible =
            service.is_some_and(|service| !config.uncompressed.contains(&service.as_str()));
        let accepted = headers::accepted(form);
        let gzip = compressible && accepts_gzip(request.headers(), &accepted);
        let (codec, mut request) = request::translate(form, method.as_ref(), request, config);
        let sending = Sending::default();
        if !form.streams() {
            request.extensions_mut().insert(sending.0.clone());
        }
        let call = Self {
            method,
            codec,
            streams: form.streams(),
            gzip,
            sending,
        };
        (call, request)
    }

    /// The answer to the caller, from that of the gRPC stack.
    pub(crate) async fn answer(self, response: Response<Body>) -> Response<Body> {
        match self.streams {
            true => response::stream(self, response),
            false => response::unary(self, response).await,
        }
    }
}

/// The answer to a request that a status refuses.
pub(crate) fn failed(status: &Status) -> Response<Body> {
    let unknown = || failure::Failure::internal("the request failed without a reason");
    let failure = failure::Failure::of(status).unwrap_or_else(unknown);
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
    pages::with_accepted(pages::problem(status, "unimplemented", &message), types)
}
