//! Detects when an answer has been sent completely.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body as _, Frame, SizeHint};
use tonic::body::Body;
use tonic::{Code, Status};

/// Calls `end` once: with the status when the answer has been sent, or with
/// `Cancelled` when the caller drops the stream before its end.
pub(super) fn on_end(body: Body, end: impl FnOnce(Code) + Send + 'static) -> Body {
    Body::new(Watched {
        body,
        end: Some(Box::new(end)),
    })
}

struct Watched {
    body: Body,
    end: Option<Box<dyn FnOnce(Code) + Send>>,
}

impl Watched {
    fn ended(&mut self, code: Code) {
        if let Some(end) = self.end.take() {
            end(code);
        }
    }
}

impl http_body::Body for Watched {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        match &polled {
            Poll::Ready(Some(Ok(frame))) => {
                if let Some(trailers) = frame.trailers_ref() {
                    let status = Status::from_header_map(trailers);
                    self.ended(status.map_or(Code::Ok, |status| status.code()));
                }
            }
            Poll::Ready(Some(Err(status))) => {
                let code = status.code();
                self.ended(code);
            }
            Poll::Ready(None) => self.ended(Code::Ok),
            Poll::Pending => {}
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let code = if self.body.is_end_stream() {
            Code::Ok
        } else {
            Code::Cancelled
        };
        self.ended(code);
    }
}
