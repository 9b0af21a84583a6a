//! Makes a new engine that takes the place of the writer's, on a thread of its own: the writer
//! goes on with the former engine, and what it changes there is changed in the copy too.

use std::collections::{HashMap, HashSet};
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use qdrant_edge::{
    EdgeShard, PointId, PointInsertOperations, PointOperations, PointStructPersisted, Record,
    ScrollRequest, UpdateOperation, VectorStructInternal, VectorStructPersisted,
    WithPayloadInterface, WithVector,
};
use tokio::sync::mpsc::WeakSender;
use tokio::sync::mpsc::error::TrySendError;

use super::Command;
use super::engine::{guarded, not_prepared, panic_message, release};
use super::swap::sync_all;
use crate::error::RecallError;
use crate::index::Backend;

/// Points that are copied at a time.
const PAGE: usize = 1_000;
/// Changed points that the writer copies itself, at most about as many, when it takes the copy.
const LAST_CHANGES: usize = 1_000;
/// The pause before the next attempt to hand over a copy.
const HAND_OVER_PAUSE: Duration = Duration::from_millis(5);

/// What the writer has changed in the former engine and the copy does not have yet.
#[derive(Default)]
pub(super) struct Log(Mutex<LogState>);

#[derive(Default)]
struct LogState {
    /// Points that were written or deleted.
    points: HashSet<PointId>,
    /// Deletions of selected points.
    deletions: Vec<UpdateOperation>,
    /// The copy is not wanted any more.
    is_abandoned: bool,
}

impl Log {
    /// Adds an operation.
    pub(super) fn add(&self, operation: &UpdateOperation) {
        let UpdateOperation::PointOperation(changed) = operation else {
            return;
        };
        let mut state = self.lock();
        match changed.point_ids() {
            Some(points) => state.points.extend(points),
            None => state.deletions.push(operation.clone()),
        }
    }

    pub(super) fn abandon(&self) {
        self.lock().is_abandoned = true;
    }

    /// Fails if the copy is not wanted any more.
    pub(super) fn check(&self) -> Result<(), RecallError> {
        match self.lock().is_abandoned {
            true => Err(not_prepared()),
            false => Ok(()),
        }
    }

    /// Changes the copy as `former` was changed. A point is copied as it is now, so that its
    /// former changes need not be kept; deletions of selected points come first, because some of
    /// the points may have been written again.
    pub(super) fn replay(&self, former: &EdgeShard, copy: &EdgeShard) -> Result<(), RecallError> {
        self.check()?;
        let (points, deletions) = {
            let mut state = self.lock();
            (
                mem::take(&mut state.points),
                mem::take(&mut state.deletions),
            )
        };
        for deletion in deletions {
            guarded("copy deletions", || copy.update(deletion))?;
        }
        let points: Vec<PointId> = points.into_iter().collect();
        for page in points.chunks(PAGE) {
            copy_changed(former, copy, page)?;
        }
        Ok(())
    }

    fn changes(&self) -> usize {
        let state = self.lock();
        state.points.len() + state.deletions.len()
    }

