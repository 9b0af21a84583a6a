//! Answers, compressed where that pays.

use prost::Message;
use tonic::Response;

/// Answers of fewer bytes are sent as they are: compressing them takes longer than sending them
/// within a data center.
const COMPRESSED_FROM: usize = 64 * 1024;

/// An answer that is compressed, for callers that accept it, only if it is large.
pub fn answered<M: Message>(message: M) -> Response<M> {
    let is_small = message.encoded_len() < COMPRESSED_FROM;
    let mut response = Response::new(message);
    if is_small {
        response.disable_compression();
    }
    response
}
