//! The index in a Qdrant cluster.

mod addresses;
mod erase;
mod setup;
mod wire;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use memory_contract::TenantId;
use qdrant_client::qdrant::{
    Condition, CountPointsBuilder, FacetCountsBuilder, Filter, GetPointsBuilder,
    PayloadIncludeSelector, PointId, PointsUpdateOperation, QuantizationSearchParamsBuilder, Query,
    QueryBatchPoints, QueryPoints, QueryPointsBuilder, ScrollPointsBuilder, SearchParamsBuilder,
    UpdateBatchPoints, VectorInput, VectorsSelector, WriteOrdering, WriteOrderingType, facet_value,
};
use uuid::Uuid;

use super::candidate_cache::CandidateCache;
use super::filter::{Graph, Selection, field};
use super::payload::{Batch, CANDIDATE, batches};
use super::schema::{DENSE, LEXICAL};
use super::vocabulary::Vocabulary;
use super::word_counts::PAGE;
use super::{
    Backend, Candidate, Candidates, Change, Index, IndexSchema, IndexState, IndexStatus, Prepared,
    Search, WordCounts,
};
use crate::config::IndexConfig;
use crate::error::RecallError;
use addresses::Addresses;
use setup::{STATE_POINT, prepared};
use wire::{candidates, filter_of, lexical, operations, removal, scored};

/// An index in a Qdrant cluster, over gRPC.
pub struct QdrantIndex {
    addresses: Addresses,
    schema: IndexSchema,
    config: IndexConfig,
    state: AtomicU8,
    cache: CandidateCache,
}

impl QdrantIndex {
    /// Creates a client for each address, which connects on first use.
    ///
    /// # Errors
    /// [`RecallError::Config`] if an address is missing or invalid.
    pub fn connect(config: &IndexConfig, schema: IndexSchema) -> Result<Self, RecallError> {
        Ok(Self {
            addresses: Addresses::new(config)?,
            schema,
            config: config.clone(),
            state: AtomicU8::new(UNKNOWN),
            cache: CandidateCache::default(),
        })
    }

    /// Records whether Qdrant answered. The rebuild flag survives an outage.
    fn answered(&self, answered: bool) {
        if answered {
            self.state.fetch_and(!SILENT, Ordering::Relaxed);
        } else {
            self.state.fetch_or(SILENT, Ordering::Relaxed);
        }
    }

    fn set_rebuilding(&self, rebuilding: bool) {
        self.state
            .store(if rebuilding { REBUILDING } else { 0 }, Ordering::Relaxed);
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
        self.index_missing_fields().await?;
        self.point_alias(false).await?;
        let prepared = self.marked().await?;
        self.set_rebuilding(prepared != Prepared::Whole);
        Ok(prepared)
    }

    async fn apply(&self, changes: Vec<Change>) -> Result<(), RecallError> {
        if changes.is_empty() {
            return Ok(());
        }
        for change in &changes {
            match change {
                Change::Upsert(point) => self.schema.check_point(point.dense.as_deref())?,
                Change::UpsertMemory(point) => self.schema.check_point(point.dense.as_deref())?,
                Change::Delete { .. } | Change::Purge { .. } => {}
            }
        }
        let batches = batches(changes);
        let written = batches.iter().flat_map(|batch| match batch {
            Batch::Upsert(entries) => entries.as_slice(),
            Batch::Delete(_) | Batch::Purge(_) => &[],
        });
        let written: Vec<(Uuid, Candidate)> = written
            .map(|entry| (entry.id, entry.candidate.clone()))
            .collect();
        self.write(operations(batches)).await?;
        self.cache.put(written);
        Ok(())
    }

