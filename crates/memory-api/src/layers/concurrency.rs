//! A limit for the whole server. tonic's own limit counts each connection
//! alone, and makes calls wait without bound.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::sync::Semaphore;
use tonic::Status;
use tower::{Layer, Service};

use super::{Answer, Methods, Request, Response, body};
use crate::error::ApiError;

/// When a refused caller may come back.
const RETRY_AFTER: Duration = Duration::from_millis(500);

/// Refuses calls beyond the limit at once. Imports and exports, which may last
/// for an hour, have a limit of their own, so that they cannot keep short calls
/// out; so have watches, which do nothing for most of their time. A call counts
/// until its answer's body is dropped; that this happens at last is up to
/// [`super::Deadlines`] around it.
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

impl<S> Layer<S> for Concurrency {
    type Service = Limited<S>;

    fn layer(&self, inner: S) -> Limited<S> {
        Limited {
            inner,
            limit: self.clone(),
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Limited<S> {
    inner: S,
    limit: Concurrency,
}

impl<S> Service<Request> for Limited<S>
where
    S: Service<Request, Response = Response>,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
{
    type Response = Response;
    type Error = S::Error;
    type Future = Answer<S::Error>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let method = self.limit.methods.of(request.uri().path());
        if !method.ours {
            return Box::pin(self.inner.call(request));
        }
        let limit = if method.watches {
            &self.limit.watches
        } else if method.streams {
            &self.limit.streams
        } else {
            &self.limit.calls
        };
        let Ok(permit) = Arc::clone(limit).try_acquire_owned() else {
            let refusal = ApiError::Overloaded {
                retry_after: RETRY_AFTER,
            };
            return Box::pin(async { Ok(Status::from(refusal).into_http()) });
        };
        let answer = self.inner.call(request);
        Box::pin(async move {
            let response = answer.await?;
            Ok(response.map(|body| body::on_end(body, move |_| drop(permit))))
        })
    }
}
