//! The one thread that changes the embedded engine. In qdrant-edge 0.7.2 a flush
//! that meets an update panics, and what was not flushed is lost with the
//! process; so one thread updates, flushes and optimizes, and a change counts as
//! done only after its flush.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use qdrant_edge::external::serde_json::Value;
use qdrant_edge::{
    EdgeShard, OperationError, PointId, PointInsertOperations, PointOperations, PointStruct,
    UpdateOperation, Vector, Vectors,
};

use super::engine::{guarded, not_prepared, refused, release, words_of};
use super::facts::Facts;
use super::reader::filter_of;
use super::setup;
use crate::error::RecallError;
use crate::index::filter::{Selection, point_id};
use crate::index::payload::Entry;
use crate::index::schema::{DENSE, LEXICAL};
use crate::index::{Backend, Change, IndexSchema, Prepared};

/// A file beside the points that tells whether they are all there.
const STATE_FILE: &str = "recollect-state";
const STATE_WHOLE: &str = "whole";
const STATE_REBUILDING: &str = "rebuilding";

/// Changes after which the points are put in order. Until then new points are
/// compared one by one, which is fast enough for some thousands.
const OPTIMIZE_AFTER: usize = 5_000;
/// The engine on disk.
pub(super) struct Writer {
    directory: PathBuf,
    schema: IndexSchema,
    shard: Option<Arc<EdgeShard>>,
    facts: Arc<Facts>,
    changes: usize,
}

impl Writer {
    pub(super) fn new(parent: &Path, schema: &IndexSchema, facts: Arc<Facts>) -> Self {
        Self {
            directory: parent.join(schema.collection()),
            schema: schema.clone(),
            shard: None,
            facts,
            changes: 0,
        }
    }

    /// Loads the points, or starts without any. What cannot be loaded is set
    /// aside, for a person to look at.
    pub(super) fn prepare(&mut self) -> Result<(Arc<EdgeShard>, Prepared), RecallError> {
        if let Some(shard) = &self.shard {
            return Ok((Arc::clone(shard), self.state()));
        }
        let shard = match self.load() {
            Ok(Some(shard)) => shard,
            Ok(None) => self.create()?,
            Err(error) => {
                let aside = self.quarantine()?;
                tracing::error!(
                    directory = %self.directory.display(),
                    aside = %aside.display(),
                    error,
                    "the index directory is broken; it was set aside, and the index is rebuilt"
                );
                self.create()?
            }
        };
        let shard = Arc::new(shard);
        self.shard = Some(Arc::clone(&shard));
        Ok((shard, self.state()))
    }

    /// Carries out the changes in order. They count only after
    /// [`Writer::flush`].
    pub(super) fn apply(&mut self, changes: Vec<Change>) -> Result<(), RecallError> {
        let Some(shard) = self.shard.clone() else {
            return Err(not_prepared());
        };
        self.changes += changes.len();
        let mut points = Vec::new();
        let mut forgotten = Vec::new();
        for change in changes {
            match change {
                Change::Upsert(point) => {
                    forget(&shard, &mut forgotten)?;
                    points.push(self.point((*point).into())?);
                }
                Change::UpsertMemory(point) => {
                    forget(&shard, &mut forgotten)?;
                    points.push(self.point((*point).into())?);
                }
                Change::Delete { tenant, subject } => {
                    learn(&shard, &mut points)?;
                    forgotten.push(PointId::Uuid(point_id(&tenant, subject)));
                }
                Change::Purge {
                    tenant,
                    thread,
                    up_to_seq,
                } => {
                    learn(&shard, &mut points)?;
                    forget(&shard, &mut forgotten)?;
                    let selection = Selection::purge(&tenant, thread, up_to_seq);
                    let filter = filter_of(&selection);
                    update(&shard, PointOperations::DeletePointsByFilter(filter))?;
                }
            }
        }
        learn(&shard, &mut points)?;
        forget(&shard, &mut forgotten)
    }

    /// A point as the engine takes it. What the ranking needs is kept in mind.
    fn point(&self, entry: Entry) -> Result<PointStruct, RecallError> {
        let Entry {
            id,
            candidate,
            payload,
            dense,
            lexical,
        } = entry;
        self.schema.check_point(dense.as_deref())?;
        let sparse = Vector::new_sparse(lexical.indices, lexical.values)
            .map_err(|source| refused("take words", source))?;
        let mut vectors = vec![(LEXICAL, sparse)];
        if let Some(dense) = dense {
            vectors.push((DENSE, Vector::new_dense(dense)));
        }
        self.facts.put([(id, candidate)]);
        Ok(PointStruct::new(
            PointId::Uuid(id),
            Vectors::new_named(vectors),
            Value::Object(payload),
        ))
    }

