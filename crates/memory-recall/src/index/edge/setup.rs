//! How the embedded engine is set up.

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

/// Kilobytes of vectors from which on a graph is built: about 13,000 messages
/// under a model with 384 numbers.
const GRAPH_FROM_KB: usize = 20_000;

/// How the points are kept.
pub(super) fn config(schema: &IndexSchema) -> EdgeConfig {
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

/// Removes what the engine's log has behind its newest closed part. The engine
/// never reads it again and never removes it either.
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
            tracing::warn!(%error, "an old part of the index's log stays");
            return;
        }
    }
}

/// Makes the payload indexes that are missing.
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
        shard.update(UpdateOperation::FieldIndexOperation(
            FieldIndexOperations::CreateIndex(CreateIndex {
                field_name,
                field_schema: Some(PayloadFieldSchema::FieldParams(params)),
            }),
        ))?;
    }
    Ok(())
}
