//! Reads the one message of a call, and puts it or another one back.

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use http::header::CONTENT_LENGTH;
use http_body_util::Full;
use memory_grpc::ApiError;
use prost_reflect::{DynamicMessage, MessageDescriptor};
use tonic::Status;
use tonic::body::Body;
use tonic::codec::{CompressionEncoding, DecodeBuf, Decoder, Streaming};

use crate::layers::Request;

/// Bytes before a message: whether it is compressed, and its length.
const HEADER: usize = 5;
const ENCODING: &str = "grpc-encoding";

/// Leaves messages as they are.
struct Undecoded;

impl Decoder for Undecoded {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(buffer.copy_to_bytes(buffer.remaining())))
    }
}

/// The message of a request, of a type, and the request with this message alone, not compressed.
///
/// # Errors
/// A request without a message of the type, of an unknown encoding, or too large.
pub(super) async fn read(
    request: Request,
    descriptor: MessageDescriptor,
    max_bytes: usize,
) -> Result<(DynamicMessage, Request), Status> {
    let (mut parts, body) = request.into_parts();
    let encoding = match parts.headers.remove(ENCODING) {
        None => None,
        Some(encoding) if encoding == "identity" => None,
        Some(encoding) if encoding == "gzip" => Some(CompressionEncoding::Gzip),
        Some(_) => return Err(unreadable("its encoding is unknown: send gzip or identity")),
    };
    let mut messages = Streaming::new_request(Undecoded, body, encoding, Some(max_bytes));
    let message = messages.message().await?;
    let message = message.ok_or_else(|| unreadable("the request has no message"))?;
    parts.headers.remove(CONTENT_LENGTH);
    let request = Request::from_parts(parts, framed(&message));
    let message = DynamicMessage::decode(descriptor, message)
        .map_err(|_| unreadable("the request is not a message of this method"))?;
    Ok((message, request))
}

/// The body of a request with one message.
pub(super) fn framed(message: &[u8]) -> Body {
    let mut framed = BytesMut::with_capacity(HEADER + message.len());
    framed.put_u8(0);
    // It is within the limit.
    framed.put_u32(u32::try_from(message.len()).unwrap_or(u32::MAX));
    framed.put_slice(message);
    Body::new(Full::new(framed.freeze()))
}

/// The refusal of a request that cannot be read.
pub(super) fn unreadable(problem: &'static str) -> Status {
    ApiError::Unreadable {
        problem: problem.into(),
    }
    .into()
}
