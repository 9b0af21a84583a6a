//! A handler that panics costs its own call and no other.

use std::panic::AssertUnwindSafe;
use std::task::{Context, Poll};

use futures::FutureExt as _;
use tonic::Status;
use tower::{Layer, Service};

use super::{Answer, Request, Response};
use crate::error::ApiError;

/// Answers INTERNAL for a handler that panicked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CatchPanic;

impl<S> Layer<S> for CatchPanic {
    type Service = Caught<S>;

    fn layer(&self, inner: S) -> Caught<S> {
        Caught { inner }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Caught<S> {
    inner: S,
}

impl<S> Service<Request> for Caught<S>
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
        let answer = AssertUnwindSafe(self.inner.call(request)).catch_unwind();
        Box::pin(async move {
            match answer.await {
                Ok(result) => result,
                // The panic hook has written the message and the place.
                Err(_payload) => Ok(Status::from(ApiError::Panicked).into_http()),
            }
        })
    }
}
