//! The one thread that changes the embedded engine. In qdrant-edge 0.7.2 a flush
//! that meets an update panics, and what was not flushed is lost with the
//! process; so one thread updates, flushes and optimises, and a change counts as
//! done only after its flush.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use qdrant_edge::external::serde_json::Value;
use qdrant_edge::{
    CreateIndex, Distance, EdgeConfig, EdgeOptimizersConfig, EdgeShard, EdgeSparseVectorParams,
    EdgeVectorParams, FieldIndexOperations, HnswIndexConfig, IntegerIndexParams, KeywordIndexParams, Modifier, OperationError, PayloadFieldSchema, PayloadSchemaParams, PointId,
    PointInsertOperations, PointOperations, PointStruct, UpdateOperation, Vector, Vectors,
};

use super::edge::{filter_of, path};
use super::facts::Facts;
use super::filter::{Selection, point_id};
use super::payload::{FieldIndex, INDEXES, candidate_of, payload};
use super::{Backend, Change, IndexSchema, Point, Prepared};
use crate::error::RecallError;

/// The dense vector's name.
pub(crate) const DENSE: &str = "dense";
/// The sparse vector's name.
pub(crate) const LEXICAL: &str = "lexical";

/// A file beside the points that tells whether they are all there.
const STATE_FILE: &str = "recollect-state";
const STATE_WHOLE: &str = "whole";
const STATE_REBUILDING: &str = "rebuilding";

/// Changes after which the points are put in order. Until then new points are
/// compared one by one, which is fast enough for some thousands.
const OPTIMISE_AFTER: usize = 5_000;
/// Kilobytes of vectors from which on a graph is built: about 13,000 messages
/// under a model with 384 numbers.
const GRAPH_FROM_KB: usize = 20_000;

/// The engine on disk.
pub(crate) struct Writer {
    directory: PathBuf,
    dimensions: Option<usize>,
    shard: Option<Arc<EdgeShard>>,
    facts: Arc<Facts>,
    changes: usize,
}

impl Writer {
    pub(crate) fn new(parent: &Path, schema: &IndexSchema, facts: Arc<Facts>) -> Self {
        Self {
            directory: parent.join(schema.collection()),
            dimensions: schema.dimensions(),
            shard: None,
            facts,
            changes: 0,
        }
    }

