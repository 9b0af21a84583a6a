//! Ends answers over HTTP that their caller does not read.

use std::time::Duration;

use http::header::CONTENT_LENGTH;
use tokio::time::Instant;

use super::around::{Around, Inner};
use super::ending::{self, Ends};
use super::{Answer, Request};
use crate::config::ServerConfig;

/// Drops an answer of a known length that is not read within the longest duration of a
/// call, and closes its stream or connection. Such answers are those in JSON, which are
/// complete when they leave [`super::Deadlines`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unread {
    timeout: Duration,
}

impl Unread {
    pub(crate) fn new(config: &ServerConfig) -> Self {
        Self {
            timeout: config.call_timeout,
        }
    }
}

impl Around for Unread {
    fn call<S: Inner>(&self, inner: &mut S, request: Request) -> Answer<S::Error> {
        let answer = inner.call(request);
        let timeout = self.timeout;
        Box::pin(async move {
            let response = answer.await?;
            if !response.headers().contains_key(CONTENT_LENGTH) {
                return Ok(response);
            }
            let ends = Ends {
                deadline: Instant::now() + timeout,
                idle: None,
            };
            Ok(response.map(|body| ending::at(ends, body)))
        })
    }
}
