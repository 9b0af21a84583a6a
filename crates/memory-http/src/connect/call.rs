//! A call until its answer comes.

use std::sync::Arc;

use http::Request;
use tonic::body::Body;

use super::codec::Codec;
use super::form::Form;
use super::headers::{accepted, accepts_gzip};
use super::request::translate;
use crate::config::HttpConfig;
use crate::contract::{CONTRACT, Method};
use crate::until_sent::Sending;

/// A call that waits for its answer.
#[derive(Debug)]
pub(crate) struct Call {
    /// `None` for a path that leads nowhere.
    pub(super) method: Option<Method>,
    pub(super) codec: Codec,
    pub(super) streams: bool,
    /// Whether the answer may be compressed.
    pub(super) gzip: bool,
    pub(super) sending: Sending,
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
        let accepted = accepted(form);
        let gzip = compressible && accepts_gzip(request.headers(), &accepted);
        let (codec, mut request) = translate(form, method.as_ref(), request, config);
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
}
