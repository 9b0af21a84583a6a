//! Errors that a call returned, and checks of them.

use std::collections::HashMap;
use std::time::Duration;

use tonic::{Code, Response, Status};
use tonic_types::StatusExt as _;

/// An error status with its google.rpc details.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The gRPC code.
    pub code: Code,
    /// What it says to people.
    pub message: String,
    /// The reason in ErrorInfo.
    pub reason: String,
    /// The domain in ErrorInfo.
    pub domain: String,
    /// The metadata in ErrorInfo.
    pub metadata: HashMap<String, String>,
    /// The fields that BadRequest names, with what is wrong.
    pub fields: Vec<(String, String)>,
    /// When RetryInfo says to come back.
    pub retry: Option<Duration>,
    /// The subject and the limit of each exceeded quota.
    pub quotas: Vec<(String, String)>,
    /// The details as bytes, to compare two errors.
    pub raw: Vec<u8>,
}

impl From<Status> for Failure {
    fn from(status: Status) -> Self {
        let details = status.get_error_details();
        let info = details.error_info();
        Self {
            code: status.code(),
            message: status.message().to_owned(),
            reason: info.map(|info| info.reason.clone()).unwrap_or_default(),
            domain: info.map(|info| info.domain.clone()).unwrap_or_default(),
            metadata: info.map(|info| info.metadata.clone()).unwrap_or_default(),
            fields: details
                .bad_request()
                .map(|bad| {
                    bad.field_violations
                        .iter()
                        .map(|field| (field.field.clone(), field.description.clone()))
                        .collect()
                })
                .unwrap_or_default(),
            retry: details.retry_info().and_then(|info| info.retry_delay),
            quotas: details
                .quota_failure()
                .map(|failure| {
                    let violations = failure.violations.iter();
                    violations
                        .map(|quota| (quota.subject.clone(), quota.description.clone()))
                        .collect()
                })
                .unwrap_or_default(),
            raw: status.details().to_vec(),
        }
    }
}

impl Failure {
    /// Checks code and reason.
    ///
    /// # Panics
    /// If one of them is another.
    #[track_caller]
    pub fn is(self, code: Code, reason: &str) -> Self {
        assert_eq!(
            (self.code, self.reason.as_str(), self.domain.as_str()),
            (code, reason, "recollect.dev"),
            "{self:?}"
        );
        self
    }

    /// Checks that it is a wrong value of just this field.
    ///
    /// # Panics
    /// If it is another error or names another field.
    #[track_caller]
    pub fn names_field(self, field: &str) -> Self {
        let failure = self.is(Code::InvalidArgument, "INVALID_FIELD");
        assert_eq!(failure.field_names(), [field], "{failure:?}");
        assert!(!failure.fields[0].1.is_empty(), "{failure:?}");
        failure
    }

    /// The names of the wrong fields.
    pub fn field_names(&self) -> Vec<&str> {
        self.fields
            .iter()
            .map(|(field, _)| field.as_str())
            .collect()
    }
}

/// Results that should be errors.
pub trait Refused {
    /// The error.
    ///
    /// # Panics
    /// If the call went well.
    fn refused(self) -> Failure;
}

impl<T: std::fmt::Debug> Refused for Result<Response<T>, Status> {
    #[track_caller]
    fn refused(self) -> Failure {
        match self {
            Ok(response) => panic!("{}", not_refused(response)),
            Err(status) => status.into(),
        }
    }
}

/// Says that a call succeeded, with the start of its answer.
pub(crate) fn not_refused(response: Response<impl std::fmt::Debug>) -> String {
    let mut shown = format!("{:?}", response.into_inner());
    shown.truncate(shown.floor_char_boundary(2_000));
    format!("expected an error, got {shown}")
}
