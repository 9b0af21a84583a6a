//! The transport answers some calls before any handler sees them, in its own
//! words. This layer puts them into ours.

use std::task::{Context, Poll};

use tonic::{Code, Status};
use tower::{Layer, Service};

use super::{Answer, Request, Response};
use crate::error::ApiError;

/// Rewrites refusals of the transport as INVALID_ARGUMENT: a request that is too
/// large is OUT_OF_RANGE to tonic, and one that is no message is INTERNAL.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Repair;

/// A refusal of the transport as an error of ours, if it is one.
pub(crate) fn unreadable(status: &Status) -> Option<ApiError> {
    let problem = match status.code() {
        _ if !status.details().is_empty() => return None,
        Code::OutOfRange => "the request has more than 4 MiB; send less at a time",
        Code::Internal => "the request is not a message of this method",
        _ => return None,
    };
    Some(ApiError::Unreadable { problem })
}

impl<S> Layer<S> for Repair {
    type Service = Repaired<S>;

    fn layer(&self, inner: S) -> Repaired<S> {
        Repaired { inner }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Repaired<S> {
    inner: S,
}

impl<S> Service<Request> for Repaired<S>
where
    S: Service<Request, Response = Response>,
    S::Future: Send + 'static,
    S::Error: 'static,
{
    type Response = Response;
    type Error = S::Error;
    type Future = Answer<S::Error>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let answer = self.inner.call(request);
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