    /// Makes everything durable that was carried out.
    pub(super) fn flush(&self) -> Result<(), RecallError> {
        let Some(shard) = &self.shard else {
            return Err(not_prepared());
        };
        // It panics where the disk fails, which is not about any one change.
        catch_unwind(AssertUnwindSafe(|| shard.flush())).map_err(|panic| {
            RecallError::IndexUnavailable {
                backend: Backend::Edge,
                source: words_of(&*panic).into(),
            }
        })
    }

    /// Puts the points in order if there is enough to do.
    pub(super) fn tidy(&mut self) {
        let Some(shard) = &self.shard else { return };
        if self.changes < OPTIMIZE_AFTER {
            return;
        }
        self.changes = 0;
        let started = std::time::Instant::now();
        match guarded("optimize", || shard.optimize()) {
            Ok(optimized) => tracing::debug!(
                optimized,
                duration_ms = started.elapsed().as_millis() as u64,
                "the index was put in order"
            ),
            Err(error) => tracing::warn!(%error, "the index could not be put in order"),
        }
    }

    pub(super) fn mark(&self, rebuilding: bool) -> Result<(), RecallError> {
        let state = if rebuilding {
            STATE_REBUILDING
        } else {
            STATE_WHOLE
        };
        let path = self.directory.join(STATE_FILE);
        let draft = path.with_extension("draft");
        let written = fs::write(&draft, state).and_then(|()| fs::rename(&draft, &path));
        written.map_err(|source| self.broken(source))
    }

    /// Lets go of the points.
    pub(super) fn close(&mut self) {
        if let Some(shard) = self.shard.take() {
            release(shard);
        }
    }

    fn state(&self) -> Prepared {
        match fs::read_to_string(self.directory.join(STATE_FILE))
            .as_deref()
            .map(str::trim)
        {
            Ok(STATE_WHOLE) => Prepared::Whole,
            Ok(STATE_REBUILDING) => Prepared::Rebuilding,
            Ok(_) | Err(_) => Prepared::New,
        }
    }

    /// `None`: there is nothing to load.
    fn load(&self) -> Result<Option<EdgeShard>, String> {
        if !self.directory.join("segments").is_dir() {
            return Ok(None);
        }
        setup::prune_log(&self.directory);
        let config = setup::config(&self.schema);
        let loaded = catch_unwind(AssertUnwindSafe(|| {
            let shard = EdgeShard::load(&self.directory, Some(config))?;
            setup::index_fields(&shard)?;
            Ok(shard)
        }));
        match loaded {
            Ok(Ok(shard)) => Ok(Some(shard)),
            Ok(Err(error)) => Err(OperationError::to_string(&error)),
            Err(panic) => Err(words_of(&*panic)),
        }
    }

    fn create(&self) -> Result<EdgeShard, RecallError> {
        if self.directory.exists() {
            // Started once and stopped before there was anything in it.
            fs::remove_dir_all(&self.directory).map_err(|source| self.broken(source))?;
        }
        fs::create_dir_all(&self.directory).map_err(|source| self.broken(source))?;
        guarded("create", || {
            let shard = EdgeShard::new(&self.directory, setup::config(&self.schema))?;
            setup::index_fields(&shard)?;
            shard.flush();
            Ok(shard)
        })
    }

    fn quarantine(&self) -> Result<PathBuf, RecallError> {
        let seconds = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default()
            .as_secs();
        let mut number = 0_u32;
        loop {
            let suffix = if number == 0 {
                format!("broken-{seconds}")
            } else {
                format!("broken-{seconds}-{number}")
            };
            let aside = self.directory.with_extension(suffix);
            if !aside.exists() {
                fs::rename(&self.directory, &aside).map_err(|source| self.broken(source))?;
                return Ok(aside);
            }
            number += 1;
        }
    }

    fn broken(&self, source: std::io::Error) -> RecallError {
        RecallError::IndexDirectory {
            path: self.directory.clone(),
            source: source.into(),
        }
    }
}

fn learn(shard: &EdgeShard, points: &mut Vec<PointStruct>) -> Result<(), RecallError> {
    if points.is_empty() {
        return Ok(());
    }
    let points = points.drain(..).map(Into::into).collect();
    update(
        shard,
        PointOperations::UpsertPoints(PointInsertOperations::PointsList(points)),
    )
}

fn forget(shard: &EdgeShard, ids: &mut Vec<PointId>) -> Result<(), RecallError> {
    if ids.is_empty() {
        return Ok(());
    }
    update(
        shard,
        PointOperations::DeletePoints {
            ids: std::mem::take(ids),
        },
    )
}

fn update(shard: &EdgeShard, operation: PointOperations) -> Result<(), RecallError> {
    guarded("take changes", || {
        shard.update(UpdateOperation::PointOperation(operation))
    })
}
