//! Ends an answer at the call's deadline.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body as _, Frame, SizeHint};
use memory_store::task;
use tokio::time::{Instant, sleep_until};
use tokio_util::task::AbortOnDropHandle;
use tonic::Status;
use tonic::body::Body;

use crate::error::ApiError;

/// Drops the answer at the deadline, with everything that it holds, and ends it
/// with DEADLINE_EXCEEDED.
///
/// The transport does not poll an answer for which the client's HTTP/2 window
/// has no room, so a body cannot enforce a deadline: a client that never reads would
/// hold it for ever. A separate task enforces it.
pub(super) fn at(deadline: Instant, body: Body) -> Body {
    if body.is_end_stream() {
        return body;
    }
    let answer = Arc::new(Slot(Mutex::new(Some(body))));
    // Weak, so that an answer that ends early is gone at once.
    let held = Arc::downgrade(&answer);
    let timer = task::spawn("deadline", async move {
        sleep_until(deadline).await;
        if let Some(answer) = held.upgrade() {
            let late = answer.lock().take();
            drop(late);
        }
    });
    Body::new(Ending {
        answer,
        timer: Some(AbortOnDropHandle::new(timer)),
    })
}

struct Ending {
    answer: Arc<Slot>,
    /// `None` once the answer has ended.
    timer: Option<AbortOnDropHandle<()>>,
}

struct Slot(Mutex<Option<Body>>);

impl Slot {
    fn lock(&self) -> MutexGuard<'_, Option<Body>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl http_body::Body for Ending {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let Some(timer) = &mut self.timer else {
            return Poll::Ready(None);
        };
        if Pin::new(timer).poll(cx).is_ready() {
            self.timer = None;
            return Poll::Ready(Some(exceeded()));
        }
        let polled = match self.answer.lock().as_mut() {
            Some(body) => Pin::new(body).poll_frame(cx),
            // The timer has just emptied it, and wakes us when it is done.
            None => Poll::Pending,
        };
        let ended = match &polled {
            Poll::Ready(Some(Ok(frame))) => frame.is_trailers(),
            Poll::Ready(Some(Err(_)) | None) => true,
            Poll::Pending => false,
        };
        if ended {
            self.timer = None;
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        let answer = self.answer.lock();
        self.timer.is_none() || answer.as_ref().is_some_and(Body::is_end_stream)
    }

    /// Unknown: the deadline may cut the answer short.
    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}

/// The trailers that say so; where they cannot be written, the stream is reset.
fn exceeded() -> Result<Frame<Bytes>, Status> {
    let mut trailers = HeaderMap::new();
    Status::from(ApiError::DeadlineExceeded).add_header(&mut trailers)?;
    Ok(Frame::trailers(trailers))
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::future::poll_fn;
    use std::time::Duration;

    use tonic::Code;
    use tower::{Layer as _, Service as _, service_fn};

    use super::*;
    use crate::layers::{Concurrency, Deadlines, Methods, Wrap};

    const TIMEOUT: Duration = Duration::from_millis(50);

    /// An answer that never says anything.
    struct Silent;

    impl http_body::Body for Silent {
        type Data = Bytes;
        type Error = Status;

        fn poll_frame(
            self: Pin<&mut Self>,
            _cx: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
            Poll::Pending
        }
    }

    #[tokio::test]
    async fn a_silent_answer_ends_with_deadline_exceeded() {
        let mut body = at(Instant::now() + TIMEOUT, Body::new(Silent));
        let mut next = async || poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await;
        let trailers = next().await.unwrap().unwrap().into_trailers().unwrap();
        let status = Status::from_header_map(&trailers).unwrap();
        assert_eq!(status.code(), Code::DeadlineExceeded);
        assert!(next().await.is_none());
        assert!(body.is_end_stream());
    }

    #[tokio::test]
    async fn an_unread_answer_releases_its_permit() {
        let methods = Methods::new();
        let layers = Wrap(Deadlines::new(methods.clone(), TIMEOUT, TIMEOUT));
        let mut server = layers.layer(Wrap(Concurrency::new(methods, 1, 1, 1)).layer(service_fn(
            async |_: http::Request<Body>| {
                Ok::<_, Infallible>(http::Response::new(Body::new(Silent)))
            },
        )));
        for path in [
            "/recollect.v1.ThreadService/GetThread",
            "/recollect.v1.MessageService/ExportMessages",
            "/recollect.v1.ThreadService/WatchThread",
        ] {
            let mut call = || {
                let request = http::Request::builder().uri(path);
                server.call(request.body(Body::empty()).unwrap())
            };
            let refused = |response: &http::Response<Body>| {
                Status::from_header_map(response.headers())
                    .is_some_and(|status| status.code() == Code::ResourceExhausted)
            };
            let unread = call().await.unwrap();
            assert!(!refused(&unread));
            assert!(refused(&call().await.unwrap()));
            tokio::time::sleep(TIMEOUT * 4).await;
            assert!(!refused(&call().await.unwrap()));
            drop(unread);
        }
    }
}
