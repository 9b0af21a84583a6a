//! Errors of parts of an import, which the stream of answers has in place of a status.

use memory_contract::proto::ImportError;

use super::Answer;
use crate::error::ApiError;

/// Why a part of an import was refused.
pub fn import_error(error: ApiError) -> ImportError {
    let Answer {
        reason,
        message,
        violations,
        ..
    } = Answer::from(error);
    ImportError {
        reason: reason.into(),
        message,
        field: violations
            .into_iter()
            .next()
            .map(|invalid| invalid.field)
            .unwrap_or_default(),
    }
}
