//! Makes a new engine that takes the place of the writer's, on a thread of its own: the writer
//! goes on with the former engine, and its changes are made in the copy too.

use std::collections::{HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use qdrant_edge::{
    EdgeShard, PointId, PointInsertOperations, PointOperations, PointStructPersisted, Record,
    ScrollRequest, UpdateOperation, VectorStructInternal, VectorStructPersisted,
    WithPayloadInterface, WithVector,
};
use tokio::sync::mpsc::WeakSender;
use tokio::sync::mpsc::error::TrySendError;

use super::command::{Command, Copied};
use super::engine::{flush, guarded, not_prepared, panic_message, release};
use super::files::{remove, sync_all};
use super::log::{Changed, Log};
use super::read_ahead::{fill_cache, most_read};
use super::setup;
use super::writer::{SEGMENTS, Writer};
use crate::backend::Backend;
use crate::error::IndexError;

/// Points that are copied at a time.
const PAGE: usize = 1_000;
/// Points after which a copy is optimized. Adding a point to the segment that is written to takes time
/// in proportion to how many points there have its words.
const OPTIMIZE_AFTER: usize = 50_000;
/// About the most changed points that the writer itself copies when it takes the copy.
const LAST_CHANGES: usize = 1_000;
/// For how long a copy is read into the system's cache before it is used. The rest is read later.
const LONGEST_READ: Duration = Duration::from_secs(30);
/// The pause before the next attempt to hand over a copy.
const HAND_OVER_PAUSE: Duration = Duration::from_millis(5);

impl Writer {
    /// Begins to `make` a copy of the engine in `draft`, and returns the log for changes made
    /// meanwhile. A command hands the writer the copy, which has most of the logged changes, or the
    /// error.
    pub(super) fn begin_making(
        &self,
        draft: &Path,
        commands: &WeakSender<Command>,
        make: impl FnOnce(&Log) -> Result<EdgeShard, IndexError> + Send + 'static,
    ) -> Result<Arc<Log>, IndexError> {
        let engine = self.shard.as_ref().ok_or_else(not_prepared)?;
        let (former, logged) = (Arc::downgrade(engine), Arc::new(Log::default()));
        let (directory, log) = (draft.to_owned(), Arc::clone(&logged));
        let (schema, vectors) = (self.schema.clone(), self.vectors);
        let (parent, free_memory) = (Arc::clone(&self.parent), self.free_memory);
        let make_current = move || {
            // Opening it again gives it the usual settings, and shows that it can be opened.
            drop(make(&log)?);
            log.check()?;
            let copy = guarded("open a copy", || setup::load(&directory, &schema, vectors))?;
            // The engine syncs neither copied files nor directories. The first time takes long, and
            // changes are logged meanwhile.
            let sync = || {
                sync_all(&directory).map_err(|source| IndexError::Directory {
                    path: directory.clone(),
                    source: source.into(),
                })
            };
            sync()?;
            // Closing it took its files out of the system's cache.
            let (most, begun) = (most_read(&parent, free_memory), Instant::now());
            fill_cache(&directory.join(SEGMENTS), most, &|| {
                begun.elapsed() < LONGEST_READ && log.check().is_ok()
            });
            // An import may write as fast as this. It ends, as an index has at most a million points.
            while log.len() > LAST_CHANGES {
                let former = former.upgrade().ok_or_else(not_prepared)?;
                let replayed = replay(&log, &former, &copy);
                release(former);
                replayed?;
            }
            sync()?;
            Ok(Arc::new(copy))
        };
        let (made, commands) = (draft.to_owned(), commands.clone());
        let make = move || {
            // Closing an engine whose files cannot be written panics.
            let engine = catch_unwind(AssertUnwindSafe(make_current)).unwrap_or_else(|panic| {
                Err(IndexError::Unavailable {
                    backend: Backend::Edge,
                    source: panic_message(&*panic).into(),
                })
            });
            let copied = Copied {
                draft: made,
                engine,
            };
            hand_over(copied, &commands);
        };
        let thread = thread::Builder::new().name("index-copy".to_owned());
        thread.spawn(make).map(|_| logged).map_err(|source| {
            let _ = remove(draft);
            self.broken(source)
        })
    }
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
) -> Result<EdgeShard, IndexError> {
    let copied = copy_points(&former, &copy, log);
    release(former);
    copied?;
    flush(&copy)?;
    optimize(&copy)?;
    Ok(copy)
}

fn optimize(copy: &EdgeShard) -> Result<(), IndexError> {
    setup::prune_log(copy.path());
    guarded("optimize", || copy.optimize()).map(drop)
}

fn copy_points(from: &EdgeShard, to: &EdgeShard, log: &Log) -> Result<(), IndexError> {
    let mut offset = None;
    for pages in 1.. {
        offset = copy_page(from, to, offset)?;
        // The page may have former values of points that were changed meanwhile.
        replay(log, from, to)?;
        if offset.is_none() {
            break;
        }
        if pages % (OPTIMIZE_AFTER / PAGE) == 0 {
            optimize(to)?;
        }
    }
    Ok(())
}

/// Copies a page from `offset`. Returns where the next one begins.
fn copy_page(
    from: &EdgeShard,
    to: &EdgeShard,
    offset: Option<PointId>,
) -> Result<Option<PointId>, IndexError> {
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
) -> Result<(Vec<Record>, Option<PointId>), IndexError> {
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

/// Applies the logged changes of `former` to the copy. The current state of a point is copied, so the
/// log needs no values; deletions of selected points come first, because some of the points may have
/// been written again.
pub(super) fn replay(log: &Log, former: &EdgeShard, copy: &EdgeShard) -> Result<(), IndexError> {
    let Changed { points, deletions } = log.take()?;
    for deletion in deletions {
        guarded("copy deletions", || copy.update(deletion))?;
    }
    for part in points.chunks(OPTIMIZE_AFTER) {
        for page in part.chunks(PAGE) {
            log.check()?;
            copy_changed(former, copy, page)?;
        }
        if part.len() == OPTIMIZE_AFTER {
            optimize(copy)?;
        }
    }
    Ok(())
}

/// Copies the current state of points: writes the existing ones and deletes the others.
fn copy_changed(from: &EdgeShard, to: &EdgeShard, points: &[PointId]) -> Result<(), IndexError> {
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

fn write(to: &EdgeShard, records: Vec<Record>) -> Result<(), IndexError> {
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
