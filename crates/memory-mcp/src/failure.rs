//! Errors, in words that tell a model or its user what to do.

use std::fmt::Write as _;

use rmcp::ErrorData;
use serde_json::json;
use tonic::{Code, Status};
use tonic_types::StatusExt as _;

/// Why a tool or a resource has no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The request is wrong.
    #[error("{0}")]
    Input(String),
    /// There is no such memory or conversation, or it is another user's.
    #[error("the user has no {0}")]
    NotFound(String),
    /// The API refused, or did not answer.
    #[error("{}", in_words(.0))]
    Call(Box<Status>),
    /// The client withdrew the request.
    #[error("the request was cancelled")]
    Cancelled,
}

impl Failure {
    pub(crate) fn input(problem: impl Into<String>) -> Self {
        Self::Input(problem.into())
    }

    /// The reason of an error of the API, such as `LONG_TERM_MEMORY_OFF`; empty without one.
    pub(crate) fn reason(status: &Status) -> String {
        let info = status.get_details_error_info();
        info.map(|info| info.reason).unwrap_or_default()
    }
}

impl From<Status> for Failure {
    fn from(status: Status) -> Self {
        Self::Call(Box::new(status))
    }
}

/// For resources, whose errors are errors of the protocol.
impl From<Failure> for ErrorData {
    fn from(failure: Failure) -> Self {
        let message = failure.to_string();
        match failure {
            Failure::Input(_) => Self::invalid_params(message, None),
            Failure::NotFound(uri) => {
                Self::resource_not_found(message, Some(json!({ "uri": uri })))
            }
            Failure::Call(_) | Failure::Cancelled => Self::internal_error(message, None),
        }
    }
}

/// The message of an error, its wrong fields, and the next step.
fn in_words(status: &Status) -> String {
    let details = status.get_error_details();
    let mut words = match (status.code(), details.error_info()) {
        (Code::Unavailable, None) => "the Recollect server cannot be reached".to_owned(),
        _ => status.message().to_owned(),
    };
    let fields = details.bad_request().map(|bad| &bad.field_violations[..]);
    for field in fields.unwrap_or_default() {
        if !words.contains(&field.field) {
            let _ = write!(words, "; {}: {}", field.field, field.description);
        }
    }
    let retry = details.retry_info().and_then(|info| info.retry_delay);
    let next = match (status.code(), retry) {
        (Code::Unauthenticated, _) => {
            "Ask the user to set a valid API key in the configuration of this MCP server."
        }
        (Code::PermissionDenied, _) => {
            "Ask the user for an API key with that scope; do not try again with this one."
        }
        (Code::Unavailable, None) => {
            "Ask the user to check that the server runs and that its address is right."
        }
        (_, Some(delay)) => {
            let seconds = delay.as_secs().max(1);
            let _ = write!(words, ". Try again in {seconds} s.");
            return words;
        }
        (Code::DeadlineExceeded, None) => "Try again, or ask for less.",
        _ => return words,
    };
    let _ = write!(words, ". {next}");
    words
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "a status as the server makes it")]

    use std::time::Duration;

    use tonic_types::{ErrorDetails, FieldViolation};

    use super::*;

    #[test]
    fn an_error_says_what_to_do() {
        let unreachable = Failure::from(Status::unavailable("tcp connect error"));
        let words = unreachable.to_string();
        assert!(words.contains("cannot be reached"), "{words}");
        assert!(words.contains("check that the server runs"), "{words}");
        assert!(!words.contains("tcp"), "{words}");

        let mut details = ErrorDetails::with_error_info("OVERLOADED", "recollect.dev", []);
        details.set_retry_info(Some(Duration::from_millis(300)));
        let busy = Status::with_error_details(Code::Unavailable, "too many calls", details);
        let words = Failure::from(busy).to_string();
        assert_eq!(words, "too many calls. Try again in 1 s.");

        let key = Failure::from(Status::unauthenticated("a valid API key is required"));
        assert!(key.to_string().contains("Ask the user"), "{key}");
    }

    #[test]
    fn wrong_fields_are_named() {
        let details =
            ErrorDetails::with_bad_request(vec![FieldViolation::new("query", "must not be empty")]);
        let status = Status::with_error_details(Code::InvalidArgument, "a wrong request", details);
        let words = Failure::from(status).to_string();
        assert_eq!(words, "a wrong request; query: must not be empty");
    }
}
