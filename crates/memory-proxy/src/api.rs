//! The APIs whose requests get memory.

use http::{HeaderMap, Method};
use memory_contract::message::Provider;

/// An API of language models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Api {
    /// OpenAI's chat completions, which many providers offer.
    Chat,
    /// OpenAI's responses.
    Responses,
    /// Anthropic's messages.
    Messages,
}

impl Api {
    /// The API of a request; `None` for a request that passes as it is.
    pub(crate) fn of(method: &Method, path: &str) -> Option<Self> {
        if method != Method::POST {
            return None;
        }
        match path {
            "/v1/chat/completions" => Some(Self::Chat),
            "/v1/responses" => Some(Self::Responses),
            "/v1/messages" => Some(Self::Messages),
            _ => None,
        }
    }

    /// The format of its messages.
    pub(crate) fn provider(self) -> Provider {
        match self {
            Self::Chat => Provider::OpenaiChat,
            Self::Responses => Provider::OpenaiResponses,
            Self::Messages => Provider::AnthropicMessages,
        }
    }
}

/// Whether a request is for Anthropic's API: by its path, or by the header that each of its
/// requests must have.
pub(crate) fn is_anthropic(path: &str, headers: &HeaderMap) -> bool {
    let under = path.strip_prefix("/v1/messages");
    under.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        || headers.contains_key("anthropic-version")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_for_anthropic_are_known_by_path_or_header() {
        let none = HeaderMap::new();
        for (path, expected) in [
            ("/v1/messages", true),
            ("/v1/messages/count_tokens", true),
            ("/v1/messages_other", false),
            ("/v1/models", false),
        ] {
            assert_eq!(is_anthropic(path, &none), expected, "{path}");
        }
        let mut headers = HeaderMap::new();
        headers.insert("anthropic-version", "2023-06-01".parse().unwrap());
        assert!(is_anthropic("/v1/models", &headers));
    }
}
