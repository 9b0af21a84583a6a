//! Names of gRPC codes and error reasons.

use memory_contract::proto::ErrorReason;
use tonic::{Code, Status};
use tonic_types::StatusExt as _;

pub(super) const PREFIX: &str = "ERROR_REASON_";

/// The reason as a google.rpc.ErrorInfo has it.
pub fn name(reason: ErrorReason) -> &'static str {
    let name = reason.as_str_name();
    name.strip_prefix(PREFIX).unwrap_or(name)
}

/// The reason of a refusal: that of its google.rpc.ErrorInfo, or the name of the
/// code where the transport refused.
pub fn reason_of(status: &Status) -> String {
    let details = status.get_error_details();
    match details.error_info() {
        Some(info) => info.reason.clone(),
        None => code_name(status.code()).to_owned(),
    }
}

/// A code as gRPC writes it.
pub fn code_name(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "CANCELLED",
        Code::Unknown => "UNKNOWN",
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::NotFound => "NOT_FOUND",
        Code::AlreadyExists => "ALREADY_EXISTS",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::Aborted => "ABORTED",
        Code::OutOfRange => "OUT_OF_RANGE",
        Code::Unimplemented => "UNIMPLEMENTED",
        Code::Internal => "INTERNAL",
        Code::Unavailable => "UNAVAILABLE",
        Code::DataLoss => "DATA_LOSS",
        Code::Unauthenticated => "UNAUTHENTICATED",
    }
}
