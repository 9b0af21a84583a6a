//! Copies the points that stay into a new engine, on a thread of its own: the writer goes on with
//! the former engine, and what it changes there is changed in the copy too.

use std::collections::HashMap;
use std::mem;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use qdrant_edge::{
    EdgeShard, PointId, PointInsertOperations, PointOperations, PointStructPersisted,
    ScrollRequest, UpdateOperation, VectorStructInternal, VectorStructPersisted,
    WithPayloadInterface, WithVector,
};
use tokio::sync::mpsc::WeakSender;
use tokio::sync::mpsc::error::TrySendError;

use super::Command;
use super::engine::{guarded, not_prepared, release};
use crate::error::RecallError;

/// Points that are copied at a time.
const PAGE: usize = 1_000;
/// Operations that wait for the copy, at most, while it is made; then the writer waits.
const LOG_SIZE: usize = 1_000;
/// The pause before the next attempt to hand over a copy.
const HAND_OVER_PAUSE: Duration = Duration::from_millis(5);

/// The writer's operations since a copy was begun that it does not have yet.
#[derive(Default)]
pub(super) struct Log {
    state: Mutex<LogState>,
    changed: Condvar,
}

#[derive(Default)]
struct LogState {
    operations: Vec<UpdateOperation>,
    /// The copy is made: only the writer still reads the log.
    is_made: bool,
    /// The copy is not wanted any more.
    is_abandoned: bool,
}

impl Log {
    /// Adds an operation, once there is room.
    pub(super) fn add(&self, operation: UpdateOperation) {
        let mut state = self.lock();
        while state.operations.len() >= LOG_SIZE && !state.is_made {
            let waited = self.changed.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
        state.operations.push(operation);
    }

    pub(super) fn abandon(&self) {
        self.lock().is_abandoned = true;
    }

    /// Applies what was added to the copy.
    pub(super) fn replay(&self, copy: &EdgeShard) -> Result<(), RecallError> {
        let operations = {
            let mut state = self.lock();
            if state.is_abandoned {
                return Err(not_prepared());
            }
            mem::take(&mut state.operations)
        };
        self.changed.notify_all();
        for operation in operations {
            guarded("copy changes", || copy.update(operation))?;
        }
        Ok(())
    }

    fn end(&self) {
        self.lock().is_made = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, LogState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A copy that was made, or why it was not.
pub(super) struct Copied {
    pub(super) draft: PathBuf,
    pub(super) engine: Result<Arc<EdgeShard>, RecallError>,
}

/// Begins to copy `former` into the empty engine `copy` in `draft`. The writer is handed the
/// copy, optimized, by a command.
pub(super) fn begin(
    former: Arc<EdgeShard>,
    copy: EdgeShard,
    draft: PathBuf,
    log: Arc<Log>,
    writer: WeakSender<Command>,
) -> Result<(), std::io::Error> {
    let make = move || {
        let made = copy_points(&former, &copy, &log);
        release(former);
        let made = made
            .and_then(|()| {
                guarded("flush", || {
                    copy.flush();
                    Ok(())
                })
            })
            .and_then(|()| guarded("optimize", || copy.optimize()))
            .and_then(|_| log.replay(&copy));
        log.end();
        let engine = made.map(|()| Arc::new(copy));
        hand_over(Copied { draft, engine }, &writer);
    };
    let thread = thread::Builder::new().name("index-copy".to_owned());
    thread.spawn(make).map(drop)
}

#[expect(
    clippy::disallowed_methods,
    reason = "this thread belongs to no runtime"
)]
fn hand_over(copied: Copied, writer: &WeakSender<Command>) {
    let mut command = Command::Copied(copied);
    while let Some(commands) = writer.upgrade() {
        match commands.try_send(command) {
            Ok(()) | Err(TrySendError::Closed(_)) => return,
            Err(TrySendError::Full(back)) => command = back,
        }
        drop(commands);
        thread::sleep(HAND_OVER_PAUSE);
    }
}

fn copy_points(from: &EdgeShard, to: &EdgeShard, log: &Log) -> Result<(), RecallError> {
    let mut offset = None;
    loop {
        offset = copy_page(from, to, offset)?;
        // What was changed meanwhile may be in the page with its former value.
        log.replay(to)?;
        if offset.is_none() {
            return Ok(());
        }
    }
}

fn copy_page(
    from: &EdgeShard,
    to: &EdgeShard,
    offset: Option<PointId>,
) -> Result<Option<PointId>, RecallError> {
    let request = ScrollRequest {
        offset,
        limit: Some(PAGE),
        filter: None,
        with_payload: Some(WithPayloadInterface::Bool(true)),
        with_vector: WithVector::Bool(true),
        order_by: None,
    };
    let (records, next) = guarded("read points", || from.scroll(request))?;
    let points: Vec<PointStructPersisted> = records
        .into_iter()
        .map(|record| PointStructPersisted {
            id: record.id,
            vector: VectorStructPersisted::from(record.vector.unwrap_or_else(no_vector)),
            payload: record.payload,
        })
        .collect();
    if !points.is_empty() {
        let points = PointInsertOperations::PointsList(points);
        let upsert = PointOperations::UpsertPoints(points);
        guarded("copy points", || {
            to.update(UpdateOperation::PointOperation(upsert))
        })?;
    }
    Ok(next)
}

fn no_vector() -> VectorStructInternal {
    VectorStructInternal::Named(HashMap::new())
}