    async fn search(&self, search: Search) -> Result<Candidates, RecallError> {
        let Search {
            selection,
            dense,
            lexical,
            limit,
        } = search;
        self.schema.check_query(dense.as_deref())?;
        let lexical = lexical.filter(|words| !words.indices.is_empty());
        if limit == 0 || (dense.is_none() && lexical.is_none()) {
            return Ok(Candidates::default());
        }
        let deadline = Instant::now() + self.config.search_timeout;
        let by_meaning = dense.is_some();
        let exact = by_meaning && self.is_exact(&selection, deadline).await?;
        let mut queries = Vec::with_capacity(3);
        let mut ask = |using: &str, input: VectorInput| {
            queries.push(self.query(&selection, using, input, exact, limit))
        };
        if let Some(dense) = dense {
            ask(DENSE, VectorInput::new_dense(dense));
        }
        if let Some(words) = lexical {
            let words = Vocabulary::of(selection.tenant_id()).number(words);
            ask(
                LEXICAL,
                VectorInput::new_sparse(words.indices, words.values),
            );
        }
        // A collection that was lost and made anew answers as a complete one would.
        queries.push(
            QueryPointsBuilder::new(self.schema.collection())
                .filter(Filter::must([Condition::has_id([STATE_POINT.to_string()])]))
                .limit(1)
                .with_payload(true)
                .build(),
        );
        let request = QueryBatchPoints {
            collection_name: self.schema.collection().to_owned(),
            query_points: queries,
            read_consistency: None,
            timeout: None,
        };
        let found = self
            .ask("search", left(deadline), |client| {
                let request = request.clone();
                async move { client.query_batch(request).await }
            })
            .await?;
        let mut lists = found.result.into_iter().map(|batch| batch.result);
        let state = lists.next_back().unwrap_or_default();
        let state = state.first().map(|point| &point.payload);
        self.set_rebuilding(prepared(state) != Prepared::Whole);
        let dense = match by_meaning {
            true => lists.next().unwrap_or_default(),
            false => Vec::new(),
        };
        let lexical = lists.next().unwrap_or_default();
        let dense = self.cache.look_up(scored(dense));
        let lexical = scored(lexical).filter(|(_, score)| *score > 0.0);
        let lexical = self.cache.look_up(lexical);
        let missing: HashSet<Uuid> = dense.missing().chain(lexical.missing()).collect();
        let read = self.read_candidates(missing, deadline).await?;
        let found = Candidates {
            dense: dense.complete(&read),
            lexical: lexical.complete(&read),
            ..Candidates::default()
        };
        self.cache.put(read);
        Ok(found)
    }

    async fn names(&self, selection: &Selection, limit: usize) -> Result<Vec<String>, RecallError> {
        let request = FacetCountsBuilder::new(self.schema.collection(), field::NAME)
            .filter(filter_of(selection))
            .limit(limit.max(1) as u64);
        let timeout = self.config.search_timeout;
        let found = self
            .ask("list names", timeout, |client| {
                let request = request.clone();
                async move { client.facet(request).await }
            })
            .await?;
        let names = found
            .hits
            .into_iter()
            .filter_map(|hit| match hit.value?.variant? {
                facet_value::Variant::StringValue(name) => Some(name),
                facet_value::Variant::IntegerValue(_) | facet_value::Variant::BoolValue(_) => None,
            });
        Ok(names.collect())
    }

    async fn word_counts(&self, tenant: &TenantId, most: usize) -> Result<WordCounts, RecallError> {
        let filter = filter_of(&Selection::tenant(tenant));
        let vocabulary = Vocabulary::of(tenant);
        let mut counts = WordCounts::default();
        let mut offset = None;
        loop {
            let mut request = ScrollPointsBuilder::new(self.schema.collection())
                .filter(filter.clone())
                .limit(PAGE.min(most) as u32)
                .with_payload(false)
                .with_vectors(VectorsSelector {
                    names: vec![LEXICAL.to_owned()],
                });
            if let Some(offset) = offset {
                request = request.offset::<PointId>(offset);
            }
            // No search waits for it, and a long page is no outage.
            let limit = self.config.write_timeout;
            let page = self
                .ask("count words", limit, |client| {
                    let request = request.clone();
                    async move { client.scroll(request).await }
                })
                .await?;
            for point in page.result {
                if let Some(words) = lexical(point) {
                    counts.add(&vocabulary.words(words));
                }
            }
            offset = page.next_page_offset;
            if offset.is_none() || counts.are_enough(most) {
                return Ok(counts);
            }
        }
    }

    async fn mark_rebuilding(&self, rebuilding: bool) -> Result<(), RecallError> {
        self.mark(rebuilding).await?;
        self.set_rebuilding(rebuilding);
        Ok(())
    }

    async fn erase(&self, selection: &Selection) -> Result<(), RecallError> {
        self.erase_everywhere(selection).await
    }

    async fn count(&self, selection: &Selection) -> Result<u64, RecallError> {
        self.count_everywhere(selection).await
    }

    async fn discard(&self, collection: &str) -> Result<(), RecallError> {
        self.delete_collection(collection).await
    }

    async fn publish(&self) -> Result<(), RecallError> {
        self.point_alias(true).await
    }

