//! The errors of records.

use memory_contract::{Invalid, InvalidFields};
use memory_grpc::ApiError;

/// The error of a request of another service, whose fields are those of the record:
/// what began with `theirs` begins with `record` and the record's kind.
pub(super) fn renamed(error: ApiError, theirs: &str, kind: &str) -> ApiError {
    let (mut invalid, made): (_, fn(InvalidFields) -> ApiError) = match error {
        ApiError::Invalid(invalid) => (invalid, ApiError::Invalid),
        ApiError::TextRefused(invalid) => (invalid, ApiError::TextRefused),
        error => return error,
    };
    for one in &mut invalid.0 {
        let field = one.field.strip_prefix(theirs).unwrap_or(&one.field);
        let field = field.trim_start_matches('.');
        one.field = match field.is_empty() {
            true => format!("record.{kind}"),
            false => format!("record.{kind}.{field}"),
        };
    }
    made(invalid)
}

/// A record that belongs to something that was not stored or did not precede it.
pub(super) fn orphan(kind: &str, of: &str) -> Invalid {
    Invalid::new(
        format!("record.{kind}"),
        format!("must follow its {of}, which does not precede it or was refused"),
    )
}
