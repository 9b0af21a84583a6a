//! Starts tasks. Each has a name, reports its panic, and ends by itself: its owner closes a
//! channel, cancels a token or aborts the handle. Services start tasks here alone.

use std::panic::{AssertUnwindSafe, resume_unwind};

use futures::FutureExt as _;
use tokio::task::JoinHandle;
use tracing::Instrument as _;

/// Starts background work, which may go on after the call that starts it.
pub fn spawn<T: Send + 'static>(
    name: &'static str,
    work: impl Future<Output = T> + Send + 'static,
) -> JoinHandle<T> {
    #[expect(clippy::disallowed_methods, reason = "the task is named and reported")]
    tokio::spawn(reporting_panics(name, work))
}

/// Starts work of one call, in the span of that call. It must end soon after the call.
pub fn spawn_for_call<T: Send + 'static>(
    name: &'static str,
    work: impl Future<Output = T> + Send + 'static,
) -> JoinHandle<T> {
    spawn(name, work.in_current_span())
}

/// Logs a panic of the work, and lets it go on.
pub async fn reporting_panics<T>(name: &'static str, work: impl Future<Output = T>) -> T {
    match AssertUnwindSafe(work).catch_unwind().await {
        Ok(done) => done,
        Err(panic) => {
            tracing::error!(task = name, "a task panicked");
            resume_unwind(panic)
        }
    }
}
