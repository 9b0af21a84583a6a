//! Maps errors of the provider's client. They quote answers and sometimes requests, so
//! only the HTTP status is kept.

use std::time::{Duration, SystemTime};

use reqwest::header::{HeaderMap, RETRY_AFTER};
use serde_json::Value;
use time::{OffsetDateTime, format_description::well_known::Rfc2822};

use crate::ModelError;

/// The longest pause that a provider may ask for.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(3_600);

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

/// The pause that the provider asks for: `retry-after-ms`, or `retry-after` in seconds or
/// as a date (RFC 9110, section 10.2.3).
fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |value: Option<&reqwest::header::HeaderValue>| {
        value.and_then(|value| value.to_str().ok().map(|text| text.trim().to_owned()))
    };
    let bounded = |seconds: f64| {
        let seconds = seconds.clamp(0.0, LONGEST_RETRY_AFTER.as_secs_f64());
        Duration::try_from_secs_f64(seconds).ok()
    };
    let milliseconds = text(headers.get("retry-after-ms")).and_then(|ms| ms.parse::<f64>().ok());
    if let Some(milliseconds) = milliseconds {
        return bounded(milliseconds / 1_000.0);
    }
    let asked = text(headers.get(RETRY_AFTER))?;
    if let Ok(seconds) = asked.parse::<f64>() {
        return bounded(seconds);
    }
    let at = OffsetDateTime::parse(&asked, &Rfc2822).ok()?;
    bounded((at - OffsetDateTime::from(now)).as_seconds_f64())
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    fn asked(name: &'static str, value: &'static str) -> Option<Duration> {
        let mut headers = HeaderMap::new();
        headers.insert(name, value.parse().unwrap());
        // Fri, 20 Nov 2026 12:00:00 GMT
        retry_after(&headers, UNIX_EPOCH + Duration::from_secs(1_795_176_000))
    }

    #[test]
    fn a_provider_may_ask_for_a_pause_in_three_ways() {
        assert_eq!(asked("retry-after", "7"), Some(Duration::from_secs(7)));
        assert_eq!(
            asked("retry-after-ms", "1500"),
            Some(Duration::from_millis(1_500))
        );
        assert_eq!(
            asked("retry-after", "Fri, 20 Nov 2026 12:00:30 GMT"),
            Some(Duration::from_secs(30))
        );
    }

    #[test]
    fn nonsense_and_endless_pauses_are_bounded() {
        assert_eq!(asked("retry-after", "soon"), None);
        assert_eq!(asked("retry-after", "-3"), Some(Duration::ZERO));
        assert_eq!(asked("retry-after", "1e300"), Some(LONGEST_RETRY_AFTER));
        assert_eq!(
            asked("retry-after", "Fri, 20 Nov 2020 12:00:30 GMT"),
            Some(Duration::ZERO)
        );
    }

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
