//! From the answer of the gRPC stack to the caller's.

use bytes::Bytes;
use futures::stream;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE, VARY};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};
use prost_reflect::MessageDescriptor;
use serde_json::{Map, Value, json};
use tonic::Status;
use tonic::body::Body;

use super::call::Call;
use super::codec::Codec;
use super::failure::Failure;
use super::frames::{COMPRESSED, END, Frames, frame};
use super::gzip::{WORTHWHILE, compress};
use super::headers::{STREAM_ENCODING, shown};
use crate::body::sent_with;

const GZIP: HeaderValue = HeaderValue::from_static("gzip");
const NO_END: &str = "the answer ends without a status";
const UNTRANSLATABLE: &str = "the answer cannot be translated";
/// The answer of a method without streams, once it is complete.
async fn unary(call: Call, response: Response<Body>) -> Response<Body> {
    let (parts, body) = response.into_parts();
    let status = Status::from_header_map(&parts.headers);
    let mut headers = shown(parts.headers);
    let answer = match status.as_ref().and_then(Failure::from_status) {
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
    sent_with(status, headers, body, call.sending)
}

/// The one message of an answer. Metadata of its trailers goes to the headers.
async fn whole(mut body: Body, headers: &mut HeaderMap) -> Result<Bytes, Failure> {
    // What the server sends may be as long as it likes.
    let mut frames = Frames::new(usize::MAX);
    let mut ended = false;
    while let Some(next) = body.frame().await {
        let next = next.map_err(|status| {
            Failure::from_status(&status).unwrap_or_else(|| Failure::internal(NO_END))
        })?;
        match next.into_data() {
            Ok(data) => frames.push(&data),
            Err(other) => {
                let trailers = other.into_trailers().unwrap_or_default();
                if let Some(status) = Status::from_header_map(&trailers) {
                    if let Some(failure) = Failure::from_status(&status) {
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
fn stream(call: Call, response: Response<Body>) -> Response<Body> {
    let (parts, body) = response.into_parts();
    let status = Status::from_header_map(&parts.headers);
    let mut headers = shown(parts.headers);
    headers.insert(CONTENT_TYPE, call.codec.content_type(true));
    if call.gzip {
        headers.insert(STREAM_ENCODING, GZIP);
    }
    let answer = StreamedAnswer {
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
struct StreamedAnswer {
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

impl StreamedAnswer {
    async fn next(&mut self) -> Next {
        if let Some(status) = self.refused.take() {
            return end(Failure::from_status(&status), &HeaderMap::new());
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
                            Some(status) => Failure::from_status(&status),
                            None => Some(Failure::internal(NO_END)),
                        };
                        return end(failure, &shown(trailers));
                    }
                },
                Some(Err(status)) => return end(Failure::from_status(&status), &HeaderMap::new()),
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
    /// The answer to the caller, from that of the gRPC stack.
    pub(crate) async fn answer(self, response: Response<Body>) -> Response<Body> {
        match self.streams {
            true => stream(self, response),
            false => unary(self, response).await,
        }
    }

    fn output(&self) -> Option<MessageDescriptor> {
        let method = self.method.as_ref();
        method.map(|method| method.descriptor.output())
    }
}
