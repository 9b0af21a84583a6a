//! Writing to the embedded engine, on one thread. In qdrant-edge 0.7.2 a flush
//! concurrent with an update panics, and unflushed changes are lost with the process.
//! So one thread updates, flushes and optimizes, and a change is acknowledged after its
//! flush.

use std::fs;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use qdrant_edge::external::serde_json::Value;
use qdrant_edge::{
    EdgeShard, PointId, PointInsertOperations, PointOperations, PointStruct, UpdateOperation,
    Vector, Vectors,
};
use rustix::fs::statvfs;

use super::command::Reply;
use super::copying::Copying;
use super::directory::Directory;
use super::engine::{guarded, not_prepared, panic_message, refused};
use super::files::write_durably;
use super::reader::filter_of;
use super::{memory, setup};
use crate::backend::Backend;
use crate::candidate_cache::CandidateCache;
use crate::config::VectorPrecision;
use crate::error::IndexError;
use crate::filter::Selection;
use crate::index::Prepared;
use crate::payload::{Batch, EncodedPoint, batches};
use crate::point::Change;
use crate::schema::{DENSE, IndexSchema, LEXICAL};

/// File with the mark of [`crate::Index::mark_rebuilding`].
pub(super) const STATE_FILE: &str = "recollect-state";
const STATE_WHOLE: &str = "whole";
const STATE_REBUILDING: &str = "rebuilding";

/// The engine is optimized after this many changes, or after changes to 1/8 of its points if
/// that is more. Each time it may build the graphs of a segment of up to 256 MB again.
const OPTIMIZE_AFTER: usize = if cfg!(test) { 1_000 } else { 5_000 };
const OPTIMIZE_AFTER_SHARE: usize = 8;
/// The engine is optimized after this many changes, however large it is: until then new points
/// are searched by brute force. New points are merged with the segment that is not full, and it has
/// room for 170,000 points of 384 dimensions, so the graphs of a point are built about twice.
const OPTIMIZE_AFTER_AT_MOST: usize = 50_000;
/// The limit while little is written.
const OPTIMIZE_AT_REST_AFTER_AT_MOST: usize = 20_000;

/// The time for which few changes mean that the engine is at rest, and how many are few: 100 a
/// second. An import has several hundred.
pub(super) const REST: Duration = Duration::from_secs(10);
const CHANGES_AT_REST: usize = 1_000;
/// The directory of the segments within the engine's.
pub(super) const SEGMENTS: &str = "segments";

/// Free bytes of the disk below which nothing is written. The engine writes into mapped
/// files; the kernel ends a process whose mapped file has no room to grow.
pub(super) const RESERVED_BYTES: u64 = 64 * 1024 * 1024;
/// Free bytes of the disk below which nothing is optimized: that copies segments and takes longer.
const RESERVED_BYTES_OPTIMIZING: u64 = 4 * RESERVED_BYTES;

/// The directory of an index, and its engine in use.
pub(super) struct Writer {
    pub(super) directory: PathBuf,
    /// The directory of all indexes of this process.
    pub(super) parent: Arc<Directory>,
    pub(super) schema: IndexSchema,
    pub(super) vectors: VectorPrecision,
    pub(super) shard: Option<Arc<EdgeShard>>,
    cache: Arc<CandidateCache>,
    /// Returns the free bytes of memory.
    pub(super) free_memory: fn() -> u64,
    /// Changes since the last optimization.
    pub(super) changes: usize,
    /// Points of the engine when it was opened, and points written since. Points that were deleted
    /// since take room in its segments.
    pub(super) written: usize,
    /// [`Self::written`] when the last merge began; 0 before the first.
    pub(super) merged_at: usize,
    /// Changes since [`Self::counted_from`].
    counted: usize,
    counted_from: Instant,
    /// Erasures that have not begun.
    pub(super) erasures: Vec<(Selection, Reply)>,
    /// The copy that is being made, for a merge or for erasures that have begun.
    pub(super) copying: Option<Copying>,
}

impl Writer {
    pub(super) fn new(
        parent: &Arc<Directory>,
        schema: &IndexSchema,
        vectors: VectorPrecision,
        cache: Arc<CandidateCache>,
    ) -> Self {
        let directory = parent.path.join(schema.collection());
        parent.indexes().push(directory.clone());
        Self {
            directory,
            parent: Arc::clone(parent),
            schema: schema.clone(),
            vectors,
            shard: None,
            cache,
            free_memory: memory::free,
            changes: 0,
            written: 0,
            merged_at: 0,
            counted: 0,
            counted_from: Instant::now(),
            erasures: Vec::new(),
            copying: None,
        }
    }

    /// Takes an engine into use.
    pub(super) fn opened(&mut self, shard: Arc<EdgeShard>) {
        // How many of its points are not optimized is unknown.
        self.changes = OPTIMIZE_AFTER_AT_MOST;
        self.written = shard.info().points_count;
        self.merged_at = self.merged_at.min(self.written);
        self.shard = Some(shard);
    }

