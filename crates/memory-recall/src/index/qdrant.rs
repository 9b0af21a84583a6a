//! A Qdrant cluster.

use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use memory_contract::TenantId;
use qdrant_client::qdrant::{
    Condition as QdrantCondition, CountPointsBuilder, CreateAliasBuilder, CreateCollectionBuilder,
    CreateFieldIndexCollectionBuilder, Distance, FacetCountsBuilder, FieldType,
    Filter, GetPointsBuilder, HnswConfigDiffBuilder, IntegerIndexParamsBuilder,
    KeywordIndexParamsBuilder, Modifier, NamedVectors, PayloadIncludeSelector, PointStruct,
    PointsIdsList, PointsSelector, PointsUpdateOperation, Query, QueryBatchPoints, QueryPoints,
    QueryPointsBuilder, Range, ScoredPoint, SparseVectorParamsBuilder, SparseVectorsConfigBuilder,
    UpdateBatchPoints, UpsertPointsBuilder, Vector, VectorInput, VectorParamsBuilder,
    VectorsConfigBuilder, facet_value, points_selector::PointsSelectorOneOf,
    points_update_operation as operation,
};
use qdrant_client::{Payload, Qdrant, QdrantError};
use secrecy::ExposeSecret;
use serde_json::{Map, Value};
use tonic::Code;
use uuid::Uuid;

use super::edge::check;
use super::filter::{Condition, Selection, field, point_id};
use super::payload::{CANDIDATE, FieldIndex, INDEXES, candidate, payload};
use super::writer::{DENSE, LEXICAL};
use super::{
    Backend, Candidate, Candidates, Change, Index, IndexSchema, IndexState, IndexStatus, Point,
    Prepared, Search,
};
use crate::config::IndexConfig;
use crate::error::RecallError;

/// The point that tells whether the others are all there. It belongs to no
/// tenant.
const STATE_POINT: Uuid = Uuid::from_u128(0x7265_636f_6c6c_8000_8000_0000_0000_0001);
const STATE: &str = "state";
const STATE_WHOLE: &str = "whole";
const STATE_REBUILDING: &str = "rebuilding";

/// The index in a Qdrant cluster, over gRPC.
pub struct QdrantIndex {
    client: Qdrant,
    schema: IndexSchema,
    config: IndexConfig,
    state: AtomicU8,
}

impl QdrantIndex {
    /// Takes the configured address. The connection is made when it is needed.
    ///
    /// # Errors
    /// [`RecallError::Config`] where there is no address, or it is none.
    pub fn connect(config: &IndexConfig, schema: IndexSchema) -> Result<Self, RecallError> {
        let wrong = |problem: String| RecallError::Config { key: "index.url", problem };
        let Some(url) = &config.url else {
            return Err(wrong("the Qdrant backend needs an address".to_owned()));
        };
        let mut settings = Qdrant::from_url(url)
            .timeout(config.write_timeout)
            .connect_timeout(config.connect_timeout)
            .keep_alive_while_idle()
            .skip_compatibility_check();
        if let Some(key) = &config.api_key {
            settings.set_api_key(key.expose_secret());
        }
        let client = settings.build().map_err(|error| wrong(error.to_string()))?;
        Ok(Self {
            client,
            schema,
            config: config.clone(),
            state: AtomicU8::new(UNKNOWN),
        })
    }

    /// Waits for an answer for a while, and keeps in mind whether one came.
    async fn ask<T>(
        &self,
        what: &'static str,
        limit: Duration,
        answer: impl Future<Output = Result<T, QdrantError>>,
    ) -> Result<T, RecallError> {
        let answer = match tokio::time::timeout(limit, answer).await {
            Ok(answer) => answer.map_err(|error| self.failed(what, error)),
            Err(_) => Err(RecallError::IndexTimeout { backend: Backend::Qdrant, after: limit }),
        };
        match &answer {
            Ok(_) => self.answered(true),
            Err(RecallError::IndexUnavailable { .. } | RecallError::IndexTimeout { .. }) => {
                self.answered(false);
            }
            Err(_) => {}
        }
        answer
    }

