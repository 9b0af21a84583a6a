//! Limits concurrent calls of the whole server. tonic's own limit is per connection and
//! queues calls without bound.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tonic::Status;

use super::around::{Around, Inner};
use super::{Answer, Methods, Request, body};
use crate::error::ApiError;

/// When a refused caller may come back.
const RETRY_AFTER: Duration = Duration::from_millis(500);

/// Refuses calls beyond the limit at once. Imports and exports, which may last
/// for an hour, have a separate limit, so that they cannot block short calls; so do
/// watches, which are mostly idle. A call counts until its answer's body is dropped,
/// at the latest by [`super::Deadlines`] around it.
#[derive(Clone, Debug)]
pub(crate) struct Concurrency {
    methods: Methods,
    calls: Arc<Semaphore>,
    streams: Arc<Semaphore>,
    watches: Arc<Semaphore>,
}

impl Concurrency {
    pub(crate) fn new(
        methods: Methods,
        max_calls: usize,
        max_streams: usize,
        max_watches: usize,
    ) -> Self {
        Self {
            methods,
            calls: Arc::new(Semaphore::new(max_calls)),
            streams: Arc::new(Semaphore::new(max_streams)),
            watches: Arc::new(Semaphore::new(max_watches)),
        }
    }
}

impl Around for Concurrency {
    fn call<S: Inner>(&self, inner: &mut S, request: Request) -> Answer<S::Error> {
        let method = self.methods.of(request.uri().path());
        if !method.ours {
            return Box::pin(inner.call(request));
        }
        let limit = if method.watches {
            &self.watches
        } else if method.streams {
            &self.streams
        } else {
            &self.calls
        };
        let Ok(permit) = Arc::clone(limit).try_acquire_owned() else {
            let refusal = ApiError::Overloaded {
                retry_after: RETRY_AFTER,
            };
            return Box::pin(async { Ok(Status::from(refusal).into_http()) });
        };
        let answer = inner.call(request);
        Box::pin(async move {
            let response = answer.await?;
            Ok(response.map(|body| body::on_end(body, move |_| drop(permit))))
        })
    }
}
