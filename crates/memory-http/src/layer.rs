//! The tower layer in front of the gRPC stack.

use std::mem;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures::future::BoxFuture;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, Method, Request, Response, Version};
use tonic::body::Body;
use tonic_web::{GrpcWebLayer, GrpcWebService};
use tower::util::{Either, option_layer};
use tower::{Layer, Service, ServiceExt as _};
use tower_http::cors::CorsLayer;

use crate::connect::{Call, Form};
use crate::contract::CONTRACT;
use crate::{HttpConfig, cors, keep_alive, pages};

/// Puts gRPC-web, the Connect protocol and the OpenAPI document in front of a gRPC stack.
#[derive(Clone, Debug)]
pub struct HttpLayer {
    config: Arc<HttpConfig>,
}

impl HttpLayer {
    /// The layer; it has to be outside of all others.
    pub fn new(config: HttpConfig) -> Self {
        Self {
            config: Arc::new(config),
        }
    }
}

impl<S: Clone> Layer<S> for HttpLayer {
    type Service = Http<S>;

    fn layer(&self, inner: S) -> Http<S> {
        let web = Translate {
            config: Arc::clone(&self.config),
            inner: GrpcWebLayer::new().layer(inner.clone()),
            passed: inner.clone(),
        };
        Http {
            open: self.config.open,
            native: inner,
            web: option_layer(cors::layer(&self.config.cors_origins)).layer(web),
        }
    }
}

type Web<S> = Translate<GrpcWebService<S>, S>;

/// A gRPC stack behind an [`HttpLayer`].
#[derive(Clone, Debug)]
pub struct Http<S> {
    open: bool,
    /// For native gRPC.
    native: S,
    /// For everything else.
    web: Either<<CorsLayer as Layer<Web<S>>>::Service, Web<S>>,
}

impl<S> Service<Request<Body>> for Http<S>
where
    S: Service<Request<Body>, Response = Response<Body>> + Clone + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<Response<Body>, S::Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        ready!(self.native.poll_ready(cx))?;
        self.web.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        if is_grpc(request.headers()) {
            return match request.version() {
                Version::HTTP_2 => Box::pin(self.native.call(request)),
                _ => Box::pin(async { Ok(pages::needs_http2()) }),
            };
        }
        if self.open && !pages::is_local(&request) {
            return Box::pin(async { Ok(pages::wrong_host()) });
        }
        Box::pin(self.web.call(request))
    }
}

/// Translates the Connect protocol; passes gRPC-web on, and the paths that are not for it.
#[derive(Clone, Debug)]
pub struct Translate<S, P> {
    config: Arc<HttpConfig>,
    inner: S,
    /// For the paths that the stack inside answers itself.
    passed: P,
}

impl<S, P> Service<Request<Body>> for Translate<S, P>
where
    S: Service<Request<Body>, Response = Response<Body>> + Clone + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
    P: Service<Request<Body>, Response = Response<Body>, Error = S::Error>,
    P: Clone + Send + 'static,
    P::Future: Send + 'static,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<Response<Body>, S::Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let (request, was_read) = keep_alive::observe(request);
        if self.config.passed.contains(&request.uri().path()) {
            let answer = self.passed.clone().oneshot(request);
            return Box::pin(async move { Ok(was_read.settle(answer.await?).await) });
        }
        if content_type(request.headers()).starts_with("application/grpc-web") {
            let answer = self.inner.call(request);
            return Box::pin(async move { Ok(was_read.settle(answer.await?).await) });
        }
        let Some(form) = form_of(&request) else {
            let has_console = self.config.console;
            return Box::pin(async move {
                let answer = pages::answer(&request, has_console);
                drop(request);
                Ok(was_read.settle(answer).await)
            });
        };
        let (call, request) = Call::new(form, request, &self.config);
        // The one that is ready, not its clone.
        let clone = self.inner.clone();
        let mut inner = mem::replace(&mut self.inner, clone);
        Box::pin(async move {
            let answer = call.answer(inner.call(request).await?).await;
            Ok(was_read.settle(answer).await)
        })
    }
}

/// The form of a call in the Connect protocol; `None` for other requests.
fn form_of<B>(request: &Request<B>) -> Option<Form> {
    let method = CONTRACT.method(request.uri().path());
    match *request.method() {
        Method::POST => {
            let form = Form::from_content_type(&content_type(request.headers()))?;
            // Health and reflection are for gRPC alone.
            if request.uri().path().starts_with("/grpc.") {
                return None;
            }
            // A path that leads nowhere is an unknown method inside too.
            let fits = |streams| form.streams() == streams;
            method
                .is_none_or(|method| fits(method.streams()))
                .then_some(form)
        }
        Method::GET => {
            let method = method?;
            (method.reads && !method.streams()).then_some(Form::Get)
        }
        _ => None,
    }
}

fn is_grpc(headers: &HeaderMap) -> bool {
    let media = content_type(headers);
    let rest = media.strip_prefix("application/grpc");
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('+'))
}

/// The content type without its parameters, in lower case.
fn content_type(headers: &HeaderMap) -> String {
    let value = headers.get(CONTENT_TYPE).map(|value| value.to_str());
    let text = value.and_then(Result::ok).unwrap_or_default();
    let media = text.split(';').next().unwrap_or_default();
    media.trim().to_ascii_lowercase()
}
