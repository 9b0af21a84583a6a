//! Bodies of a known length.

use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::CONTENT_LENGTH;
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use http_body::{Frame, SizeHint};
use tonic::Status;
use tonic::body::Body;

use crate::until_sent::Sending;

/// A body is handed to the transport in pieces, so that what an unread answer holds is
/// released when its time is over.
const PIECE: usize = 64 * 1024;

/// An answer with a body of a known length.
pub(crate) fn sent(status: StatusCode, headers: HeaderMap, body: Bytes) -> Response<Body> {
    with_body(status, headers, body, None)
}

/// The same, which drops `sending` when the transport has the whole body.
pub(crate) fn sent_with(
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
    sending: Sending,
) -> Response<Body> {
    with_body(status, headers, body, Some(sending))
}

fn with_body(
    status: StatusCode,
    mut headers: HeaderMap,
    body: Bytes,
    sending: Option<Sending>,
) -> Response<Body> {
    headers.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
    let mut response = Response::new(Body::new(Pieces { body, sending }));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

struct Pieces {
    body: Bytes,
    sending: Option<Sending>,
}

impl http_body::Body for Pieces {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        if self.body.is_empty() {
            return Poll::Ready(None);
        }
        let piece = match self.body.len() > PIECE {
            // A copy, because a slice would keep the whole body.
            true => Bytes::copy_from_slice(&self.body.split_to(PIECE)),
            false => {
                self.sending = None;
                mem::take(&mut self.body)
            }
        };
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.body.len() as u64)
    }
}