    fn failed(&self, operation: &'static str, error: QdrantError) -> RecallError {
        let backend = Backend::Qdrant;
        let code = match &error {
            // The client says this of its own where it cannot connect.
            QdrantError::ResponseError { status } if status.message().starts_with("Failed to connect") => {
                Code::Unavailable
            }
            QdrantError::ResponseError { status } => status.code(),
            QdrantError::ResourceExhaustedError { .. } => Code::ResourceExhausted,
            QdrantError::Io(_) => Code::Unavailable,
            _ => Code::InvalidArgument,
        };
        match code {
            Code::NotFound => {
                RecallError::IndexLost { backend, collection: self.schema.collection().to_owned() }
            }
            Code::Unavailable
            | Code::DeadlineExceeded
            | Code::Cancelled
            | Code::ResourceExhausted
            | Code::Aborted
            | Code::Unknown => RecallError::IndexUnavailable { backend, source: error.into() },
            Code::Ok
            | Code::InvalidArgument
            | Code::AlreadyExists
            | Code::PermissionDenied
            | Code::FailedPrecondition
            | Code::OutOfRange
            | Code::Unimplemented
            | Code::Internal
            | Code::DataLoss
            | Code::Unauthenticated => {
                RecallError::IndexRefused { backend, operation, source: error.into() }
            }
        }
    }

    /// Keeps the mark of a rebuilding through an outage.
    fn answered(&self, answered: bool) {
        if answered {
            self.state.fetch_and(!SILENT, Ordering::Relaxed);
        } else {
            self.state.fetch_or(SILENT, Ordering::Relaxed);
        }
    }

    fn know(&self, rebuilding: bool) {
        self.state.store(if rebuilding { REBUILDING } else { 0 }, Ordering::Relaxed);
    }

