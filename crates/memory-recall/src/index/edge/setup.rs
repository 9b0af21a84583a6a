//! Settings and maintenance of the embedded engine.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use qdrant_edge::{
    CreateIndex, Distance, EdgeConfig, EdgeOptimizersConfig, EdgeShard, EdgeSparseVectorParams,
    EdgeVectorParams, FieldIndexOperations, HnswIndexConfig, IntegerIndexParams,
    KeywordIndexParams, OperationError, PayloadFieldSchema, PayloadSchemaParams,
    ScalarQuantizationConfig, ScalarType, UpdateOperation,
};
use serde_json::Value;

use super::reader::path;
use crate::config::VectorPrecision;
use crate::index::IndexSchema;
use crate::index::payload::{FieldIndex, INDEXES};
use crate::index::schema::{DENSE, LEXICAL, QUANTILE};

/// Size of the vectors from which an HNSW graph is built, in KB: about 13,000 messages
/// with 384 dimensions.
const GRAPH_FROM_KB: usize = 20_000;

/// The settings of the engine.
pub(super) fn config(schema: &IndexSchema, vectors: VectorPrecision) -> EdgeConfig {
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
        .sparse_vector(LEXICAL, EdgeSparseVectorParams::builder().build());
    if let Some(dimensions) = schema.dimensions() {
        let params = EdgeVectorParams::builder(dimensions, Distance::Cosine);
        let params = match vectors {
            VectorPrecision::Full => params.on_disk(false),
            VectorPrecision::Int8 => params.on_disk(true).quantization_config(
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

/// Takes the modifier by which release 1.0 let the engine multiply with document
/// frequencies, those of all tenants together, out of the settings of stored segments. The
/// points stay as they are. The engine has no operation for this, and refuses to load
/// segments whose modifier is not that of its configuration.
pub(crate) fn drop_modifier(directory: &Path) -> io::Result<()> {
    for segment in fs::read_dir(directory.join("segments"))? {
        let path = segment?.path().join("segment.json");
        // A segment without settings is the engine's affair, which says so.
        let Ok(settings) = fs::read(&path) else {
            continue;
        };
        let Ok(mut settings) = serde_json::from_slice::<Value>(&settings) else {
            continue;
        };
        let vector = settings.pointer_mut(&format!("/config/sparse_vector_data/{LEXICAL}"));
        let vector = vector.and_then(Value::as_object_mut);
        if vector
            .and_then(|vector| vector.remove("modifier"))
            .is_none()
        {
            continue;
        }
        let draft = path.with_extension("draft");
        fs::write(&draft, serde_json::to_vec(&settings)?)?;
        fs::rename(&draft, &path)?;
    }
    Ok(())
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

#[cfg(test)]
mod tests {
    use memory_contract::TenantId;
    use qdrant_edge::{
        Modifier, PointId, PointInsertOperations, PointOperations, PointStruct, Vector, Vectors,
    };
    use serde_json::json;
    use uuid::Uuid;

    use super::*;
    use crate::config::IndexConfig;
    use crate::index::{EdgeIndex, Index, LexicalVector, Prepared, Search, Selection};

    #[tokio::test]
    async fn an_index_with_frequencies_of_all_tenants_goes_on_without_them() {
        let directory = tempfile::tempdir().unwrap();
        let schema = IndexSchema::new("recollect", None);
        let collection = directory.path().join(schema.collection());
        fs::create_dir(&collection).unwrap();
        let mut former = config(&schema, VectorPrecision::Full);
        let words = former.sparse_vectors.get_mut(LEXICAL).unwrap();
        words.modifier = Some(Modifier::Idf);
        let shard = EdgeShard::new(&collection, former).unwrap();
        let id = Uuid::from_u128(1);
        let words = Vector::new_sparse(vec![7], vec![1.5]).unwrap();
        let point = PointStruct::new(
            PointId::Uuid(id),
            Vectors::new_named(vec![(LEXICAL, words)]),
            json!({
                "tenant": "acme", "message": id, "thread": id, "seq": 1, "branch": 1, "depth": 1,
            }),
        );
        let points = PointInsertOperations::PointsList(vec![point.into()]);
        let upsert = PointOperations::UpsertPoints(points);
        let applied = shard.update(UpdateOperation::PointOperation(upsert));
        applied.unwrap();
        drop(shard);
        fs::write(collection.join("recollect-state"), "whole").unwrap();

        let config = IndexConfig {
            path: Some(directory.path().to_owned()),
            ..IndexConfig::default()
        };
        for _ in 0..2 {
            let index = EdgeIndex::open(&config, schema.clone()).unwrap();
            assert_eq!(index.prepare().await.unwrap(), Prepared::Whole);
            let search = Search {
                selection: Selection::tenant(&TenantId::new("acme")),
                dense: None,
                lexical: Some(LexicalVector {
                    indices: vec![7],
                    values: vec![1.0],
                }),
                limit: 10,
            };
            let found = index.search(search).await.unwrap().lexical;
            assert_eq!(found.len(), 1);
            assert_eq!((found[0].id, found[0].score), (id, 1.5));
            index.stop().await;
        }
    }
}
