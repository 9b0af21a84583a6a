//! Calls of the gRPC API.

use std::time::Duration;

use http::HeaderMap;
use memory_contract::proto::{
    context_service_client::ContextServiceClient,
    memory_file_service_client::MemoryFileServiceClient,
    memory_service_client::MemoryServiceClient, message_service_client::MessageServiceClient,
    recall_service_client::RecallServiceClient, thread_service_client::ThreadServiceClient,
};
use tonic::Request;
use tonic::body::Body;
use tonic::metadata::MetadataMap;
use tower::util::BoxCloneSyncService;
use tower::{BoxError, Service, ServiceExt as _};

/// The longest that a call may take; the server's own limit may be shorter.
const CALL_TIMEOUT: Duration = Duration::from_secs(60);
/// Answers of 4 MiB and a little more: a server may be set to allow that.
const MESSAGE_BYTES: usize = 16 * 1024 * 1024;
/// Headers of an HTTP request that its calls carry on.
const FORWARDED: [&str; 4] = ["authorization", "traceparent", "tracestate", "x-request-id"];

type Calls = BoxCloneSyncService<http::Request<Body>, http::Response<Body>, TransportError>;

/// A call that came to no answer. (A type of its own, because futures that await a call with
/// an error of type `BoxError` are not provably `Send`.)
#[derive(Debug, thiserror::Error)]
#[error("the call failed")]
pub(crate) struct TransportError(#[source] BoxError);

/// What calls go through: a connection to a server, or the stack of this process.
#[derive(Clone, Debug)]
pub struct Transport(Calls);

impl Transport {
    /// Sends calls to a service that speaks gRPC.
    pub fn new<S, B>(service: S) -> Self
    where
        S: Service<http::Request<Body>, Response = http::Response<B>>,
        S: Clone + Send + Sync + 'static,
        S::Future: Send + 'static,
        S::Error: Into<BoxError> + 'static,
        B: http_body::Body<Data = bytes::Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let service = service
            .map_err(|error: S::Error| TransportError(error.into()))
            .map_response(|response: http::Response<B>| response.map(Body::new));
        Self(BoxCloneSyncService::new(service))
    }
}

/// The API as one caller calls it.
#[derive(Clone, Debug)]
pub(crate) struct Api {
    transport: Transport,
    metadata: MetadataMap,
}

impl Api {
    /// Calls with the credential that the transport adds, if any.
    pub(crate) fn new(transport: Transport) -> Self {
        Self {
            transport,
            metadata: MetadataMap::new(),
        }
    }

    /// Calls with the credential of an HTTP request.
    pub(crate) fn of_request(transport: Transport, headers: &HeaderMap) -> Self {
        let mut carried = HeaderMap::new();
        for name in FORWARDED {
            if let Some(value) = headers.get(name) {
                carried.insert(name, value.clone());
            }
        }
        Self {
            transport,
            metadata: MetadataMap::from_headers(carried),
        }
    }

    /// A request with the caller's metadata and a deadline.
    pub(crate) fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        *request.metadata_mut() = self.metadata.clone();
        request.set_timeout(CALL_TIMEOUT);
        request
    }

    pub(crate) fn memories(&self) -> MemoryServiceClient<Calls> {
        MemoryServiceClient::new(self.calls()).max_decoding_message_size(MESSAGE_BYTES)
    }

    pub(crate) fn memory_files(&self) -> MemoryFileServiceClient<Calls> {
        MemoryFileServiceClient::new(self.calls()).max_decoding_message_size(MESSAGE_BYTES)
    }

    pub(crate) fn messages(&self) -> MessageServiceClient<Calls> {
        MessageServiceClient::new(self.calls()).max_decoding_message_size(MESSAGE_BYTES)
    }

    pub(crate) fn recall(&self) -> RecallServiceClient<Calls> {
        RecallServiceClient::new(self.calls()).max_decoding_message_size(MESSAGE_BYTES)
    }

    pub(crate) fn contexts(&self) -> ContextServiceClient<Calls> {
        ContextServiceClient::new(self.calls()).max_decoding_message_size(MESSAGE_BYTES)
    }

    pub(crate) fn threads(&self) -> ThreadServiceClient<Calls> {
        ThreadServiceClient::new(self.calls()).max_decoding_message_size(MESSAGE_BYTES)
    }

    fn calls(&self) -> Calls {
        self.transport.0.clone()
    }
}
