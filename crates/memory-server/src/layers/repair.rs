//! Rewrites the errors with which the transport answers calls before any handler sees
//! them.

use memory_grpc::unreadable;
use tonic::Status;

use super::around::{Around, Inner};
use super::{Answer, Request};

/// Rewrites refusals of the transport as INVALID_ARGUMENT: a request that is too
/// large is OUT_OF_RANGE to tonic, and one that cannot be decoded is INTERNAL.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Repair;

impl Around for Repair {
    fn call<S: Inner>(&self, inner: &mut S, request: Request) -> Answer<S::Error> {
        let answer = inner.call(request);
        Box::pin(async move {
            let response = answer.await?;
            let refusal = Status::from_header_map(response.headers());
            match refusal.as_ref().and_then(unreadable) {
                Some(error) => Ok(Status::from(error).into_http()),
                None => Ok(response),
            }
        })
    }
}
