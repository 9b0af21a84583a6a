//! Refusals of the transport.

use tonic::{Code, Status};

use crate::error::ApiError;

/// A refusal of the transport as an error of ours, if it is one.
pub fn unreadable(status: &Status) -> Option<ApiError> {
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
