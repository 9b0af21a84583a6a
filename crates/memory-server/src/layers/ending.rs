//! Ends an answer at the call's deadline, or when it makes no progress.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body as _, Frame, SizeHint};
use memory_grpc::ApiError;
use memory_runtime::task;
use tokio::time::{Instant, sleep_until};
use tokio_util::task::AbortOnDropHandle;
use tonic::Status;
use tonic::body::Body;

/// When an answer ends that has not ended before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ends {
    pub(super) deadline: Instant,
    /// The longest time without progress: in which nothing is sent, because the client
    /// does not read it or has not sent what is to be answered. `None`: any.
    pub(super) idle: Option<Duration>,
}

/// Drops the answer when it ends, with everything that it holds, and ends it
/// with DEADLINE_EXCEEDED.
///
/// The transport does not poll an answer for which the client's HTTP/2 window
/// has no room, so a body cannot enforce a deadline: a client that never reads would
/// hold it for ever. A separate task enforces it.
pub(super) fn at(ends: Ends, body: Body) -> Body {
    if body.is_end_stream() {
        return body;
    }
    let answer = Arc::new(Slot(Mutex::new(Some(Sent {
        body,
        progress: Instant::now(),
    }))));
    // Weak, so that an answer that ends early is gone at once.
    let held = Arc::downgrade(&answer);
    let timer = task::spawn("deadline", async move {
        let mut end = ends.after(Instant::now());
        loop {
            sleep_until(end).await;
            let Some(answer) = held.upgrade() else { return };
            let mut answer = answer.lock();
            let progress = answer.as_ref().map_or(end, |sent| sent.progress);
            end = ends.after(progress);
            if end <= Instant::now() {
                let late = answer.take();
                drop(answer);
                drop(late);
                return;
            }
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

impl Ends {
    /// When an answer ends that has last made progress at a time.
    fn after(&self, progress: Instant) -> Instant {
        let idle = self.idle.map(|idle| progress + idle);
        idle.map_or(self.deadline, |idle| idle.min(self.deadline))
    }
}

/// An answer that is being sent.
struct Sent {
    body: Body,
    /// When it was sent last.
    progress: Instant,
}

struct Slot(Mutex<Option<Sent>>);

impl Slot {
    fn lock(&self) -> MutexGuard<'_, Option<Sent>> {
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
            Some(sent) => {
                let polled = Pin::new(&mut sent.body).poll_frame(cx);
                if polled.is_ready() {
                    sent.progress = Instant::now();
                }
                polled
            }
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
        self.timer.is_none()
            || answer
                .as_ref()
                .is_some_and(|sent| sent.body.is_end_stream())
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
mod tests;
