//! From a caller's request to that of the gRPC stack.

use std::sync::Arc;

use base64::Engine as _;
use base64::alphabet::URL_SAFE;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use bytes::{Bytes, BytesMut};
use futures::{Stream, StreamExt as _, future, stream};
use http::{Request, Uri};
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};
use prost_reflect::MessageDescriptor;
use tonic::Status;
use tonic::body::Body;

use super::codec::Codec;
use super::form::Form;
use super::frames::{COMPRESSED, END, Framed, Frames, TooLong, frame};
use super::gzip::{Unzippable, decompress};
use super::headers::{self, Encoding};
use crate::config::HttpConfig;
use crate::contract::Method;
use crate::unreadable::Unreadable;

/// How much of a body that is too large is read and thrown away, as a multiple of what is
/// accepted: an HTTP/1 client that is still sending would not see the answer.
const DRAINED: usize = 8;

/// Base64 for URLs, with or without padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// How a request is read.
#[derive(Clone)]
struct Reader {
    codec: Codec,
    input: Option<MessageDescriptor>,
    encoding: Encoding,
    config: Arc<HttpConfig>,
}

/// The gRPC request. Its body reads the caller's when the handler asks for its messages.
pub(super) fn translate(
    form: Form,
    method: Option<&Method>,
    request: Request<Body>,
    config: &Arc<HttpConfig>,
) -> (Codec, Request<Body>) {
    let (mut parts, body) = request.into_parts();
    let query = match form {
        Form::Get => Query::parse(parts.uri.query().unwrap_or_default()),
        Form::Unary(_) | Form::Stream(_) => Ok(Query::default()),
    };
    let (encoding, named) = Encoding::requested(form, &parts.headers);
    let (codec, encoding) = match (form, &query) {
        (Form::Unary(codec) | Form::Stream(codec), _) => (codec, encoding),
        (Form::Get, Ok(query)) => (query.codec, query.encoding),
        (Form::Get, Err(_)) => (Codec::Json, Encoding::Identity),
    };
    let reader = Reader {
        codec,
        input: method.map(|method| method.descriptor.input()),
        encoding,
        config: Arc::clone(config),
    };
    if let Ok(path) = parts.uri.path().parse::<Uri>() {
        parts.uri = path;
    }
    parts.method = http::Method::POST;
    parts.version = http::Version::HTTP_2;
    // tonic refuses an encoding that it does not know.
    let unknown = named.filter(|_| encoding == Encoding::Unknown);
    let (headers, problem) = headers::inner(parts.headers, unknown);
    let problem = problem.or_else(|| query.as_ref().err().cloned());
    parts.headers = headers;
    let body = match (problem, form, query) {
        (Some(problem), _, _) => reader.refusing(problem),
        (None, Form::Get, query) => reader.query(query.unwrap_or_default()),
        (None, Form::Unary(_), _) => reader.unary(body),
        (None, Form::Stream(_), _) => reader.stream(body),
    };
    (codec, Request::from_parts(parts, body))
}

impl Reader {
    fn unary(self, body: Body) -> Body {
        one(async move {
            let max = self.codec.max_bytes(self.config.max_message_bytes);
            let request = read(body, max).await?;
            let request = request.ok_or_else(|| self.refuse(self.too_large()))?;
            let compressed = self.encoding == Encoding::Gzip;
            self.message(compressed, request)
        })
    }

    fn query(self, query: Query) -> Body {
        one(future::ready(
            self.message(query.encoding == Encoding::Gzip, query.message),
        ))
    }

    fn stream(self, body: Body) -> Body {
        let frames = Frames::new(self.codec.max_bytes(self.config.max_message_bytes));
        let messages = stream::try_unfold(
            (self, body, frames),
            async |(reader, mut body, mut frames)| {
                let next = reader.next(&mut body, &mut frames).await?;
                Ok::<_, Status>(next.map(|message| (message, (reader, body, frames))))
            },
        );
        body_of(messages)
    }

    /// The next message of a stream, framed as in gRPC.
    async fn next(&self, body: &mut Body, frames: &mut Frames) -> Result<Option<Bytes>, Status> {
        loop {
            let next = frames.next();
            match next.map_err(|TooLong| self.refuse(self.too_large()))? {
                Some(Framed { flags, data }) if flags & !COMPRESSED == 0 => {
                    let compressed = flags & COMPRESSED != 0;
                    if compressed && self.encoding != Encoding::Gzip {
                        let problem = "a message is compressed, but connect-content-encoding is \
                                       not gzip";
                        return Err(self.refuse(Unreadable::new(problem)));
                    }
                    return self.message(compressed, data).map(Some);
                }
                // The end of a stream is that of its body; some clients mark it too.
                Some(Framed { flags: END, .. }) => return Ok(None),
                Some(_) => {
                    let problem = "a message of the stream has unknown flags";
                    return Err(self.refuse(Unreadable::new(problem)));
                }
                None => {}
            }
            match body.frame().await {
                Some(frame) => {
                    if let Ok(data) = frame?.into_data() {
                        frames.push(&data);
                    }
                }
                None if frames.is_empty() => return Ok(None),
                None => {
                    let problem = "the stream ends within a message";
                    return Err(self.refuse(Unreadable::new(problem)));
                }
            }
        }
    }

