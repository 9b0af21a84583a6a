//! Deadlines of calls.

use std::time::Duration;

use http::HeaderMap;
use memory_grpc::{ApiError, Deadline};
use tokio::time::{Instant, timeout_at};
use tonic::Status;

use super::around::{Around, Inner};
use super::ending::{self, Ends};
use super::{Answer, Methods, Request};
use crate::config::ServerConfig;

const GRPC_TIMEOUT: &str = "grpc-timeout";
/// tonic ends a call at the caller's deadline too, but says CANCELLED. Ours has
/// to come first.
const HEAD_START: Duration = Duration::from_millis(5);
/// The resolution of tokio's timers. Which of two timers within it ends first is not certain.
const RESOLUTION: Duration = Duration::from_millis(1);

/// Answers DEADLINE_EXCEEDED at the caller's deadline or at the server's own
/// limit, whichever comes first, at once if that is in less than a millisecond, and ends an answer that is still under way then
/// in the same way. So does an import or export that makes no progress.
#[derive(Clone, Debug)]
pub(crate) struct Deadlines {
    methods: Methods,
    call_timeout: Duration,
    stream_timeout: Duration,
    stream_idle_timeout: Duration,
}

impl Deadlines {
    pub(crate) fn new(methods: Methods, config: &ServerConfig) -> Self {
        Self {
            methods,
            call_timeout: config.call_timeout,
            stream_timeout: config.stream_timeout,
            stream_idle_timeout: config.stream_idle_timeout,
        }
    }
}

impl Around for Deadlines {
    fn call<S: Inner>(&self, inner: &mut S, mut request: Request) -> Answer<S::Error> {
        let method = self.methods.of(request.uri().path());
        if !method.ours {
            return Box::pin(inner.call(request));
        }
        let own = if method.streams {
            self.stream_timeout
        } else {
            self.call_timeout
        };
        let timeout = callers_timeout(request.headers()).map_or(own, |timeout| own.min(timeout));
        if timeout < RESOLUTION {
            return Box::pin(async { Ok(exceeded()) });
        }
        let deadline = Instant::now() + timeout;
        request.extensions_mut().insert(Deadline(deadline));
        let ends = Ends {
            deadline,
            idle: (method.streams && !method.watches).then_some(self.stream_idle_timeout),
        };
        let answer = inner.call(request);
        Box::pin(async move {
            match timeout_at(deadline, answer).await {
                Ok(result) => result.map(|response| response.map(|body| ending::at(ends, body))),
                Err(_elapsed) => Ok(exceeded()),
            }
        })
    }
}

fn exceeded<B: Default>() -> http::Response<B> {
    Status::from(ApiError::DeadlineExceeded).into_http()
}

/// The caller's timeout, a little shortened: at most 8 digits and a unit.
///
/// Source: "gRPC over HTTP2", `Timeout`.
fn callers_timeout(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(GRPC_TIMEOUT)?.to_str().ok()?;
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    if digits.is_empty() || digits.len() > 8 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let amount: u64 = digits.parse().ok()?;
    let timeout = match unit {
        "H" => Duration::from_secs(amount * 3_600),
        "M" => Duration::from_secs(amount * 60),
        "S" => Duration::from_secs(amount),
        "m" => Duration::from_millis(amount),
        "u" => Duration::from_micros(amount),
        "n" => Duration::from_nanos(amount),
        _ => return None,
    };
    Some(timeout - HEAD_START.min(timeout / 10))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_callers_timeout_is_read_and_shortened() {
        let check = |text: &str, expected: Option<Duration>| {
            let headers = HeaderMap::from_iter([(
                http::HeaderName::from_static(GRPC_TIMEOUT),
                text.parse().unwrap(),
            )]);
            assert_eq!(callers_timeout(&headers), expected, "{text}");
        };
        check("1S", Some(Duration::from_millis(995)));
        check("10m", Some(Duration::from_millis(9)));
        check("2H", Some(Duration::from_secs(7_200) - HEAD_START));
        check(
            "99999999n",
            Some(Duration::from_nanos(99_999_999) - HEAD_START),
        );
        for wrong in ["", "S", "1", "-1S", "1.5S", "999999999S", "1x", "1 S"] {
            check(wrong, None);
        }
    }
}
