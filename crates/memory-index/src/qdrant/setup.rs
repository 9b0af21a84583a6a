//! Collections, payload indexes, the alias, and the mark of a rebuild.

use std::collections::HashMap;

use qdrant_client::Payload;
use qdrant_client::qdrant::{
    CollectionInfo, CreateAliasBuilder, CreateCollectionBuilder, CreateFieldIndexCollectionBuilder,
    Distance, FieldType, GetPointsBuilder, HnswConfigDiffBuilder, IntegerIndexParamsBuilder,
    KeywordIndexParamsBuilder, NamedVectors, PointStruct, QuantizationType,
    ScalarQuantizationBuilder, SparseVectorParamsBuilder, SparseVectorsConfigBuilder,
    UpsertPointsBuilder, Value as PointValue, VectorParamsBuilder, VectorsConfigBuilder,
};
use uuid::Uuid;

use super::connection::QdrantIndex;
use crate::config::VectorPrecision;
use crate::error::IndexError;
use crate::filter::field;
use crate::index::Prepared;
use crate::payload::{FieldIndex, INDEXES};
use crate::schema::{DENSE, LEXICAL, QUANTILE};

/// The point with the mark of [`crate::Index::mark_rebuilding`]. It has no tenant.
pub(super) const STATE_POINT: Uuid = Uuid::from_u128(0x7265_636f_6c6c_8000_8000_0000_0000_0001);
const STATE: &str = "state";
const STATE_WHOLE: &str = "whole";
const STATE_REBUILDING: &str = "rebuilding";

impl QdrantIndex {
    pub(super) async fn create(&self) -> Result<(), IndexError> {
        let mut sparse = SparseVectorsConfigBuilder::default();
        sparse.add_named_vector_params(LEXICAL, SparseVectorParamsBuilder::default());
        // Every search is within a group, so a graph for each group is useful, not one
        // over all points.
        let mut collection = CreateCollectionBuilder::new(self.schema.collection())
            .hnsw_config(HnswConfigDiffBuilder::default().m(0).payload_m(16))
            .sparse_vectors_config(sparse)
            .shard_number(self.config.shards)
            .replication_factor(self.config.replicas)
            .write_consistency_factor(self.config.write_consistency);
        if let Some(dimensions) = self.schema.dimensions() {
            let mut vectors = VectorsConfigBuilder::default();
            let params = VectorParamsBuilder::new(dimensions as u64, Distance::Cosine);
            let params = match self.config.vectors {
                VectorPrecision::Full => params,
                VectorPrecision::Int8 => params.on_disk(true).quantization_config(
                    ScalarQuantizationBuilder::default()
                        .r#type(QuantizationType::Int8.into())
                        .quantile(QUANTILE)
                        .always_ram(true),
                ),
            };
            vectors.add_named_vector_params(DENSE, params);
            collection = collection.vectors_config(vectors);
        }
        let limit = self.config.write_timeout;
        let created = self
            .ask("create a collection", limit, |client| {
                let collection = collection.clone();
                async move { client.create_collection(collection).await }
            })
            .await;
        match created {
            Ok(_) => Ok(()),
            // Another worker created it first.
            Err(IndexError::Refused { .. }) if self.exists().await? => Ok(()),
            Err(error) => Err(error),
        }
    }

    pub(super) async fn exists(&self) -> Result<bool, IndexError> {
        let limit = self.config.write_timeout;
        self.ask("check a collection", limit, |client| async move {
            client.collection_exists(self.schema.collection()).await
        })
        .await
    }

    async fn info(&self) -> Result<CollectionInfo, IndexError> {
        let limit = self.config.write_timeout;
        let info = self
            .ask("read its settings", limit, |client| async move {
                client.collection_info(self.schema.collection()).await
            })
            .await?;
        Ok(info.result.unwrap_or_default())
    }

    pub(super) async fn delete_collection(&self, name: &str) -> Result<(), IndexError> {
        let limit = self.config.write_timeout;
        self.ask("delete a collection", limit, |client| async move {
            client.delete_collection(name).await
        })
        .await
        .map(drop)
    }