    /// Loads the points, or starts without any. What cannot be loaded is set
    /// aside, for a person to look at.
    pub(crate) fn prepare(&mut self) -> Result<(Arc<EdgeShard>, Prepared), RecallError> {
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
    pub(crate) fn apply(&mut self, changes: Vec<Change>) -> Result<(), RecallError> {
        let Some(shard) = self.shard.clone() else { return Err(not_prepared()) };
        self.changes += changes.len();
        let mut points = Vec::new();
        let mut forgotten = Vec::new();
        for change in changes {
            match change {
                Change::Upsert(point) => {
                    self.check(&point)?;
                    forget(&shard, &mut forgotten)?;
                    let id = point_id(&point.tenant, point.message);
                    self.facts.put([(id, candidate_of(&point))]);
                    points.push(point_of(*point)?);
                }
                Change::Delete { tenant, message } => {
                    learn(&shard, &mut points)?;
                    forgotten.push(PointId::Uuid(point_id(&tenant, message)));
                }
                Change::Purge { tenant, thread, up_to_seq } => {
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

    /// Makes everything durable that was carried out.
    pub(crate) fn flush(&self) -> Result<(), RecallError> {
        let Some(shard) = &self.shard else { return Err(not_prepared()) };
        guarded("flush", || {
            shard.flush();
            Ok(())
        })
    }

    /// Puts the points in order if there is enough to do.
    pub(crate) fn tidy(&mut self) {
        let Some(shard) = &self.shard else { return };
        if self.changes < OPTIMISE_AFTER {
            return;
        }
        self.changes = 0;
        let started = std::time::Instant::now();
        match guarded("optimise", || shard.optimize()) {
            Ok(optimised) => tracing::debug!(
                optimised,
                duration_ms = started.elapsed().as_millis() as u64,
                "the index was put in order"
            ),
            Err(error) => tracing::warn!(%error, "the index could not be put in order"),
        }
    }

    pub(crate) fn mark(&self, rebuilding: bool) -> Result<(), RecallError> {
        let state = if rebuilding { STATE_REBUILDING } else { STATE_WHOLE };
        let path = self.directory.join(STATE_FILE);
        let draft = path.with_extension("draft");
        let written = fs::write(&draft, state).and_then(|()| fs::rename(&draft, &path));
        written.map_err(|source| self.broken(source))
    }

    /// Lets go of the points.
    pub(crate) fn close(&mut self) {
        if let Some(shard) = self.shard.take() {
            release(shard);
        }
    }

    fn state(&self) -> Prepared {
        match fs::read_to_string(self.directory.join(STATE_FILE)).as_deref().map(str::trim) {
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
        prune_log(&self.directory);
        let config = self.config();
        let loaded = catch_unwind(AssertUnwindSafe(|| {
            let shard = EdgeShard::load(&self.directory, Some(config))?;
            index_fields(&shard)?;
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
            let shard = EdgeShard::new(&self.directory, self.config())?;
            index_fields(&shard)?;
            shard.flush();
            Ok(shard)
        })
    }

    fn quarantine(&self) -> Result<PathBuf, RecallError> {
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let mut number = 0_u32;
        loop {
            let suffix = if number == 0 { format!("broken-{seconds}") } else { format!("broken-{seconds}-{number}") };
            let aside = self.directory.with_extension(suffix);
            if !aside.exists() {
                fs::rename(&self.directory, &aside).map_err(|source| self.broken(source))?;
                return Ok(aside);
            }
            number += 1;
        }
    }

    fn config(&self) -> EdgeConfig {
        let mut config = EdgeConfig::builder()
            .on_disk_payload(false)
            // Each search has a tenant in it, so only graphs within the values of
            // indexed fields are of use.
            .hnsw_config(HnswIndexConfig {
                m: 0,
                payload_m: Some(16),
                max_indexing_threads: 1,
                ..HnswIndexConfig::default()
            })
            .optimizers(EdgeOptimizersConfig {
                default_segment_number: Some(2),
                indexing_threshold: Some(GRAPH_FROM_KB),
                ..EdgeOptimizersConfig::default()
            })
            .sparse_vector(
                LEXICAL,
                EdgeSparseVectorParams::builder().modifier(Modifier::Idf).build(),
            );
        if let Some(dimensions) = self.dimensions {
            let params = EdgeVectorParams::builder(dimensions, Distance::Cosine).build();
            config = config.vector(DENSE, params);
        }
        config.build()
    }

    fn check(&self, point: &Point) -> Result<(), RecallError> {
        let expected = self.dimensions.unwrap_or_default();
        let found = point.dense.as_ref().map_or(0, Vec::len);
        if expected == found { Ok(()) } else { Err(RecallError::Dimensions { expected, found }) }
    }

    fn broken(&self, source: std::io::Error) -> RecallError {
        RecallError::IndexDirectory { path: self.directory.clone(), source: source.into() }
    }
}

/// Removes what the engine's log has behind its newest closed part. The engine
/// never reads it again and never removes it either.
fn prune_log(directory: &Path) {
    let Ok(entries) = fs::read_dir(directory.join("wal")) else { return };
    let mut closed: Vec<(u64, PathBuf)> = entries
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name();
            let start = name.to_str()?.strip_prefix("closed-")?.parse().ok()?;
            Some((start, entry.path()))
        })
        .collect();
    closed.sort_unstable();
    closed.pop();
    for (_, path) in closed {
        if let Err(error) = fs::remove_file(&path) {
            tracing::warn!(%error, "an old part of the index's log stays");
            return;
        }
    }
}

fn index_fields(shard: &EdgeShard) -> Result<(), OperationError> {
    let present = shard.info().payload_schema;
    for (name, kind) in INDEXES {
        let field_name = path(name);
        if present.contains_key(&field_name) {
            continue;
        }
        let params = match kind {
            FieldIndex::Tenant => PayloadSchemaParams::Keyword(KeywordIndexParams {
                is_tenant: Some(true),
                ..KeywordIndexParams::default()
            }),
            // The tenant's graph serves them all; further graphs cost more than
            // they bring.
            FieldIndex::Keyword => PayloadSchemaParams::Keyword(KeywordIndexParams {
                enable_hnsw: Some(false),
                ..KeywordIndexParams::default()
            }),
            FieldIndex::Integer => PayloadSchemaParams::Integer(IntegerIndexParams {
                lookup: Some(false),
                range: Some(true),
                enable_hnsw: Some(false),
                ..IntegerIndexParams::default()
            }),
        };
        shard.update(UpdateOperation::FieldIndexOperation(FieldIndexOperations::CreateIndex(
            CreateIndex { field_name, field_schema: Some(PayloadFieldSchema::FieldParams(params)) },
        )))?;
    }
    Ok(())
}

fn point_of(mut point: Point) -> Result<PointStruct, RecallError> {
    let id = PointId::Uuid(point_id(&point.tenant, point.message));
    let lexical = std::mem::take(&mut point.lexical);
    let sparse = Vector::new_sparse(lexical.indices, lexical.values)
        .map_err(|source| refused("take words", source))?;
    let mut vectors = vec![(LEXICAL, sparse)];
    if let Some(dense) = point.dense.take() {
        vectors.push((DENSE, Vector::new_dense(dense)));
    }
    Ok(PointStruct::new(id, Vectors::new_named(vectors), Value::Object(payload(&point))))
}

fn learn(shard: &EdgeShard, points: &mut Vec<PointStruct>) -> Result<(), RecallError> {
    if points.is_empty() {
        return Ok(());
    }
    let points = points.drain(..).map(Into::into).collect();
    update(shard, PointOperations::UpsertPoints(PointInsertOperations::PointsList(points)))
}

fn forget(shard: &EdgeShard, ids: &mut Vec<PointId>) -> Result<(), RecallError> {
    if ids.is_empty() {
        return Ok(());
    }
    update(shard, PointOperations::DeletePoints { ids: std::mem::take(ids) })
}

fn update(shard: &EdgeShard, operation: PointOperations) -> Result<(), RecallError> {
    guarded("take changes", || shard.update(UpdateOperation::PointOperation(operation)))
}

/// Lets go of the engine. The last to do so flushes it, which panics where the
/// disk fails; what counts has been flushed before.
pub(crate) fn release(shard: Arc<EdgeShard>) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(shard))) {
        tracing::warn!(error = words_of(&*panic), "the index was not closed properly");
    }
}

/// Runs a step of the engine; a panic in it becomes an error.
pub(crate) fn guarded<T>(
    operation: &'static str,
    step: impl FnOnce() -> Result<T, OperationError>,
) -> Result<T, RecallError> {
    match catch_unwind(AssertUnwindSafe(step)) {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(error)) => Err(refused(operation, error)),
        Err(panic) => Err(RecallError::IndexUnavailable {
            backend: Backend::Edge,
            source: format!("it stumbled while asked to {operation}: {}", words_of(&*panic)).into(),
        }),
    }
}

pub(crate) fn not_prepared() -> RecallError {
    RecallError::IndexUnavailable {
        backend: Backend::Edge,
        source: "it is not open".into(),
    }
}

fn refused(operation: &'static str, error: OperationError) -> RecallError {
    let own = match &error {
        OperationError::ServiceError { .. }
        | OperationError::InconsistentStorage { .. }
        | OperationError::OutOfMemory { .. }
        | OperationError::Cancelled { .. }
        | OperationError::Timeout { .. } => true,
        _ => false,
    };
    let source = error.to_string().into();
    if own {
        RecallError::IndexUnavailable { backend: Backend::Edge, source }
    } else {
        RecallError::IndexRefused { backend: Backend::Edge, operation, source }
    }
}

fn words_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("for an unknown reason").to_owned()
}
