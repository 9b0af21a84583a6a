//! Calls of the engine that turn its panics and errors into errors of the crate.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use qdrant_edge::{EdgeShard, OperationError};

use crate::backend::Backend;
use crate::error::IndexError;

/// A search takes milliseconds; one that takes longer than all checks ends in files that are removed.
const SEARCH_CHECKS: usize = 500;
const SEARCH_PAUSE: Duration = Duration::from_millis(2);

/// Drops a reference to the engine. Dropping the last one flushes, which panics on a
/// disk error; acknowledged changes have been flushed before.
pub(super) fn release(shard: Arc<EdgeShard>) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(shard))) {
        tracing::warn!(error = panic_message(&*panic), "closing the index failed");
    }
}

/// Runs an operation of the engine. A panic becomes [`IndexError::Refused`].
pub(super) fn guarded<T>(
    operation: &'static str,
    step: impl FnOnce() -> Result<T, OperationError>,
) -> Result<T, IndexError> {
    match catch_unwind(AssertUnwindSafe(step)) {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(error)) => Err(refused(operation, error)),
        Err(panic) => {
            let source = format!("it panicked: {}", panic_message(&*panic)).into();
            Err(IndexError::Refused {
                backend: Backend::Edge,
                operation,
                source,
            })
        }
    }
}

/// Makes the changes of an engine durable. It panics on a disk error.
pub(super) fn flush(engine: &EdgeShard) -> Result<(), IndexError> {
    guarded("flush", || {
        engine.flush();
        Ok(())
    })
}

pub(super) fn not_prepared() -> IndexError {
    IndexError::Unavailable {
        backend: Backend::Edge,
        source: "it is not open".into(),
    }
}

pub(super) fn refused(operation: &'static str, error: OperationError) -> IndexError {
    let own = matches!(
        &error,
        OperationError::ServiceError { .. }
            | OperationError::InconsistentStorage { .. }
            | OperationError::OutOfMemory { .. }
            | OperationError::Cancelled { .. }
            | OperationError::Timeout { .. }
    );
    let source = error.to_string().into();
    if own {
        IndexError::Unavailable {
            backend: Backend::Edge,
            source,
        }
    } else {
        IndexError::Refused {
            backend: Backend::Edge,
            operation,
            source,
        }
    }
}

pub(super) fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("for an unknown reason")
        .to_owned()
}

/// Waits for a while until no search and no copying thread holds the engine.
#[expect(
    clippy::disallowed_methods,
    reason = "this thread belongs to no runtime"
)]
pub(super) fn wait_for_others(engine: &Arc<EdgeShard>) {
    for _ in 0..SEARCH_CHECKS {
        if Arc::strong_count(engine) == 1 {
            return;
        }
        thread::sleep(SEARCH_PAUSE);
    }
}
