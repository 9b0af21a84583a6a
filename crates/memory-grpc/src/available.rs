//! Reads of streams, which outlive outages of the database.

use std::time::Duration;

use memory_store::StoreError;
use tokio::time::sleep;

/// The pause between two attempts.
const RETRY_PAUSE: Duration = Duration::from_millis(500);

/// Reads until the database answers.
///
/// # Errors
/// Those that are not of an outage.
pub async fn available<T, F: Future<Output = Result<T, StoreError>>>(
    mut read: impl FnMut() -> F,
) -> Result<T, StoreError> {
    loop {
        match read().await {
            Err(error) if error.retryable() => sleep(RETRY_PAUSE).await,
            done => return done,
        }
    }
}
