//! Turns a panic of a handler into an error of its call.

use std::panic::AssertUnwindSafe;

use futures::FutureExt as _;
use memory_grpc::ApiError;
use tonic::Status;

use super::around::{Around, Inner};
use super::{Answer, Request};

/// Answers INTERNAL for a handler that panicked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CatchPanic;

impl Around for CatchPanic {
    fn call<S: Inner>(&self, inner: &mut S, request: Request) -> Answer<S::Error> {
        let answer = AssertUnwindSafe(inner.call(request)).catch_unwind();
        Box::pin(async move {
            match answer.await {
                Ok(result) => result,
                // The panic hook has written the message and the place.
                Err(_payload) => Ok(Status::from(ApiError::Panicked).into_http()),
            }
        })
    }
}
