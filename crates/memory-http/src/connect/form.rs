//! The forms in which calls are sent.

use super::codec::Codec;

/// The content types of methods without streams, and of those with.
const UNARY: [(&str, Codec); 2] = [
    ("application/json", Codec::Json),
    ("application/proto", Codec::Proto),
];
const STREAMING: [(&str, Codec); 2] = [
    ("application/connect+json", Codec::Json),
    ("application/connect+proto", Codec::Proto),
];

/// How a call is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// POST of one message.
    Unary(Codec),
    /// GET with the message in the query.
    Get,
    /// POST of messages in envelopes.
    Stream(Codec),
}

impl Form {
    /// The form of a POST with a content type.
    pub(crate) fn from_content_type(content_type: &str) -> Option<Self> {
        let find = |types: [(&'static str, Codec); 2]| {
            let mut types = types.into_iter();
            types.find(|(name, _)| *name == content_type)
        };
        let unary = find(UNARY).map(|(_, codec)| Self::Unary(codec));
        unary.or_else(|| find(STREAMING).map(|(_, codec)| Self::Stream(codec)))
    }

    /// Whether it is for methods with streams.
    pub(crate) fn streams(self) -> bool {
        matches!(self, Self::Stream(_))
    }
}
