//! Why an endpoint does not embed. No message contains a text, an answer or a key.

use std::time::Duration;

use memory_contract::duration_text::format_duration;

/// A failed request to the endpoint of an embedding model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EndpointError {
    /// Connection failed.
    #[error(
        "cannot connect to embedding.endpoint; check the address, and that the server is running"
    )]
    Unreachable,
    /// The connection closed before the answer.
    #[error("the connection to embedding.endpoint closed before the answer was complete")]
    Disconnected,
    /// No answer before the deadline.
    #[error("embedding.endpoint did not answer within {}", format_duration(*after))]
    Timeout {
        /// The deadline.
        after: Duration,
    },
    /// The provider's rate limit is exceeded.
    #[error("the rate limit of embedding.endpoint is exceeded")]
    RateLimited {
        /// The pause that the provider asks for.
        retry_after: Option<Duration>,
    },
    /// An error on the provider's side.
    #[error("embedding.endpoint failed with HTTP status {status}")]
    Failed {
        /// 500 or more.
        status: u16,
    },
    /// The provider rejected the API key.
    #[error("embedding.endpoint rejected the API key; check embedding.api_key")]
    Unauthorized,
    /// A redirect, which is not followed: it could send the key and texts to another host.
    #[error(
        "embedding.endpoint redirects with HTTP status {status}; set embedding.endpoint to the \
         address that it redirects to"
    )]
    Redirected {
        /// 300 to 399.
        status: u16,
    },
    /// The provider rejected the request.
    #[error(
        "embedding.endpoint rejected the request with HTTP status {status}; check \
         embedding.endpoint, embedding.model and embedding.dimensions"
    )]
    Rejected {
        /// 400 to 499.
        status: u16,
    },
    /// The texts are too many for one request, or one of them is too long for the model.
    #[error(
        "the text is too long for the model at embedding.endpoint, also when it is cut; lower \
         embedding.max_length"
    )]
    TooLong,
    /// The answer is larger than the vectors that were asked for can be.
    #[error("the answer of embedding.endpoint is larger than {most} bytes")]
    TooLarge {
        /// Most bytes of an answer.
        most: usize,
    },
    /// The answer does not follow the protocol.
    #[error(
        "the answer of embedding.endpoint is not a list of embeddings as OpenAI's API returns it"
    )]
    Unreadable,
    /// The answer does not have one vector for each text.
    #[error("embedding.endpoint answered {sent} texts with {found} vectors")]
    Count {
        /// Texts that were sent.
        sent: usize,
        /// Vectors in the answer.
        found: usize,
    },
    /// The numbers of the vectors in the answer are not those of the texts.
    #[error("embedding.endpoint numbers its vectors in another way than the texts it was sent")]
    Order,
    /// A vector has another number of dimensions.
    #[error(
        "embedding.endpoint answers with vectors of {found} numbers, not of {expected}; set \
         embedding.dimensions to {found}"
    )]
    Dimensions {
        /// Dimensions of the model.
        expected: usize,
        /// Dimensions of the vector.
        found: usize,
    },
    /// A vector is zero, or contains numbers that are not finite.
    #[error("embedding.endpoint answered with a vector that has no direction (zero, NaN)")]
    NoDirection,
    /// The endpoint embeds other texts, but not one of these.
    #[error("embedding.endpoint embeds other texts, but not this one")]
    OneText {
        /// What it answers for this one.
        #[source]
        source: Box<EndpointError>,
    },
    /// The circuit breaker is open after repeated failures.
    #[error("requests to embedding.endpoint are paused after repeated failures")]
    BreakerOpen {
        /// The rest of the pause.
        retry_after: Duration,
    },
}

impl EndpointError {
    /// Whether the same request may succeed when it is retried within seconds.
    pub(super) fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable
            | Self::Disconnected
            | Self::Timeout { .. }
            | Self::RateLimited { .. }
            | Self::Failed { .. }
            | Self::Unreadable => true,
            Self::Unauthorized
            | Self::Redirected { .. }
            | Self::Rejected { .. }
            | Self::TooLong
            | Self::TooLarge { .. }
            | Self::Count { .. }
            | Self::Order
            | Self::Dimensions { .. }
            | Self::NoDirection
            | Self::OneText { .. }
            | Self::BreakerOpen { .. } => false,
        }
    }

    /// Whether a request was sent, so that it may have been charged.
    pub(super) fn was_sent(&self) -> bool {
        !matches!(self, Self::BreakerOpen { .. } | Self::Unreachable)
    }

    /// Whether it indicates an outage of the endpoint, which the circuit breaker counts.
    pub(super) fn is_outage(&self) -> bool {
        match self {
            Self::Unreachable
            | Self::Disconnected
            | Self::Timeout { .. }
            | Self::Failed { .. }
            | Self::Unauthorized
            | Self::Redirected { .. }
            | Self::Unreadable => true,
            Self::RateLimited { .. }
            | Self::Rejected { .. }
            | Self::TooLong
            | Self::TooLarge { .. }
            | Self::Count { .. }
            | Self::Order
            | Self::Dimensions { .. }
            | Self::NoDirection
            | Self::OneText { .. }
            | Self::BreakerOpen { .. } => false,
        }
    }

    /// Whether one of the texts can be the cause, so that other texts would be embedded.
    pub(super) fn may_be_of_text(&self) -> bool {
        match self {
            Self::Timeout { .. }
            | Self::Failed { .. }
            | Self::Rejected { .. }
            | Self::TooLong
            | Self::TooLarge { .. }
            | Self::Unreadable
            | Self::Count { .. }
            | Self::Order
            | Self::NoDirection => true,
            Self::Unreachable
            | Self::Disconnected
            | Self::RateLimited { .. }
            | Self::Unauthorized
            | Self::Redirected { .. }
            | Self::Dimensions { .. }
            | Self::OneText { .. }
            | Self::BreakerOpen { .. } => false,
        }
    }
}
