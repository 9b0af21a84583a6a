//! Settings and maintenance of the embedded engine.

use std::fs;
use std::path::{Path, PathBuf};

use qdrant_edge::{
    CreateIndex, Distance, EdgeConfig, EdgeOptimizersConfig, EdgeShard, EdgeSparseVectorParams,
    EdgeVectorParams, FieldIndexOperations, HnswIndexConfig, IntegerIndexParams,
    KeywordIndexParams, Modifier, OperationError, PayloadFieldSchema, PayloadSchemaParams,
    UpdateOperation,
};

use super::reader::path;
use crate::index::IndexSchema;
use crate::index::payload::{FieldIndex, INDEXES};
use crate::index::schema::{DENSE, LEXICAL};

/// Size of the vectors from which an HNSW graph is built, in KB: about 13,000 messages
/// with 384 dimensions.
const GRAPH_FROM_KB: usize = 20_000;

/// The settings of the engine.
pub(super) fn config(schema: &IndexSchema) -> EdgeConfig {
    let mut config = EdgeConfig::builder()
        .on_disk_payload(false)
        // Every search filters by tenant, so only graphs for each value of an indexed
        // field are useful, not one over all points.
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
            EdgeSparseVectorParams::builder()
                .modifier(Modifier::Idf)
                .build(),
        );
    if let Some(dimensions) = schema.dimensions() {
        let params = EdgeVectorParams::builder(dimensions, Distance::Cosine).build();
        config = config.vector(DENSE, params);
    }
    config.build()
}

/// Deletes the closed segments of the engine's write-ahead log except the newest. The
/// engine neither reads nor deletes them.
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
        if let Err(error) = fs::remove_file(&path) {
            tracing::warn!(%error, "deleting an old segment of the index's log failed");
            return;
        }
    }
}

/// Creates the missing payload indexes.
pub(super) fn index_fields(shard: &EdgeShard) -> Result<(), OperationError> {
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
            // The tenant's graph serves these as well; more graphs cost more than they
            // gain.
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
        shard.update(UpdateOperation::FieldIndexOperation(
            FieldIndexOperations::CreateIndex(CreateIndex {
                field_name,
                field_schema: Some(PayloadFieldSchema::FieldParams(params)),
            }),
        ))?;
    }
    Ok(())
}
