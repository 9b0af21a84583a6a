//! Until when a call may take.

use std::time::Duration;

use futures::stream::{self, Stream, StreamExt as _};
use tokio::time::{Instant, timeout_at};
use tonic::Status;

use crate::error::ApiError;

/// When a call ends; the deadline layer puts it into the request's extensions.
#[derive(Clone, Copy, Debug)]
pub struct Deadline(pub Instant);

/// The time that a call has left; `at_most` where it has no deadline.
pub fn remaining<T>(request: &tonic::Request<T>, at_most: Duration) -> Duration {
    let deadline: Option<&Deadline> = request.extensions().get();
    deadline.map_or(at_most, |Deadline(at)| {
        at.saturating_duration_since(Instant::now()).min(at_most)
    })
}

/// Ends a stream after its first error, and at a deadline with DEADLINE_EXCEEDED.
pub fn until<T: Send + 'static>(
    deadline: Instant,
    answers: impl Stream<Item = Result<T, Status>> + Send + 'static,
) -> impl Stream<Item = Result<T, Status>> + Send + 'static {
    stream::unfold(Some(Box::pin(answers)), move |answers| async move {
        let mut answers = answers?;
        match timeout_at(deadline, answers.next()).await {
            Ok(Some(Ok(item))) => Some((Ok(item), Some(answers))),
            Ok(Some(Err(status))) => Some((Err(status), None)),
            Ok(None) => None,
            Err(_elapsed) => Some((Err(ApiError::DeadlineExceeded.into()), None)),
        }
    })
}