    /// Creates the payload indexes that do not exist. A cluster without a quorum could not
    /// even confirm one that exists.
    pub(super) async fn index_missing_fields(&self) -> Result<(), IndexError> {
        let existing = self.info().await?.payload_schema;
        for (name, kind) in INDEXES {
            if existing.contains_key(name) {
                continue;
            }
            let collection = self.schema.collection();
            let request = match kind {
                FieldIndex::Tenant => {
                    CreateFieldIndexCollectionBuilder::new(collection, name, FieldType::Keyword)
                        .field_index_params(
                            KeywordIndexParamsBuilder::default()
                                .is_tenant(true)
                                .enable_hnsw(false),
                        )
                }
                FieldIndex::Group => {
                    CreateFieldIndexCollectionBuilder::new(collection, name, FieldType::Uuid)
                }
                FieldIndex::Keyword => {
                    CreateFieldIndexCollectionBuilder::new(collection, name, FieldType::Keyword)
                        .field_index_params(KeywordIndexParamsBuilder::default().enable_hnsw(false))
                }
                FieldIndex::Integer => {
                    CreateFieldIndexCollectionBuilder::new(collection, name, FieldType::Integer)
                        .field_index_params(
                            IntegerIndexParamsBuilder::new(false, true).enable_hnsw(false),
                        )
                }
            };
            let request = request.wait(true);
            self.ask("index a field", self.config.write_timeout, |client| {
                let request = request.clone();
                async move { client.create_field_index(request).await }
            })
            .await?;
        }
        Ok(())
    }

    /// Points the alias to this collection. An alias of another collection is moved
    /// only if `over`, once this one is complete.
    pub(super) async fn point_alias(&self, over: bool) -> Result<(), IndexError> {
        let limit = self.config.write_timeout;
        let aliases = self
            .ask("list aliases", limit, |client| async move {
                client.list_aliases().await
            })
            .await?
            .aliases;
        let alias = self.config.alias.as_str();
        let current = aliases.into_iter().find(|found| found.alias_name == alias);
        match current {
            Some(found) if found.collection_name == self.schema.collection() || !over => {
                return Ok(());
            }
            Some(_) => {
                self.ask("move the alias", limit, |client| async move {
                    client.delete_alias(alias).await
                })
                .await?;
            }
            None => {}
        }
        let request = CreateAliasBuilder::new(self.schema.collection(), alias);
        self.ask("set the alias", limit, |client| {
            let request = request.clone();
            async move { client.create_alias(request).await }
        })
        .await
        .map(drop)
    }

    pub(super) async fn marked(&self) -> Result<Prepared, IndexError> {
        let request = GetPointsBuilder::new(
            self.schema.collection(),
            vec![STATE_POINT.to_string().into()],
        )
        .with_payload(true);
        let found = self
            .ask("read its state", self.config.write_timeout, |client| {
                let request = request.clone();
                async move { client.get_points(request).await }
            })
            .await?;
        Ok(prepared(found.result.first().map(|point| &point.payload)))
    }

    /// Marks the collection as being rebuilt or as complete.
    pub(super) async fn mark(&self, rebuilding: bool) -> Result<(), IndexError> {
        let state = if rebuilding {
            STATE_REBUILDING
        } else {
            STATE_WHOLE
        };
        let payload = Payload::from([(STATE, state.into()), (field::TENANT, "".into())]);
        let point = PointStruct::new(STATE_POINT.to_string(), NamedVectors::default(), payload);
        let request = UpsertPointsBuilder::new(self.schema.collection(), vec![point]).wait(true);
        self.ask("write its state", self.config.write_timeout, |client| {
            let request = request.clone();
            async move { client.upsert_points(request).await }
        })
        .await
        .map(drop)
    }
}

/// The mark in the payload of the state point, which is `None` without the point.
pub(super) fn prepared(state: Option<&HashMap<String, PointValue>>) -> Prepared {
    match state
        .and_then(|state| state.get(STATE)?.as_str())
        .map(String::as_str)
    {
        Some(STATE_WHOLE) => Prepared::Whole,
        Some(STATE_REBUILDING) => Prepared::Rebuilding,
        Some(_) | None => Prepared::New,
    }
}
