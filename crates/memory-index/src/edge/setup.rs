//! Settings and maintenance of the embedded engine.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use qdrant_edge::{
    CreateIndex, Distance, EdgeConfig, EdgeOptimizersConfig, EdgeShard, EdgeSparseVectorParams,
    EdgeVectorParams, FieldIndexOperations, HnswIndexConfig, IntegerIndexParams,
    KeywordIndexParams, OperationError, PayloadFieldSchema, PayloadSchemaParams,
    ScalarQuantizationConfig, ScalarType, UpdateOperation, UuidIndexParams,
};

use super::memory;
use super::reader::path;
use crate::config::VectorPrecision;
use crate::payload::{FieldIndex, INDEXES};
use crate::schema::{DENSE, IndexSchema, LEXICAL, QUANTILE};

/// Size of the vectors from which an HNSW graph is built, in KB: about 13,000 messages
/// with 384 dimensions.
const GRAPH_FROM_KB: usize = 20_000;

/// The share of deleted points from which the writer builds a segment again, and waits for it. A
/// merge, which it does not wait for, comes at a smaller share, except if the points were deleted
/// before a start or there is no room for it.
const DELETED_AT_MOST: f64 = 0.5;
/// The share from which a merge removes them from a segment that it leaves alone.
const DELETED_AT_MOST_MERGED: f64 = 0.1;

/// The settings of the engine.
pub(super) fn config(schema: &IndexSchema, vectors: VectorPrecision) -> EdgeConfig {
    let mut config = EdgeConfig::builder()
        // "On disk" means mapped files. The engine reads other files whole when it starts, and their
        // pages stay as resident as mapped ones unless it copies them to its own memory.
        .on_disk_payload(true)
        // Every search is within a group, so only graphs for each group are useful, not one
        // over all points.
        .hnsw_config(HnswIndexConfig {
            m: 0,
            payload_m: Some(16),
            max_indexing_threads: 1,
            ..HnswIndexConfig::default()
        })
        .optimizers(EdgeOptimizersConfig {
            default_segment_number: Some(2),
            indexing_threshold: Some(GRAPH_FROM_KB),
            deleted_threshold: Some(DELETED_AT_MOST),
            ..EdgeOptimizersConfig::default()
        })
        .sparse_vector(
            LEXICAL,
            EdgeSparseVectorParams::builder().on_disk(true).build(),
        );
    if let Some(dimensions) = schema.dimensions() {
        let params = EdgeVectorParams::builder(dimensions, Distance::Cosine).on_disk(true);
        let params = match vectors {
            VectorPrecision::Full => params,
            VectorPrecision::Int8 => params.quantization_config(
                ScalarQuantizationConfig {
                    r#type: ScalarType::Int8,
                    quantile: Some(QUANTILE),
                    always_ram: Some(true),
                }
                .into(),
            ),
        };
        config = config.vector(DENSE, params.build());
    }
    config.build()
}

/// Makes an engine in an empty directory.
pub(super) fn create(
    directory: &Path,
    schema: &IndexSchema,
    vectors: VectorPrecision,
) -> Result<EdgeShard, OperationError> {
    let engine = EdgeShard::new(directory, config(schema, vectors))?;
    index_fields(&engine)?;
    Ok(engine)
}

/// Opens an engine.
pub(super) fn load(
    directory: &Path,
    schema: &IndexSchema,
    vectors: VectorPrecision,
) -> Result<EdgeShard, OperationError> {
    let engine = EdgeShard::load(directory, Some(config(schema, vectors)))?;
    index_fields(&engine)?;
    Ok(engine)
}

/// The settings of an engine whose segments are merged into one, or into several of at most
/// `largest` points.
pub(super) fn merging(
    schema: &IndexSchema,
    vectors: VectorPrecision,
    largest: usize,
) -> EdgeConfig {
    let mut config = config(schema, vectors);
    config.optimizers = EdgeOptimizersConfig {
        default_segment_number: Some(1),
        max_segment_size: Some(memory::kilobytes(schema.dimensions(), largest)),
        deleted_threshold: Some(DELETED_AT_MOST_MERGED),
        ..config.optimizers
    };
    config
}

/// Deletes the closed segments of the engine's write-ahead log except the newest. The engine, which
/// may be open, neither reads nor deletes them, and a change takes about the same number of bytes there
/// as in the index.
pub(super) fn prune_log(directory: &Path) {
    let Ok(entries) = fs::read_dir(directory.join("wal")) else {
        return;
    };
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
        // Removed first: a segment without content, which a crash could leave, cannot be loaded.
        let open = File::options().write(true).open(&path);
        if let Err(error) = fs::remove_file(&path) {
            tracing::warn!(%error, "deleting an old segment of the index's log failed");
            return;
        }
        if let Ok(file) = open {
            free(&file);
        }
    }
}

/// Frees the blocks of a removed file, which it keeps as long as the engine has it mapped.
#[cfg(target_os = "linux")]
fn free(file: &File) {
    use rustix::fs::{FallocateFlags, fallocate};

    let length = file.metadata().map_or(0, |found| found.len());
    let all = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    if length > 0
        && let Err(error) = fallocate(file, all, 0, length)
    {
        tracing::debug!(%error, "a removed segment of the index's log is freed when it is closed");
    }
}

#[cfg(not(target_os = "linux"))]
fn free(_: &File) {}

/// Creates the missing payload indexes.
fn index_fields(shard: &EdgeShard) -> Result<(), OperationError> {
    let present = shard.info().payload_schema;
    for (name, kind) in INDEXES {
        let field_name = path(name);
        if present.contains_key(&field_name) {
            continue;
        }
        let params = match kind {
            // A search checks each point on its way by these two fields, so they are in memory.
            FieldIndex::Tenant => PayloadSchemaParams::Keyword(KeywordIndexParams {
                is_tenant: Some(true),
                enable_hnsw: Some(false),
                ..KeywordIndexParams::default()
            }),
            FieldIndex::Group => PayloadSchemaParams::Uuid(UuidIndexParams::default()),
            FieldIndex::Keyword => PayloadSchemaParams::Keyword(KeywordIndexParams {
                on_disk: Some(true),
                enable_hnsw: Some(false),
                ..KeywordIndexParams::default()
            }),
            FieldIndex::Integer => PayloadSchemaParams::Integer(IntegerIndexParams {
                on_disk: Some(true),
                lookup: Some(false),
                range: Some(true),
                enable_hnsw: Some(false),
                ..IntegerIndexParams::default()
            }),
        };
        shard.update(UpdateOperation::FieldIndexOperation(
            FieldIndexOperations::CreateIndex(CreateIndex {
                field_name,
                field_schema: Some(PayloadFieldSchema::FieldParams(params)),
            }),
        ))?;
    }
    Ok(())
}
