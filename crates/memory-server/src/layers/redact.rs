//! Replaces or refuses secrets and personal data in the texts of requests, before anything else
//! reads them. Messages of streams are redacted by their handlers.

use std::mem;

use http::{HeaderName, HeaderValue};
use memory_grpc::{Redacted, Redactor, Requests};
use memory_store::{Caller, Store};
use prost::Message as _;
use prost_reflect::MessageDescriptor;
use tonic::Status;

use super::around::{Around, Inner};
use super::{Answer, Methods, Request, message};

/// The response metadata that counts what was replaced.
const REDACTED: HeaderName = HeaderName::from_static("recollect-redacted");

/// Redacts the requests of calls with one message.
#[derive(Clone)]
pub(crate) struct Redact {
    methods: Methods,
    requests: Requests,
    redactor: Redactor,
    /// Bytes of the largest request.
    max_bytes: usize,
}

impl Redact {
    pub(crate) fn new(methods: Methods, store: Store, max_bytes: usize) -> Self {
        Self {
            methods,
            requests: Requests::default(),
            redactor: Redactor::new(store),
            max_bytes,
        }
    }

    /// The request without what its app's policy replaces, and what that was.
    async fn redact(
        &self,
        caller: &Caller,
        descriptor: MessageDescriptor,
        request: Request,
    ) -> Result<(Request, Redacted), Status> {
        if !self.redactor.may_redact(caller).await? {
            return Ok((request, Redacted::default()));
        }
        let (mut decoded, request) = message::read(request, descriptor, self.max_bytes).await?;
        let redacted = self.redactor.redact(caller, &mut decoded).await?;
        let request = match redacted.is_empty() {
            true => request,
            false => request.map(|_| message::framed(&decoded.encode_to_vec())),
        };
        Ok((request, redacted))
    }
}

impl Around for Redact {
    fn call<S: Inner>(&self, inner: &mut S, request: Request) -> Answer<S::Error> {
        let caller: Option<&Caller> = request.extensions().get();
        let caller = caller.cloned();
        let method = self.methods.of(request.uri().path());
        let descriptor = self.requests.of(&method.service, &method.name);
        let (Some(caller), Some(descriptor)) = (caller, descriptor) else {
            // Streams are redacted by their handlers, and unknown methods have none.
            if method.ours && self.requests.is_empty() {
                let refused = message::unreadable("its texts cannot be redacted");
                return Box::pin(async { Ok(refused.into_http()) });
            }
            return Box::pin(inner.call(request));
        };
        // The one that is ready, not its clone.
        let clone = inner.clone();
        let mut inner = mem::replace(inner, clone);
        let redact = self.clone();
        Box::pin(async move {
            let (request, redacted) = match redact.redact(&caller, descriptor, request).await {
                Ok(redacted) => redacted,
                Err(status) => return Ok(status.into_http()),
            };
            let mut response = inner.call(request).await?;
            if !redacted.is_empty()
                && let Ok(counts) = HeaderValue::from_str(&redacted.to_string())
            {
                response.headers_mut().insert(REDACTED, counts);
            }
            Ok(response)
        })
    }
}
