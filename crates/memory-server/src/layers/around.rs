//! Implements tower's traits once for all layers.

use std::task::{Context, Poll};

use tower::{Layer, Service};

use super::{Answer, Request, Response};

/// Work around each call.
pub(crate) trait Around: Clone {
    /// Answers a call, as a rule by calling `inner`, which is ready for one call.
    fn call<S: Inner>(&self, inner: &mut S, request: Request) -> Answer<S::Error>;
}

/// A service that a layer can be around.
pub(crate) trait Inner:
    Service<Request, Response = Response, Error: Send + 'static, Future: Send + 'static>
    + Clone
    + Send
    + 'static
{
}

impl<S> Inner for S where
    S: Service<Request, Response = Response, Error: Send + 'static, Future: Send + 'static>
        + Clone
        + Send
        + 'static
{
}

/// The tower layer of an [`Around`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wrap<A>(pub(crate) A);

/// A service in a [`Wrap`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wrapped<S, A> {
    inner: S,
    around: A,
}

impl<S, A: Around> Layer<S> for Wrap<A> {
    type Service = Wrapped<S, A>;

    fn layer(&self, inner: S) -> Wrapped<S, A> {
        let around = self.0.clone();
        Wrapped { inner, around }
    }
}

impl<S: Inner, A: Around> Service<Request> for Wrapped<S, A> {
    type Response = Response;
    type Error = S::Error;
    type Future = Answer<S::Error>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        self.around.call(&mut self.inner, request)
    }
}
