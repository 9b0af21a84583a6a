//! From the answer of the gRPC stack to the caller's.

use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::stream;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, VARY};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use http_body::{Frame, SizeHint};
use http_body_util::{BodyExt as _, StreamBody};
use prost_reflect::MessageDescriptor;
use serde_json::{Map, Value, json};
use tonic::Status;
use tonic::body::Body;

use super::failure::Failure;
use super::frames::{COMPRESSED, END, Frames, frame};
use super::gzip::{WORTHWHILE, compress};
use super::headers::{STREAM_ENCODING, shown};
use super::{Call, Codec};
use crate::until_sent::Sending;

const GZIP: HeaderValue = HeaderValue::from_static("gzip");
const NO_END: &str = "the answer ends without a status";
const UNTRANSLATABLE: &str = "the answer cannot be translated";
/// A body is handed to the transport in pieces, so that what an unread answer holds is
/// released when its time is over.
const PIECE: usize = 64 * 1024;

/// The answer of a method without streams, once it is complete.
pub(super) async fn unary(call: Call, response: Response<Body>) -> Response<Body> {
    let (parts, body) = response.into_parts();
    let status = Status::from_header_map(&parts.headers);
    let mut headers = shown(parts.headers);
    let answer = match status.as_ref().and_then(Failure::of) {
        Some(failure) => Err(failure),
        None => whole(body, &mut headers).await,
    };
    let answer = answer.and_then(|answer| {
        let written = call.codec.write(call.output().as_ref(), answer);
        written.map_err(|_| Failure::internal(UNTRANSLATABLE))
    });
    let (status, body) = match answer {
        Ok(body) => {
            headers.insert(CONTENT_TYPE, call.codec.content_type(false));
            (StatusCode::OK, body)
        }
        Err(failure) => {
            headers.insert(CONTENT_TYPE, Codec::Json.content_type(false));
            failure.add_headers(&mut headers);
            (failure.status(), failure.json().to_string().into())
        }
    };
    headers.append(VARY, HeaderValue::from_static("accept-encoding"));
    let compressed = (call.gzip && body.len() > WORTHWHILE)
        .then(|| compress(&body))
        .flatten();
    let body = match compressed {
        Some(compressed) => {
            headers.insert(CONTENT_ENCODING, GZIP);
            compressed
        }
        None => body,
    };
    let sending = Some(call.sending);
    with_body(status, headers, Pieces { body, sending })
}

/// The one message of an answer. Metadata of its trailers goes to the headers.
async fn whole(mut body: Body, headers: &mut HeaderMap) -> Result<Bytes, Failure> {
    // What the server sends may be as long as it likes.
    let mut frames = Frames::new(usize::MAX);
    let mut ended = false;
    while let Some(next) = body.frame().await {
        let next = next
            .map_err(|status| Failure::of(&status).unwrap_or_else(|| Failure::internal(NO_END)))?;
        match next.into_data() {
            Ok(data) => frames.push(&data),
            Err(other) => {
                let trailers = other.into_trailers().unwrap_or_default();
                if let Some(status) = Status::from_header_map(&trailers) {
                    if let Some(failure) = Failure::of(&status) {
                        return Err(failure);
                    }
                    ended = true;
                }
                for (name, value) in shown(trailers).iter() {
                    let name = HeaderName::try_from(format!("trailer-{name}"));
                    if let Ok(name) = name {
                        headers.append(name, value.clone());
                    }
                }
            }
        }
    }
    match frames.next() {
        Ok(Some(message)) if ended => Ok(message.data),
        _ => Err(Failure::internal(NO_END)),
    }
}

