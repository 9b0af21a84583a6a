//! What is embedded.

/// What an inference or a request embeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Query,
    Document,
    /// A fixed text, to warm a model up or to try an endpoint.
    WarmUp,
}

impl Kind {
    /// The label of metrics.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Query => "query",
            Self::Document => "document",
            Self::WarmUp => "warm_up",
        }
    }
}