    /// One message, framed as in gRPC.
    fn message(&self, compressed: bool, request: Bytes) -> Result<Bytes, Status> {
        let max = self.codec.max_bytes(self.config.max_message_bytes);
        let request = match compressed {
            true => decompress(&request, max).map_err(|problem| {
                self.refuse(match problem {
                    Unzippable::Broken => Unreadable::new("the request is not gzip"),
                    Unzippable::TooLong => self.too_large(),
                })
            })?,
            false => request,
        };
        let message = self.codec.read(self.input.as_ref(), request);
        let message = message.map_err(|problem| self.refuse(problem))?;
        Ok(frame(0, &message))
    }

    fn refusing(self, problem: Unreadable) -> Body {
        let status = self.refuse(problem);
        one(future::ready(Err(status)))
    }

    fn refuse(&self, problem: Unreadable) -> Status {
        (self.config.refuse)(problem)
    }

    fn too_large(&self) -> Unreadable {
        let mib = self.codec.max_bytes(self.config.max_message_bytes) >> 20;
        let of = match self.codec {
            Codec::Json => " of JSON",
            Codec::Proto => "",
        };
        Unreadable::new(format!(
            "the request has more than {mib} MiB{of}; send less at a time"
        ))
    }
}

/// The parameters of a call by GET.
#[derive(Debug)]
struct Query {
    message: Bytes,
    codec: Codec,
    encoding: Encoding,
}

impl Default for Query {
    fn default() -> Self {
        Self {
            message: Bytes::new(),
            codec: Codec::Json,
            encoding: Encoding::Identity,
        }
    }
}

impl Query {
    fn parse(query: &str) -> Result<Self, Unreadable> {
        let mut found = Self::default();
        let (mut message, mut base64) = (None, false);
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            match (&*name, &*value) {
                ("message", _) => message = Some(value.into_owned()),
                ("encoding", "json") => found.codec = Codec::Json,
                ("encoding", "proto") => found.codec = Codec::Proto,
                ("base64", value) => base64 = value == "1",
                ("connect", "v1") => {}
                ("compression", name) if Encoding::named(name) != Encoding::Unknown => {
                    found.encoding = Encoding::named(name);
                }
                ("encoding" | "connect" | "compression", value) => {
                    return Err(Unreadable::new(format!(
                        "the query parameter {name} has the unknown value {value:?}"
                    )));
                }
                // Others are the caller's own, such as a cache's.
                _ => {}
            }
        }
        let message = message.ok_or_else(|| {
            Unreadable::new("the query parameter message is missing: its value is the request")
        })?;
        found.message = match base64 {
            false => message.into(),
            true => BASE64
                .decode(message)
                .map_err(|_| Unreadable::new("the query parameter message is not base64 for URLs"))?
                .into(),
        };
        Ok(found)
    }
}

/// Reads a whole body; `None` if it has more than `max` bytes.
async fn read(mut body: Body, max: usize) -> Result<Option<Bytes>, Status> {
    let (mut whole, mut length) = (BytesMut::new(), 0);
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else {
            continue;
        };
        length += data.len();
        if length <= max {
            whole.extend_from_slice(&data);
        } else if length > DRAINED * max {
            break;
        } else {
            whole = BytesMut::new();
        }
    }
    Ok((length <= max).then(|| whole.freeze()))
}

fn one(message: impl Future<Output = Result<Bytes, Status>> + Send + 'static) -> Body {
    body_of(stream::once(message))
}

fn body_of(messages: impl Stream<Item = Result<Bytes, Status>> + Send + 'static) -> Body {
    Body::new(StreamBody::new(
        messages.map(|message| message.map(Frame::data)),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_has_the_request() {
        let query =
            Query::parse("encoding=json&message=%7B%22a%22%3A+1%7D&connect=v1&x=y").unwrap();
        assert_eq!(query.message, r#"{"a": 1}"#);
        assert_eq!(query.codec, Codec::Json);
        for padded in ["_-8", "_-8="] {
            let query = format!("encoding=proto&base64=1&message={padded}");
            let query = Query::parse(&query).unwrap();
            assert_eq!(&*query.message, [0xff, 0xef]);
            assert_eq!(query.codec, Codec::Proto);
        }
        for wrong in [
            "",
            "encoding=json",
            "encoding=xml&message=x",
            "base64=1&message=*",
            "connect=v2&message=x",
            "compression=br&message=x",
        ] {
            assert!(Query::parse(wrong).is_err(), "{wrong}");
        }
    }
}
