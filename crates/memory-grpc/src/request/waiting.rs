//! Reads how long a call may wait.

use std::time::{Duration, Instant};

use tonic::Request;

use crate::deadline::remaining;

/// Least part of a call's time that waiting leaves for the answer; half of the time if
/// that is less.
const MIN_ANSWER_TIME: Duration = Duration::from_millis(500);
/// The same as a divisor of the call's time, if that leaves more: a long wait suggests a
/// busy machine.
const ANSWER_TIME_DIVISOR: u32 = 10;
/// The time of a call without a deadline.
const CALL_TIME: Duration = Duration::from_secs(3_600);

/// The moment until which a call may wait and still answer before its deadline.
pub fn wait_deadline<T>(request: &Request<T>) -> Instant {
    let left = remaining(request, CALL_TIME);
    let answering = MIN_ANSWER_TIME
        .max(left / ANSWER_TIME_DIVISOR)
        .min(left / 2);
    Instant::now() + left.saturating_sub(answering)
}

/// The wait, shortened to end at `deadline`.
pub fn shortened_wait(deadline: Instant, max_wait: Duration) -> Duration {
    max_wait.min(deadline.saturating_duration_since(Instant::now()))
}
