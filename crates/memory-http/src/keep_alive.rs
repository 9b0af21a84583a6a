//! Connections of HTTP/1 whose request was answered before it was read.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::header::CONNECTION;
use http::{HeaderValue, Request, Response, Version};
use http_body::{Body as _, Frame, SizeHint};
use tonic::Status;
use tonic::body::Body;

/// Whether a request was read to its end.
#[derive(Clone, Debug)]
pub(crate) struct WasRead(Option<Arc<AtomicBool>>);

/// Observes how far a request is read.
pub(crate) fn observe(request: Request<Body>) -> (Request<Body>, WasRead) {
    // HTTP/2 resets the stream alone.
    if request.version() > Version::HTTP_11 || request.body().is_end_stream() {
        return (request, WasRead(None));
    }
    let ended = Arc::new(AtomicBool::new(false));
    let was_read = WasRead(Some(Arc::clone(&ended)));
    let request = request.map(|body| Body::new(Observed { body, ended }));
    (request, was_read)
}

impl WasRead {
    /// Announces the end of the connection where the request is unread: the server closes it,
    /// and a client would send its next request into it.
    pub(crate) fn announce<B>(self, mut response: Response<B>) -> Response<B> {
        if self.0.is_some_and(|ended| !ended.load(Ordering::Acquire)) {
            let headers = response.headers_mut();
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

struct Observed {
    body: Body,
    ended: Arc<AtomicBool>,
}

impl http_body::Body for Observed {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        if frame.is_none() || self.body.is_end_stream() {
            self.ended.store(true, Ordering::Release);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
