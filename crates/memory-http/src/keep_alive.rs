//! HTTP/1 requests that are answered before they are read. The server would close the
//! connection, and the client fail while it still sends, or in its next request.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::header::CONNECTION;
use http::{HeaderValue, Request, Response, Version};
use http_body::{Body as _, Frame, SizeHint};
use http_body_util::BodyExt as _;
use tokio::time::timeout;
use tonic::Status;
use tonic::body::Body;

/// What is read of the rest of a request, and thrown away, before its answer is sent.
const REST_BYTES: usize = 64 * 1024;
const REST_TIMEOUT: Duration = Duration::from_secs(1);

/// How far a request was read.
#[derive(Debug)]
enum Progress {
    InUse,
    Ended,
    /// It was dropped; this is the rest.
    Left(Body),
}

/// Whether a request was read to its end.
#[derive(Debug)]
pub(crate) struct WasRead(Option<Arc<Mutex<Progress>>>);

/// Observes how far a request is read.
pub(crate) fn observe(request: Request<Body>) -> (Request<Body>, WasRead) {
    // HTTP/2 resets the stream alone.
    if request.version() > Version::HTTP_11 || request.body().is_end_stream() {
        return (request, WasRead(None));
    }
    let progress = Arc::new(Mutex::new(Progress::InUse));
    let was_read = WasRead(Some(Arc::clone(&progress)));
    let request = request.map(|body| Body::new(Observed { body, progress }));
    (request, was_read)
}

impl WasRead {
    /// Reads the rest of a short request. For one that stays unread it announces the end of the
    /// connection, so that the client sends no other one.
    pub(crate) async fn settle<B>(self, mut response: Response<B>) -> Response<B> {
        if let Some(progress) = self.0
            && !is_read(&progress).await
        {
            let headers = response.headers_mut();
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

async fn is_read(progress: &Mutex<Progress>) -> bool {
    let now = {
        let mut progress = progress.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *progress, Progress::Ended)
    };
    match now {
        Progress::InUse => false,
        Progress::Ended => true,
        Progress::Left(body) => timeout(REST_TIMEOUT, read_rest(body))
            .await
            .unwrap_or(false),
    }
}

async fn read_rest(mut body: Body) -> bool {
    let mut length = 0;
    while let Some(frame) = body.frame().await {
        length += match frame {
            Ok(frame) => frame.data_ref().map_or(0, Bytes::len),
            Err(_) => return false,
        };
        if length > REST_BYTES {
            return false;
        }
    }
    true
}

struct Observed {
    body: Body,
    progress: Arc<Mutex<Progress>>,
}

impl Observed {
    fn note(&self, now: Progress) {
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*progress, Progress::InUse) {
            *progress = now;
        }
    }
}

impl Drop for Observed {
    fn drop(&mut self) {
        let body = std::mem::take(&mut self.body);
        self.note(Progress::Left(body));
    }
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
            self.note(Progress::Ended);
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
