//! Errors of calls, as the Connect protocol writes them.

use std::sync::LazyLock;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, StatusCode};
use prost::Message as _;
use prost_reflect::{DescriptorPool, DynamicMessage};
use serde_json::{Map, Value, json};
use tonic::{Code, Status};
use tonic_types::StatusExt as _;

/// The types of details.
static DETAILS: LazyLock<DescriptorPool> = LazyLock::new(|| {
    // A test decodes it.
    DescriptorPool::decode(tonic_types::pb::FILE_DESCRIPTOR_SET).unwrap_or_default()
});

/// An error that a caller sees.
#[derive(Debug)]
pub(super) struct Failure {
    code: Code,
    message: String,
    details: Vec<Value>,
    retry_after: Option<Duration>,
}

impl Failure {
    /// The error of a call; `None` for a call that succeeded.
    pub(super) fn from_status(status: &Status) -> Option<Self> {
        if status.code() == Code::Ok {
            return None;
        }
        let details = tonic_types::pb::Status::decode(status.details());
        let details = details.map(|status| status.details).unwrap_or_default();
        let retry = status.get_details_retry_info();
        let message = match status.message() {
            // As tonic answers a method that no service has.
            "" if status.code() == Code::Unimplemented => {
                "there is no such method; /openapi.json lists the methods"
            }
            message => message,
        };
        Some(Self {
            code: status.code(),
            message: message.to_owned(),
            details: details.iter().map(detail).collect(),
            retry_after: retry.and_then(|info| info.retry_delay),
        })
    }

    /// An error of the translation.
    pub(super) fn internal(message: &str) -> Self {
        Self {
            code: Code::Internal,
            message: message.to_owned(),
            details: Vec::new(),
            retry_after: None,
        }
    }

    /// `code`, `message` and `details`.
    pub(super) fn json(&self) -> Value {
        let mut json = Map::new();
        json.insert("code".to_owned(), name(self.code).into());
        if !self.message.is_empty() {
            json.insert("message".to_owned(), self.message.as_str().into());
        }
        if !self.details.is_empty() {
            json.insert("details".to_owned(), self.details.clone().into());
        }
        json.into()
    }

    pub(super) fn status(&self) -> StatusCode {
        match self.code {
            Code::Ok => StatusCode::OK,
            Code::Cancelled => {
                StatusCode::from_u16(499).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
            }
            Code::InvalidArgument | Code::FailedPrecondition | Code::OutOfRange => {
                StatusCode::BAD_REQUEST
            }
            Code::DeadlineExceeded => StatusCode::GATEWAY_TIMEOUT,
            Code::NotFound => StatusCode::NOT_FOUND,
            Code::AlreadyExists | Code::Aborted => StatusCode::CONFLICT,
            Code::PermissionDenied => StatusCode::FORBIDDEN,
            Code::ResourceExhausted => StatusCode::TOO_MANY_REQUESTS,
            Code::Unimplemented => StatusCode::NOT_IMPLEMENTED,
            Code::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            Code::Unauthenticated => StatusCode::UNAUTHORIZED,
            Code::Unknown | Code::Internal | Code::DataLoss => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// Adds what clients of HTTP look for: when to retry, and how to authenticate.
    pub(super) fn add_headers(&self, headers: &mut HeaderMap) {
        if let Some(delay) = self.retry_after {
            let seconds = (delay.as_millis().div_ceil(1_000) as u64).max(1);
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.code == Code::Unauthenticated {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
    }
}

/// `type`, `value` and, where the type is known, `debug`.
fn detail(any: &prost_types::Any) -> Value {
    let type_name = any.type_url.rsplit('/').next().unwrap_or_default();
    let mut json = json!({
        "type": type_name,
        "value": STANDARD_NO_PAD.encode(&any.value),
    });
    let message = DETAILS
        .get_message_by_name(type_name)
        .and_then(|known| DynamicMessage::decode(known, any.value.as_slice()).ok());
    if let Some(debug) = message.and_then(|message| serde_json::to_value(&message).ok()) {
        json["debug"] = debug;
    }
    json
}

/// A code's name in the Connect protocol.
fn name(code: Code) -> &'static str {
    match code {
        Code::Ok => "ok",
        Code::Cancelled => "canceled",
        Code::Unknown => "unknown",
        Code::InvalidArgument => "invalid_argument",
        Code::DeadlineExceeded => "deadline_exceeded",
        Code::NotFound => "not_found",
        Code::AlreadyExists => "already_exists",
        Code::PermissionDenied => "permission_denied",
        Code::ResourceExhausted => "resource_exhausted",
        Code::FailedPrecondition => "failed_precondition",
        Code::Aborted => "aborted",
        Code::OutOfRange => "out_of_range",
        Code::Unimplemented => "unimplemented",
        Code::Internal => "internal",
        Code::Unavailable => "unavailable",
        Code::DataLoss => "data_loss",
        Code::Unauthenticated => "unauthenticated",
    }
}

#[cfg(test)]
mod tests {
    #![expect(
        clippy::disallowed_methods,
        reason = "a status as the server inside makes it"
    )]

    use tonic_types::ErrorDetails;

    use super::*;

    #[test]
    fn an_error_keeps_its_details() {
        let mut details = ErrorDetails::with_error_info("THREAD_NOT_FOUND", "recollect.dev", []);
        details.set_retry_info(Some(Duration::from_millis(1_200)));
        let status = Status::with_error_details(Code::NotFound, "no such thread", details);
        let failure = Failure::from_status(&status).unwrap();
        assert_eq!(failure.status(), StatusCode::NOT_FOUND);
        let json = failure.json();
        assert_eq!(json["code"], "not_found");
        assert_eq!(json["message"], "no such thread");
        let details = json["details"].as_array().unwrap();
        let debug = |name: &str| {
            let detail = details.iter().find(|detail| detail["type"] == name);
            detail.unwrap()["debug"].clone()
        };
        assert_eq!(
            debug("google.rpc.ErrorInfo"),
            json!({"reason": "THREAD_NOT_FOUND", "domain": "recollect.dev"})
        );
        assert_eq!(
            debug("google.rpc.RetryInfo"),
            json!({"retryDelay": "1.200s"})
        );
        let mut headers = HeaderMap::new();
        failure.add_headers(&mut headers);
        assert_eq!(headers[RETRY_AFTER], "2");
    }
}
