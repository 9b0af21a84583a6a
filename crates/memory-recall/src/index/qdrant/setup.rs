//! Collections, payload indexes, the alias, and the mark of a rebuild.

use qdrant_client::Payload;
use qdrant_client::qdrant::{
    CreateAliasBuilder, CreateCollectionBuilder, CreateFieldIndexCollectionBuilder, Distance,
    FieldType, GetPointsBuilder, HnswConfigDiffBuilder, IntegerIndexParamsBuilder,
    KeywordIndexParamsBuilder, Modifier, NamedVectors, PointStruct, SparseVectorParamsBuilder,
    SparseVectorsConfigBuilder, UpdateCollectionBuilder, UpsertPointsBuilder, VectorParamsBuilder,
    VectorsConfigBuilder,
};
use uuid::Uuid;

use super::QdrantIndex;
use crate::error::RecallError;
use crate::index::Prepared;
use crate::index::filter::field;
use crate::index::payload::{FieldIndex, INDEXES};
use crate::index::schema::{DENSE, LEXICAL};

/// The point with the mark of [`crate::Index::mark_rebuilding`]. It has no tenant.
const STATE_POINT: Uuid = Uuid::from_u128(0x7265_636f_6c6c_8000_8000_0000_0000_0001);
const STATE: &str = "state";
const STATE_WHOLE: &str = "whole";
const STATE_REBUILDING: &str = "rebuilding";

impl QdrantIndex {
    pub(super) async fn create(&self) -> Result<(), RecallError> {
        let mut sparse = SparseVectorsConfigBuilder::default();
        sparse.add_named_vector_params(LEXICAL, SparseVectorParamsBuilder::default());
        // Every search filters by tenant, so a graph for each tenant is useful, not one
        // over all points.
        let mut collection = CreateCollectionBuilder::new(self.schema.collection())
            .hnsw_config(HnswConfigDiffBuilder::default().m(0).payload_m(16))
            .sparse_vectors_config(sparse)
            .shard_number(self.config.shards)
            .replication_factor(self.config.replicas);
        if let Some(dimensions) = self.schema.dimensions() {
            let mut vectors = VectorsConfigBuilder::default();
            vectors.add_named_vector_params(
                DENSE,
                VectorParamsBuilder::new(dimensions as u64, Distance::Cosine),
            );
            collection = collection.vectors_config(vectors);
        }
        let created = self
            .ask(
                "create a collection",
                self.config.write_timeout,
                self.client.create_collection(collection),
            )
            .await;
        match created {
            Ok(_) => Ok(()),
            // Another worker created it first.
            Err(RecallError::IndexRefused { .. }) if self.exists().await? => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Takes the modifier by which release 1.0 let Qdrant multiply with document
    /// frequencies, those of all tenants together, off an existing collection. The points
    /// stay as they are.
    pub(super) async fn drop_modifier(&self) -> Result<(), RecallError> {
        let limit = self.config.write_timeout;
        let info = self.client.collection_info(self.schema.collection());
        let info = self.ask("read its settings", limit, info).await?.result;
        let params = info.and_then(|info| info.config?.params?.sparse_vectors_config);
        let words = params.and_then(|mut params| params.map.remove(LEXICAL));
        if words.is_none_or(|words| words.modifier() != Modifier::Idf) {
            return Ok(());
        }
        let mut sparse = SparseVectorsConfigBuilder::default();
        sparse.add_named_vector_params(
            LEXICAL,
            SparseVectorParamsBuilder::default().modifier(Modifier::None),
        );
        let change =
            UpdateCollectionBuilder::new(self.schema.collection()).sparse_vectors_config(sparse);
        let changed = self.client.update_collection(change);
        self.ask("change its settings", limit, changed)
            .await
            .map(drop)
    }

    pub(super) async fn exists(&self) -> Result<bool, RecallError> {
        let exists = self.client.collection_exists(self.schema.collection());
        self.ask("check a collection", self.config.write_timeout, exists)
            .await
    }

    pub(super) async fn delete_collection(&self, name: &str) -> Result<(), RecallError> {
        let deleted = self.client.delete_collection(name);
        self.ask("delete a collection", self.config.write_timeout, deleted)
            .await
            .map(drop)
    }

    pub(super) async fn index_fields(&self) -> Result<(), RecallError> {
        for (name, kind) in INDEXES {
            let collection = self.schema.collection();
            let request = match kind {
                FieldIndex::Tenant => {
                    CreateFieldIndexCollectionBuilder::new(collection, name, FieldType::Keyword)
                        .field_index_params(KeywordIndexParamsBuilder::default().is_tenant(true))
                }
                // The tenant's graph serves these as well.
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
            let created = self.client.create_field_index(request.wait(true));
            self.ask("index a field", self.config.write_timeout, created)
                .await?;
        }
        Ok(())
    }

    /// Points the alias to this collection. An alias of another collection is moved
    /// only if `over`, once this one is complete.
    pub(super) async fn point_alias(&self, over: bool) -> Result<(), RecallError> {
        let limit = self.config.write_timeout;
        let aliases = self
            .ask("list aliases", limit, self.client.list_aliases())
            .await?
            .aliases;
        let alias = self.config.alias.as_str();
        let current = aliases.into_iter().find(|found| found.alias_name == alias);
        match current {
            Some(found) if found.collection_name == self.schema.collection() || !over => {
                return Ok(());
            }
            Some(_) => {
                self.ask("move the alias", limit, self.client.delete_alias(alias))
                    .await?;
            }
            None => {}
        }
        let request = CreateAliasBuilder::new(self.schema.collection(), alias);
        self.ask("set the alias", limit, self.client.create_alias(request))
            .await
            .map(drop)
    }

    pub(super) async fn marked(&self) -> Result<Prepared, RecallError> {
        let request = GetPointsBuilder::new(
            self.schema.collection(),
            vec![STATE_POINT.to_string().into()],
        )
        .with_payload(true);
        let found = self
            .ask(
                "read its state",
                self.config.write_timeout,
                self.client.get_points(request),
            )
            .await?;
        let state = found.result.into_iter().next().and_then(|point| {
            point
                .payload
                .get(STATE)
                .and_then(|state| state.as_str().map(|state| state.to_owned()))
        });
        Ok(match state.as_deref() {
            Some(STATE_WHOLE) => Prepared::Whole,
            Some(STATE_REBUILDING) => Prepared::Rebuilding,
            Some(_) | None => Prepared::New,
        })
    }

    /// Marks the collection as being rebuilt or as complete.
    pub(super) async fn mark(&self, rebuilding: bool) -> Result<(), RecallError> {
        let state = if rebuilding {
            STATE_REBUILDING
        } else {
            STATE_WHOLE
        };
        let payload = Payload::from([(STATE, state.into()), (field::TENANT, "".into())]);
        let point = PointStruct::new(STATE_POINT.to_string(), NamedVectors::default(), payload);
        let request = UpsertPointsBuilder::new(self.schema.collection(), vec![point]).wait(true);
        let marked = self.client.upsert_points(request);
        self.ask("write its state", self.config.write_timeout, marked)
            .await
            .map(drop)
    }
}