    async fn create(&self) -> Result<(), RecallError> {
        let mut sparse = SparseVectorsConfigBuilder::default();
        sparse.add_named_vector_params(
            LEXICAL,
            SparseVectorParamsBuilder::default().modifier(Modifier::Idf),
        );
        // Each search has a tenant in it, so a graph over all of them is of no
        // use: one within each tenant's points.
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
            .ask("create a collection", self.config.write_timeout, self.client.create_collection(collection))
            .await;
        match created {
            Ok(_) => Ok(()),
            // Another worker was faster.
            Err(RecallError::IndexRefused { .. }) if self.exists().await? => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn exists(&self) -> Result<bool, RecallError> {
        let exists = self.client.collection_exists(self.schema.collection());
        self.ask("look for a collection", self.config.write_timeout, exists).await
    }

    async fn index_fields(&self) -> Result<(), RecallError> {
        for (name, kind) in INDEXES {
            let collection = self.schema.collection();
            let request = match kind {
                FieldIndex::Tenant => {
                    CreateFieldIndexCollectionBuilder::new(collection, name, FieldType::Keyword)
                        .field_index_params(KeywordIndexParamsBuilder::default().is_tenant(true))
                }
                // The tenant's graph serves them all.
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
            self.ask("index a field", self.config.write_timeout, created).await?;
        }
        Ok(())
    }

    /// Lets the alias point to this collection: where there is none yet, or,
    /// `over` another, once this one is whole.
    async fn point_alias(&self, over: bool) -> Result<(), RecallError> {
        let limit = self.config.write_timeout;
        let aliases = self.ask("list aliases", limit, self.client.list_aliases()).await?.aliases;
        let alias = self.config.alias.as_str();
        let current = aliases.into_iter().find(|found| found.alias_name == alias);
        match current {
            Some(found) if found.collection_name == self.schema.collection() || !over => return Ok(()),
            Some(_) => {
                self.ask("move the alias", limit, self.client.delete_alias(alias)).await?;
            }
            None => {}
        }
        let request = CreateAliasBuilder::new(self.schema.collection(), alias);
        self.ask("set the alias", limit, self.client.create_alias(request)).await.map(drop)
    }

    async fn marked(&self) -> Result<Prepared, RecallError> {
        let request = GetPointsBuilder::new(
            self.schema.collection(),
            vec![STATE_POINT.to_string().into()],
        )
        .with_payload(true);
        let found =
            self.ask("read its state", self.config.write_timeout, self.client.get_points(request)).await?;
        let state = found.result.into_iter().next().and_then(|point| {
            point.payload.get(STATE).and_then(|state| state.as_str().map(|state| state.to_owned()))
        });
        Ok(match state.as_deref() {
            Some(STATE_WHOLE) => Prepared::Whole,
            Some(STATE_REBUILDING) => Prepared::Rebuilding,
            Some(_) | None => Prepared::New,
        })
    }
}

#[async_trait]
impl Index for QdrantIndex {
    fn backend(&self) -> Backend {
        Backend::Qdrant
    }

    fn schema(&self) -> &IndexSchema {
        &self.schema
    }

    async fn prepare(&self) -> Result<Prepared, RecallError> {
        if !self.exists().await? {
            self.create().await?;
        }
        self.index_fields().await?;
        self.point_alias(false).await?;
        let prepared = self.marked().await?;
        self.know(prepared != Prepared::Whole);
        Ok(prepared)
    }

    async fn apply(&self, changes: Vec<Change>) -> Result<(), RecallError> {
        if changes.is_empty() {
            return Ok(());
        }
        let expected = self.schema.dimensions().unwrap_or_default();
        for change in &changes {
            let Change::Upsert(point) = change else { continue };
            let found = point.dense.as_ref().map_or(0, Vec::len);
            if found != expected {
                return Err(RecallError::Dimensions { expected, found });
            }
        }
        let request = UpdateBatchPoints {
            collection_name: self.schema.collection().to_owned(),
            wait: Some(true),
            operations: operations(changes),
            ordering: None,
            timeout: None,
        };
        let applied = self.client.update_points_batch(request);
        self.ask("take changes", self.config.write_timeout, applied).await.map(drop)
    }

    async fn search(&self, search: Search) -> Result<Candidates, RecallError> {
        let Search { selection, dense, lexical, limit } = search;
        check(&self.schema, dense.as_deref())?;
        let lexical = lexical.filter(|words| !words.indices.is_empty());
        let by_meaning = dense.is_some();
        let mut queries = Vec::with_capacity(2);
        let mut ask = |using: &str, input: VectorInput| queries.push(self.query(&selection, using, input, limit));
        if let Some(dense) = dense {
            ask(DENSE, VectorInput::new_dense(dense));
        }
        if let Some(words) = lexical {
            ask(LEXICAL, VectorInput::new_sparse(words.indices, words.values));
        }
        if limit == 0 || queries.is_empty() {
            return Ok(Candidates::default());
        }
        let request = QueryBatchPoints {
            collection_name: self.schema.collection().to_owned(),
            query_points: queries,
            read_consistency: None,
            timeout: None,
        };
        let found =
            self.ask("search", self.config.search_timeout, self.client.query_batch(request)).await?;
        let mut lists = found.result.into_iter().map(|batch| candidates(batch.result));
        let mut found = Candidates::default();
        if by_meaning {
            found.dense = lists.next().unwrap_or_default();
        }
        found.lexical = lists.next().unwrap_or_default();
        found.lexical.retain(|candidate| candidate.score > 0.0);
        Ok(found)
    }

    async fn names(&self, selection: &Selection, limit: usize) -> Result<Vec<String>, RecallError> {
        let request = FacetCountsBuilder::new(self.schema.collection(), field::NAME)
            .filter(filter_of(selection))
            .limit(limit.max(1) as u64);
        let found =
            self.ask("list names", self.config.search_timeout, self.client.facet(request)).await?;
        let names = found.hits.into_iter().filter_map(|hit| match hit.value?.variant? {
            facet_value::Variant::StringValue(name) => Some(name),
            facet_value::Variant::IntegerValue(_) | facet_value::Variant::BoolValue(_) => None,
        });
        Ok(names.collect())
    }

    async fn mark_rebuilding(&self, rebuilding: bool) -> Result<(), RecallError> {
        let state = if rebuilding { STATE_REBUILDING } else { STATE_WHOLE };
        let payload = Payload::from([(STATE, state.into()), (field::TENANT, "".into())]);
        let point = PointStruct::new(STATE_POINT.to_string(), NamedVectors::default(), payload);
        let request = UpsertPointsBuilder::new(self.schema.collection(), vec![point]).wait(true);
        self.ask("take its state", self.config.write_timeout, self.client.upsert_points(request)).await?;
        if !rebuilding {
            self.point_alias(true).await?;
        }
        self.know(rebuilding);
        Ok(())
    }

    async fn status(&self, tenant: &TenantId) -> IndexStatus {
        let request = CountPointsBuilder::new(self.schema.collection())
            .filter(filter_of(&Selection::tenant(tenant)))
            .exact(true);
        let counted =
            self.ask("count", self.config.search_timeout, self.client.count(request)).await;
        // Another process may have ended the rebuilding, or begun one.
        if counted.is_ok()
            && let Ok(prepared) = self.marked().await
        {
            self.know(prepared != Prepared::Whole);
        }
        IndexStatus {
            state: if counted.is_ok() { self.last_state() } else { IndexState::Unavailable },
            collection: self.schema.collection().to_owned(),
            points: counted.ok().and_then(|found| found.result).map_or(0, |result| result.count),
        }
    }

    fn last_state(&self) -> IndexState {
        match self.state.load(Ordering::Relaxed) {
            0 => IndexState::Ready,
            REBUILDING => IndexState::Rebuilding,
            _ => IndexState::Unavailable,
        }
    }

    async fn stop(&self) {
        self.answered(false);
    }
}

impl QdrantIndex {
    fn query(&self, selection: &Selection, using: &str, input: VectorInput, limit: usize) -> QueryPoints {
        let fields = CANDIDATE.map(str::to_owned).to_vec();
        QueryPointsBuilder::new(self.schema.collection())
            .query(Query::new_nearest(input))
            .using(using)
            .filter(filter_of(selection))
            .limit(limit as u64)
            .with_payload(PayloadIncludeSelector { fields })
            .build()
    }
}

/// It is being rebuilt.
const REBUILDING: u8 = 1;
/// It did not answer when it was last asked.
const SILENT: u8 = 2;
/// Nobody has asked yet.
const UNKNOWN: u8 = SILENT;

fn filter_of(selection: &Selection) -> Filter {
    let tenant = QdrantCondition::matches(field::TENANT, selection.tenant_id().as_str().to_owned());
    let conditions = selection.conditions().iter().map(|condition| match condition {
        Condition::AnyOf(field, values) => match values.as_slice() {
            [one] => QdrantCondition::matches(*field, one.clone()),
            many => QdrantCondition::matches(*field, many.to_vec()),
        },
        Condition::Between(field, from, below) => QdrantCondition::range(
            *field,
            Range {
                gte: from.map(|from| from as f64),
                lt: below.map(|below| below as f64),
                gt: None,
                lte: None,
            },
        ),
    });
    Filter::must(std::iter::once(tenant).chain(conditions))
}

/// The changes, in order, neighbours of a kind together.
fn operations(changes: Vec<Change>) -> Vec<PointsUpdateOperation> {
    let mut operations = Vec::new();
    let mut points = Vec::new();
    let mut forgotten = Vec::new();
    for change in changes {
        match change {
            Change::Upsert(point) => {
                forget(&mut forgotten, &mut operations);
                points.push(point_of(*point));
            }
            Change::Delete { tenant, message } => {
                learn(&mut points, &mut operations);
                forgotten.push(point_id(&tenant, message).to_string().into());
            }
            Change::Purge { tenant, thread, up_to_seq } => {
                learn(&mut points, &mut operations);
                forget(&mut forgotten, &mut operations);
                let filter = filter_of(&Selection::purge(&tenant, thread, up_to_seq));
                operations.push(delete(PointsSelectorOneOf::Filter(filter)));
            }
        }
    }
    learn(&mut points, &mut operations);
    forget(&mut forgotten, &mut operations);
    operations
}

fn learn(points: &mut Vec<PointStruct>, operations: &mut Vec<PointsUpdateOperation>) {
    if points.is_empty() {
        return;
    }
    let list = operation::PointStructList {
        points: std::mem::take(points),
        shard_key_selector: None,
        update_filter: None,
        update_mode: None,
    };
    operations.push(PointsUpdateOperation { operation: Some(operation::Operation::Upsert(list)) });
}

fn forget(
    ids: &mut Vec<qdrant_client::qdrant::PointId>,
    operations: &mut Vec<PointsUpdateOperation>,
) {
    if ids.is_empty() {
        return;
    }
    let ids = std::mem::take(ids);
    operations.push(delete(PointsSelectorOneOf::Points(PointsIdsList { ids })));
}

fn delete(which: PointsSelectorOneOf) -> PointsUpdateOperation {
    let points = operation::DeletePoints {
        points: Some(PointsSelector { points_selector_one_of: Some(which) }),
        shard_key_selector: None,
    };
    PointsUpdateOperation { operation: Some(operation::Operation::DeletePoints(points)) }
}

fn point_of(mut point: Point) -> PointStruct {
    let id = point_id(&point.tenant, point.message);
    let lexical = std::mem::take(&mut point.lexical);
    let mut vectors =
        NamedVectors::default().add_vector(LEXICAL, Vector::new_sparse(lexical.indices, lexical.values));
    if let Some(dense) = point.dense.take() {
        vectors = vectors.add_vector(DENSE, Vector::new_dense(dense));
    }
    PointStruct::new(id.to_string(), vectors, Payload::from(payload(&point)))
}

fn candidates(points: Vec<ScoredPoint>) -> Vec<Candidate> {
    let read = |point: ScoredPoint| {
        let fields: Map<String, Value> =
            point.payload.into_iter().map(|(field, value)| (field, value.into_json())).collect();
        candidate(&fields, point.score)
    };
    points.into_iter().filter_map(read).collect()
}
