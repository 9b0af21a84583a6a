//! Maps errors of the provider's client. They quote answers and sometimes requests, so
//! only the HTTP status is kept.

use std::time::{Duration, SystemTime};

use memory_outbound::retry_after;
use reqwest::header::HeaderMap;
use serde_json::Value;

use crate::ModelError;

/// Maps a failed call. `after` is the deadline of one call.
pub(super) fn of_call(error: genai::Error, after: Duration) -> ModelError {
    let error = match error {
        genai::Error::WebModelCall { webc_error, .. }
        | genai::Error::WebAdapterCall { webc_error, .. } => webc_error,
        genai::Error::ChatResponseGeneration { .. }
        | genai::Error::NoChatResponse { .. }
        | genai::Error::InvalidJsonResponseElement { .. }
        | genai::Error::JsonValueExt(_)
        | genai::Error::SerdeJson(_) => return ModelError::Unreadable,
        // The request could not be serialized.
        _ => return ModelError::BadRequest { status: 400 },
    };
    match error {
        genai::webc::Error::ResponseFailedStatus {
            status,
            body,
            headers,
        } => of_status(status.as_u16(), &headers, &body, after),
        // Includes connection timeouts.
        genai::webc::Error::Reqwest(error) if error.is_connect() => ModelError::Unreachable,
        genai::webc::Error::Reqwest(error) if error.is_timeout() => ModelError::Timeout { after },
        genai::webc::Error::Reqwest(error) if error.is_builder() => {
            ModelError::BadRequest { status: 400 }
        }
        genai::webc::Error::Reqwest(_) => ModelError::Disconnected,
        genai::webc::Error::ResponseFailedNotJson { .. }
        | genai::webc::Error::ResponseFailedInvalidJson { .. }
        | genai::webc::Error::JsonValueExt(_) => ModelError::Unreadable,
    }
}

fn of_status(status: u16, headers: &HeaderMap, body: &str, after: Duration) -> ModelError {
    match status {
        401 | 403 => ModelError::Unauthorized,
        408 | 504 => ModelError::Timeout { after },
        429 => ModelError::RateLimited {
            retry_after: retry_after(headers, SystemTime::now()),
        },
        500.. => ModelError::Failed { status },
        _ if is_filtered(body) => ModelError::Refused,
        _ => ModelError::BadRequest { status },
    }
}

/// Whether the body reports a content filter, as Azure and some gateways do.
fn is_filtered(body: &str) -> bool {
    let Ok(body) = serde_json::from_str::<Value>(body) else {
        return false;
    };
    let code = body.pointer("/error/code").and_then(Value::as_str);
    code.is_some_and(|code| code.eq_ignore_ascii_case("content_filter"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_says_what_to_do() {
        let of = |status| of_status(status, &HeaderMap::new(), "", Duration::from_secs(1));
        assert_eq!(of(401), ModelError::Unauthorized);
        assert_eq!(of(529), ModelError::Failed { status: 529 });
        assert_eq!(of(404), ModelError::BadRequest { status: 404 });
        assert_eq!(of(302), ModelError::BadRequest { status: 302 });
        let filtered = r#"{"error":{"code":"content_filter","message":"no"}}"#;
        let headers = HeaderMap::new();
        assert_eq!(
            of_status(400, &headers, filtered, Duration::ZERO),
            ModelError::Refused
        );
    }
}
