//! Content that is stored before the messages that refer to it.

use memory_context::erase_unwritten;
use memory_store::{Caller, Hold, Store};

use crate::error::ApiError;

/// Passes on the result of a write. Content that was stored for it (`hold`) is erased if
/// it was refused, or if `is_new` says that it was carried out before. One that may still
/// be carried out keeps its content.
pub async fn written<T>(
    store: &Store,
    caller: &Caller,
    hold: &Hold,
    result: Result<T, ApiError>,
    is_new: impl FnOnce(&T) -> bool,
) -> Result<T, ApiError> {
    let unwritten = match &result {
        Ok(done) => !is_new(done),
        Err(error) => !error.retryable(),
    };
    if unwritten {
        erase_unwritten(store, caller, hold).await;
    }
    result
}