    /// Applies changes in order. They are durable after [`Writer::flush`].
    pub(super) fn apply(&mut self, changes: Vec<Change>) -> Result<(), IndexError> {
        let Some(shard) = self.shard.clone() else {
            return Err(not_prepared());
        };
        self.require_room(RESERVED_BYTES)?;
        let others = changes.iter().filter(|change| !change.is_upsert()).count();
        self.note_changes(others);
        for batch in batches(changes) {
            let operation = match batch {
                Batch::Upsert(entries) => {
                    self.note_changes(entries.len());
                    self.written += entries.len();
                    let points: Result<Vec<_>, _> =
                        entries.into_iter().map(|entry| self.point(entry)).collect();
                    let points = points?.into_iter().map(Into::into).collect();
                    PointOperations::UpsertPoints(PointInsertOperations::PointsList(points))
                }
                Batch::Delete(ids) => PointOperations::DeletePoints {
                    ids: ids.into_iter().map(PointId::Uuid).collect(),
                },
                Batch::Purge(selection) => {
                    PointOperations::DeletePointsByFilter(filter_of(&selection))
                }
            };
            let operation = UpdateOperation::PointOperation(operation);
            let for_copy = self.copying.as_ref().map(|_| operation.clone());
            let done = guarded("apply changes", || shard.update(operation));
            // One that failed may have changed some points.
            if let (Some(copying), Some(operation)) = (&self.copying, for_copy) {
                copying.log(&operation);
            }
            done?;
        }
        Ok(())
    }

    /// Counts changes of points. A deleted message counts once, however many passages it may have.
    fn note_changes(&mut self, count: usize) {
        self.changes += count;
        self.counted += count;
    }

    /// Converts an entry for the engine and caches its candidate.
    fn point(&self, entry: EncodedPoint) -> Result<PointStruct, IndexError> {
        let EncodedPoint {
            id,
            candidate,
            payload,
            dense,
            lexical,
            vocabulary,
        } = entry;
        self.schema.check_point(dense.as_deref())?;
        let words = vocabulary.number(lexical);
        let mut vectors = Vec::new();
        if !words.indices.is_empty() {
            let sparse = Vector::new_sparse(words.indices, words.values)
                .map_err(|source| refused("accept a sparse vector", source))?;
            vectors.push((LEXICAL, sparse));
        }
        if let Some(dense) = dense {
            vectors.push((DENSE, Vector::new_dense(dense)));
        }
        self.cache.put([(id, candidate)]);
        Ok(PointStruct::new(
            PointId::Uuid(id),
            Vectors::new_named(vectors),
            Value::Object(payload),
        ))
    }

    /// The number of points of the engine; 0 if it is not loaded.
    pub(super) fn points(&self) -> usize {
        self.shard
            .as_ref()
            .map_or(0, |shard| shard.info().points_count)
    }

    /// The engine, if it is loaded.
    pub(super) fn shard(&self) -> Option<Arc<EdgeShard>> {
        self.shard.clone()
    }

    pub(super) fn require_room(&self, bytes: u64) -> Result<(), IndexError> {
        let free =
            statvfs(&self.parent.path).map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize));
        match free {
            Ok(free) if free < bytes => Err(IndexError::Unavailable {
                backend: Backend::Edge,
                source: format!("the disk has less than {bytes} bytes free").into(),
            }),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Makes all applied changes durable.
    pub(super) fn flush(&self) -> Result<(), IndexError> {
        let Some(shard) = &self.shard else {
            return Err(not_prepared());
        };
        // It panics on a disk error, which concerns no single change.
        catch_unwind(AssertUnwindSafe(|| shard.flush())).map_err(|panic| IndexError::Unavailable {
            backend: Backend::Edge,
            source: panic_message(&*panic).into(),
        })
    }

    /// Optimizes the engine after enough changes. Returns whether it did.
    pub(super) fn optimize(&mut self) -> bool {
        self.optimize_after(self.share().min(OPTIMIZE_AFTER_AT_MOST))
    }

    /// Optimizes the engine while little is written: after fewer changes, so that fewer points are
    /// searched by brute force.
    pub(super) fn optimize_at_rest(&mut self) -> bool {
        self.optimize_after(self.share().min(OPTIMIZE_AT_REST_AFTER_AT_MOST))
    }

    /// The changes after which a small engine is optimized.
    fn share(&self) -> usize {
        OPTIMIZE_AFTER.max(self.points() / OPTIMIZE_AFTER_SHARE)
    }

    fn optimize_after(&mut self, changes: usize) -> bool {
        let Some(shard) = &self.shard else {
            return false;
        };
        if self.changes < changes {
            return false;
        }
        setup::prune_log(shard.path());
        let may_move = self.copying.as_ref().is_none_or(Copying::may_points_move);
        if !may_move || self.require_room(RESERVED_BYTES_OPTIMIZING).is_err() {
            return false;
        }
        self.changes = 0;
        let started = Instant::now();
        match guarded("optimize", || shard.optimize()) {
            Ok(optimized) => tracing::debug!(
                optimized,
                duration_ms = started.elapsed().as_millis() as u64,
                "the index was optimized"
            ),
            Err(error) => tracing::warn!(%error, "optimizing the index failed"),
        }
        true
    }

    /// Whether the last [`REST`] has passed with few changes; false until it has passed.
    pub(super) fn is_at_rest(&mut self) -> bool {
        if self.counted_from.elapsed() < REST {
            return false;
        }
        self.counted_from = Instant::now();
        mem::take(&mut self.counted) <= CHANGES_AT_REST
    }

    pub(super) fn mark(&self, rebuilding: bool) -> Result<(), IndexError> {
        let state = if rebuilding {
            STATE_REBUILDING
        } else {
            STATE_WHOLE
        };
        write_durably(&self.directory.join(STATE_FILE), state.as_bytes())
            .map_err(|source| self.broken(source))
    }

    pub(super) fn state(&self) -> Prepared {
        match fs::read_to_string(self.directory.join(STATE_FILE))
            .as_deref()
            .map(str::trim)
        {
            Ok(STATE_WHOLE) => Prepared::Whole,
            Ok(STATE_REBUILDING) => Prepared::Rebuilding,
            Ok(_) | Err(_) => Prepared::New,
        }
    }

    pub(super) fn broken(&self, source: std::io::Error) -> IndexError {
        IndexError::Directory {
            path: self.directory.clone(),
            source: source.into(),
        }
    }
}
