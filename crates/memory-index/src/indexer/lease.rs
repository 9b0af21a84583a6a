//! Leases of work that takes longer than they do.

use std::convert::Infallible;
use std::time::Duration;

use memory_store::StoreError;

/// Extends a lease of some length again and again, until it is dropped.
pub(super) async fn keep_extending<T, F>(length: Duration, extend: impl Fn() -> F) -> Infallible
where
    F: Future<Output = Result<T, StoreError>>,
{
    loop {
        tokio::time::sleep(length / 3).await;
        if let Err(error) = extend().await {
            tracing::warn!(%error, "extending a lease failed");
        }
    }
}