/// The answer of a method with streams, while it is being sent.
pub(super) fn stream(call: Call, response: Response<Body>) -> Response<Body> {
    let (parts, body) = response.into_parts();
    let status = Status::from_header_map(&parts.headers);
    let mut headers = shown(parts.headers);
    headers.insert(CONTENT_TYPE, call.codec.content_type(true));
    if call.gzip {
        headers.insert(STREAM_ENCODING, GZIP);
    }
    let answer = Answer {
        output: call.output(),
        call,
        body,
        frames: Frames::new(usize::MAX),
        refused: status,
    };
    let envelopes = stream::unfold(Some(answer), async |answer| {
        let mut answer = answer?;
        Some(match answer.next().await {
            Next::Message(envelope) => (envelope, Some(answer)),
            Next::End(envelope) => (envelope, None),
        })
    });
    let body = StreamBody::new(futures::StreamExt::map(envelopes, |envelope| {
        Ok::<_, Status>(Frame::data(envelope))
    }));
    let mut response = Response::new(Body::new(body));
    *response.headers_mut() = headers;
    response
}

/// A stream under way.
struct Answer {
    call: Call,
    output: Option<MessageDescriptor>,
    body: Body,
    frames: Frames,
    /// The status of an answer without a body.
    refused: Option<Status>,
}

enum Next {
    Message(Bytes),
    End(Bytes),
}

impl Answer {
    async fn next(&mut self) -> Next {
        if let Some(status) = self.refused.take() {
            return end(Failure::of(&status), &HeaderMap::new());
        }
        loop {
            if let Ok(Some(message)) = self.frames.next() {
                return match self.call.codec.write(self.output.as_ref(), message.data) {
                    Ok(message) => Next::Message(self.envelope(message)),
                    Err(_) => end(Some(Failure::internal(UNTRANSLATABLE)), &HeaderMap::new()),
                };
            }
            match self.body.frame().await {
                Some(Ok(next)) => match next.into_data() {
                    Ok(data) => self.frames.push(&data),
                    Err(other) => {
                        let trailers = other.into_trailers().unwrap_or_default();
                        let status = Status::from_header_map(&trailers);
                        let failure = match status {
                            Some(status) => Failure::of(&status),
                            None => Some(Failure::internal(NO_END)),
                        };
                        return end(failure, &shown(trailers));
                    }
                },
                Some(Err(status)) => return end(Failure::of(&status), &HeaderMap::new()),
                None => return end(Some(Failure::internal(NO_END)), &HeaderMap::new()),
            }
        }
    }

    fn envelope(&self, message: Bytes) -> Bytes {
        let compressed = (self.call.gzip && message.len() > WORTHWHILE)
            .then(|| compress(&message))
            .flatten();
        match compressed {
            Some(compressed) => frame(COMPRESSED, &compressed),
            None => frame(0, &message),
        }
    }
}

/// The last envelope: the error, if there is one, and the trailers' metadata.
fn end(failure: Option<Failure>, metadata: &HeaderMap) -> Next {
    let mut json = Map::new();
    if let Some(failure) = failure {
        json.insert("error".to_owned(), failure.json());
    }
    let mut all: Map<String, Value> = Map::new();
    for (name, value) in metadata {
        let values = all.entry(name.as_str()).or_insert_with(|| json!([]));
        if let (Some(values), Ok(value)) = (values.as_array_mut(), value.to_str()) {
            values.push(value.into());
        }
    }
    if !all.is_empty() {
        json.insert("metadata".to_owned(), all.into());
    }
    Next::End(frame(END, Value::from(json).to_string().as_bytes()))
}

impl Call {
    fn output(&self) -> Option<MessageDescriptor> {
        let method = self.method.as_ref();
        method.map(|method| method.descriptor.output())
    }
}

/// An answer with a body of a known length.
pub(crate) fn sent(status: StatusCode, headers: HeaderMap, body: Bytes) -> Response<Body> {
    let sending = None;
    with_body(status, headers, Pieces { body, sending })
}

fn with_body(status: StatusCode, mut headers: HeaderMap, pieces: Pieces) -> Response<Body> {
    headers.insert(CONTENT_LENGTH, HeaderValue::from(pieces.body.len()));
    let mut response = Response::new(Body::new(pieces));
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
