//! Rewrites the errors with which the transport answers calls before any handler sees
//! them.

use tonic::{Code, Status};

use super::around::{Around, Inner};
use super::{Answer, Request};
use crate::error::ApiError;

/// Rewrites refusals of the transport as INVALID_ARGUMENT: a request that is too
/// large is OUT_OF_RANGE to tonic, and one that cannot be decoded is INTERNAL.
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
    Some(ApiError::Unreadable {
        problem: problem.into(),
    })
}

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
