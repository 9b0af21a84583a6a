//! Converts the engine's panics and errors into errors of the crate.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use qdrant_edge::{EdgeShard, OperationError};

use crate::error::RecallError;
use crate::index::Backend;

/// Drops a reference to the engine. Dropping the last one flushes, which panics on a
/// disk error; acknowledged changes have been flushed before.
pub(super) fn release(shard: Arc<EdgeShard>) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(shard))) {
        tracing::warn!(error = panic_message(&*panic), "closing the index failed");
    }
}

/// Runs an operation of the engine. A panic becomes [`RecallError::IndexRefused`].
pub(super) fn guarded<T>(
    operation: &'static str,
    step: impl FnOnce() -> Result<T, OperationError>,
) -> Result<T, RecallError> {
    match catch_unwind(AssertUnwindSafe(step)) {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(error)) => Err(refused(operation, error)),
        Err(panic) => {
            let source = format!("it panicked: {}", panic_message(&*panic)).into();
            Err(RecallError::IndexRefused {
                backend: Backend::Edge,
                operation,
                source,
            })
        }
    }
}

/// Makes the changes of an engine durable. It panics on a disk error.
pub(super) fn flush(engine: &EdgeShard) -> Result<(), RecallError> {
    guarded("flush", || {
        engine.flush();
        Ok(())
    })
}

pub(super) fn not_prepared() -> RecallError {
    RecallError::IndexUnavailable {
        backend: Backend::Edge,
        source: "it is not open".into(),
    }
}

pub(super) fn refused(operation: &'static str, error: OperationError) -> RecallError {
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
        RecallError::IndexUnavailable {
            backend: Backend::Edge,
            source,
        }
    } else {
        RecallError::IndexRefused {
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