    fn lock(&self) -> MutexGuard<'_, LogState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A copy that was made, or why it was not.
pub(super) struct Copied {
    pub(super) draft: PathBuf,
    pub(super) engine: Result<Arc<EdgeShard>, RecallError>,
}

/// Begins to `make` a copy of `former` in `draft`. A command hands the writer the copy, which has
/// most of what was logged until then, or the error.
pub(super) fn begin(
    former: Weak<EdgeShard>,
    draft: PathBuf,
    log: Arc<Log>,
    writer: WeakSender<Command>,
    make: impl FnOnce(&Log) -> Result<EdgeShard, RecallError> + Send + 'static,
) -> Result<(), std::io::Error> {
    let directory = draft.clone();
    let make_current = move || {
        let copy = make(&log)?;
        // The engine syncs neither copied files nor directories. The first time takes long, and
        // changes are noted meanwhile.
        let sync = || {
            sync_all(&directory).map_err(|source| RecallError::IndexDirectory {
                path: directory.clone(),
                source: source.into(),
            })
        };
        sync()?;
        while log.changes() > LAST_CHANGES {
            let former = former.upgrade().ok_or_else(not_prepared)?;
            let replayed = log.replay(&former, &copy);
            release(former);
            replayed?;
        }
        sync()?;
        Ok(Arc::new(copy))
    };
    let make = move || {
        // Closing an engine whose files cannot be written panics.
        let engine = catch_unwind(AssertUnwindSafe(make_current)).unwrap_or_else(|panic| {
            Err(RecallError::IndexUnavailable {
                backend: Backend::Edge,
                source: panic_message(&*panic).into(),
            })
        });
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

/// Copies the points of `former` into the empty engine `copy`, and optimizes it.
pub(super) fn copy_and_optimize(
    former: Arc<EdgeShard>,
    copy: EdgeShard,
    log: &Log,
) -> Result<EdgeShard, RecallError> {
    let copied = copy_points(&former, &copy, log);
    release(former);
    copied?;
    guarded("flush", || {
        copy.flush();
        Ok(())
    })?;
    guarded("optimize", || copy.optimize())?;
    Ok(copy)
}

fn copy_points(from: &EdgeShard, to: &EdgeShard, log: &Log) -> Result<(), RecallError> {
    let mut offset = None;
    loop {
        offset = copy_page(from, to, offset)?;
        // What was changed meanwhile may be in the page with its former value.
        log.replay(from, to)?;
        if offset.is_none() {
            return Ok(());
        }
    }
}

/// Copies a page from `offset`. Returns where the next one begins.
fn copy_page(
    from: &EdgeShard,
    to: &EdgeShard,
    offset: Option<PointId>,
) -> Result<Option<PointId>, RecallError> {
    let (records, mut next) = scroll(from, offset, PAGE, true)?;
    // The engine lists a page before it reads it. A point deleted in between makes the page short,
    // which looks like the end.
    let last = records.last().map(|record| record.id).or(offset);
    let mut limit = PAGE;
    while next.is_none() {
        let points = from.info().points_count;
        let (rest, _) = scroll(from, last, limit, false)?;
        next = rest.iter().map(|one| one.id).find(|id| Some(*id) != last);
        if limit > points {
            break;
        }
        limit = limit.saturating_mul(PAGE);
    }
    write(to, records)?;
    Ok(next)
}

fn scroll(
    from: &EdgeShard,
    offset: Option<PointId>,
    limit: usize,
    whole: bool,
) -> Result<(Vec<Record>, Option<PointId>), RecallError> {
    let request = ScrollRequest {
        offset,
        limit: Some(limit),
        filter: None,
        with_payload: Some(WithPayloadInterface::Bool(whole)),
        with_vector: WithVector::Bool(whole),
        order_by: None,
    };
    guarded("read points", || from.scroll(request))
}

/// Copies points as they are, and deletes those that are no more.
fn copy_changed(from: &EdgeShard, to: &EdgeShard, points: &[PointId]) -> Result<(), RecallError> {
    let (payload, vector) = (WithPayloadInterface::Bool(true), WithVector::Bool(true));
    let records = guarded("read points", || {
        from.retrieve(points, Some(payload), Some(vector))
    })?;
    let present: HashSet<PointId> = records.iter().map(|record| record.id).collect();
    let mut deleted = points.to_vec();
    deleted.retain(|point| !present.contains(point));
    if !deleted.is_empty() {
        let delete = PointOperations::DeletePoints { ids: deleted };
        guarded("copy deletions", || {
            to.update(UpdateOperation::PointOperation(delete))
        })?;
    }
    write(to, records)
}

fn write(to: &EdgeShard, records: Vec<Record>) -> Result<(), RecallError> {
    if records.is_empty() {
        return Ok(());
    }
    let points = records.into_iter().map(|record| PointStructPersisted {
        id: record.id,
        vector: VectorStructPersisted::from(record.vector.unwrap_or_else(no_vector)),
        payload: record.payload,
    });
    let points = PointInsertOperations::PointsList(points.collect());
    let upsert = PointOperations::UpsertPoints(points);
    guarded("copy points", || {
        to.update(UpdateOperation::PointOperation(upsert))
    })
}

fn no_vector() -> VectorStructInternal {
    VectorStructInternal::Named(HashMap::new())
}