    async fn status(&self, tenant: &TenantId) -> IndexStatus {
        let request = CountPointsBuilder::new(self.schema.collection())
            .filter(filter_of(&Selection::tenant(tenant)))
            .exact(true);
        let counted = self
            .ask("count", self.config.search_timeout, |client| {
                let request = request.clone();
                async move { client.count(request).await }
            })
            .await;
        // Another process may have ended or begun a rebuild.
        if counted.is_ok()
            && let Ok(prepared) = self.marked().await
        {
            self.set_rebuilding(prepared != Prepared::Whole);
        }
        IndexStatus {
            state: if counted.is_ok() {
                self.last_state()
            } else {
                IndexState::Unavailable
            },
            collection: self.schema.collection().to_owned(),
            points: counted
                .ok()
                .and_then(|found| found.result)
                .map_or(0, |result| result.count),
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
    /// Writes, and tells an outage from changes that are refused.
    async fn write(&self, operations: Vec<PointsUpdateOperation>) -> Result<(), RecallError> {
        let Err(refused) = self.update(operations.clone()).await else {
            return Ok(());
        };
        let RecallError::IndexRefused { source, .. } = refused else {
            return Err(refused);
        };
        // Qdrant reports a full disk and a lost replica as internal errors. They fail a write
        // without an effect too, and are no defect of the changes.
        let no_point = removal(vec![Uuid::nil()]);
        if self.update(vec![no_point]).await.is_err() {
            return Err(RecallError::IndexUnavailable {
                backend: Backend::Qdrant,
                source,
            });
        }
        self.update(operations).await
    }

    /// Writes, and waits until every active replica has the result.
    async fn update(&self, operations: Vec<PointsUpdateOperation>) -> Result<(), RecallError> {
        let request = UpdateBatchPoints {
            collection_name: self.schema.collection().to_owned(),
            wait: Some(true),
            operations,
            // One replica orders the writes of a shard, so that all replicas keep the same
            // one of two writes to a point.
            ordering: Some(WriteOrdering {
                r#type: WriteOrderingType::Medium.into(),
            }),
            timeout: None,
        };
        self.ask("apply changes", self.config.write_timeout, |client| {
            let request = request.clone();
            async move { client.update_points_batch(request).await }
        })
        .await
        .map(drop)
    }

    /// Whether a search by meaning has to compare each selected point.
    async fn is_exact(&self, selection: &Selection, by: Instant) -> Result<bool, RecallError> {
        let own = self.schema.collection();
        let count = |selection, exact| self.count_in(own, selection, exact, left(by));
        Ok(match selection.graph() {
            Graph::OfGroup => false,
            Graph::OfLargerGroup(group) => {
                let all = count(&group, false).await?;
                Graph::is_large(all)
                    && Graph::is_too_small_a_part(count(selection, true).await?, all)
            }
            Graph::None => true,
        })
    }

    /// Reads what the ranking needs of points. Those that do not exist are left out.
    async fn read_candidates(
        &self,
        points: HashSet<Uuid>,
        by: Instant,
    ) -> Result<HashMap<Uuid, Candidate>, RecallError> {
        if points.is_empty() {
            return Ok(HashMap::new());
        }
        let ids: Vec<PointId> = points.into_iter().map(|id| id.to_string().into()).collect();
        let fields = CANDIDATE.map(str::to_owned).to_vec();
        let request = GetPointsBuilder::new(self.schema.collection(), ids)
            .with_payload(PayloadIncludeSelector { fields });
        let found = self
            .ask("read points", left(by), |client| {
                let request = request.clone();
                async move { client.get_points(request).await }
            })
            .await?;
        Ok(candidates(found.result))
    }

    /// How many points of a collection are selected; about how many, unless `exact`.
    async fn count_in(
        &self,
        collection: &str,
        selection: &Selection,
        exact: bool,
        limit: Duration,
    ) -> Result<u64, RecallError> {
        let request = CountPointsBuilder::new(collection)
            .filter(filter_of(selection))
            .exact(exact);
        let counted = self
            .ask("count points", limit, |client| {
                let request = request.clone();
                async move { client.count(request).await }
            })
            .await?;
        Ok(counted.result.map_or(0, |result| result.count))
    }

    fn query(
        &self,
        selection: &Selection,
        using: &str,
        input: VectorInput,
        exact: bool,
        limit: usize,
    ) -> QueryPoints {
        // Quantized vectors find, the full ones score. Without effect on a collection that is not
        // quantized.
        let rescore = QuantizationSearchParamsBuilder::default().rescore(true);
        QueryPointsBuilder::new(self.schema.collection())
            .query(Query::new_nearest(input))
            .using(using)
            .filter(filter_of(selection))
            .limit(limit as u64)
            .with_payload(false)
            .params(
                SearchParamsBuilder::default()
                    .exact(exact)
                    .quantization(rescore),
            )
            .build()
    }
}

/// The time that is left until a deadline.
fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}

/// Bit: the index is being rebuilt.
const REBUILDING: u8 = 1;
/// Bit: it did not answer the last request.
const SILENT: u8 = 2;
/// Before the first request.
const UNKNOWN: u8 = SILENT;
