//! The index in a Qdrant cluster.

use std::collections::HashSet;
use std::time::Instant;

use async_trait::async_trait;
use memory_contract::TenantId;
use qdrant_client::qdrant::{
    Condition, CountPointsBuilder, FacetCountsBuilder, Filter, PointId, QueryBatchPoints,
    QueryPointsBuilder, ScrollPointsBuilder, VectorInput, VectorsSelector, facet_value,
};
use uuid::Uuid;

use super::connection::QdrantIndex;
use super::points::left;
use super::setup::{STATE_POINT, prepared};
use super::wire::{filter_of, lexical, operations, scored};
use crate::backend::Backend;
use crate::candidate::{Candidate, Candidates, Search};
use crate::error::IndexError;
use crate::filter::{Selection, field};
use crate::index::{Index, IndexState, IndexStatus, Prepared};
use crate::payload::{Batch, batches};
use crate::point::Change;
use crate::schema::{DENSE, IndexSchema, LEXICAL};
use crate::vocabulary::Vocabulary;
use crate::word_counts::{PAGE, WordCounts};

#[async_trait]
impl Index for QdrantIndex {
    fn backend(&self) -> Backend {
        Backend::Qdrant
    }

    fn schema(&self) -> &IndexSchema {
        &self.schema
    }

    async fn prepare(&self) -> Result<Prepared, IndexError> {
        if !self.exists().await? {
            self.create().await?;
        }
        self.index_missing_fields().await?;
        self.point_alias(false).await?;
        let prepared = self.marked().await?;
        self.set_rebuilding(prepared != Prepared::Whole);
        Ok(prepared)
    }

    async fn apply(&self, changes: Vec<Change>) -> Result<(), IndexError> {
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

    async fn search(&self, search: Search) -> Result<Candidates, IndexError> {
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
            let exact = exact && using == DENSE;
            queries.push(self.query(&selection, using, input, exact, limit))
        };
        if let Some(dense) = dense {
            ask(DENSE, VectorInput::new_dense(dense));
        }
        if let Some(words) = lexical {
            let words = Vocabulary::new(selection.tenant_id()).number(words);
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

    fn searches_at_once(&self) -> bool {
        true
    }

    async fn names(&self, selection: &Selection, limit: usize) -> Result<Vec<String>, IndexError> {
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

    async fn word_counts(&self, tenant: &TenantId, most: usize) -> Result<WordCounts, IndexError> {
        let filter = filter_of(&Selection::tenant(tenant));
        let vocabulary = Vocabulary::new(tenant);
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

    async fn mark_rebuilding(&self, rebuilding: bool) -> Result<(), IndexError> {
        self.mark(rebuilding).await?;
        self.set_rebuilding(rebuilding);
        Ok(())
    }

    async fn erase(&self, selection: &Selection) -> Result<(), IndexError> {
        self.erase_everywhere(selection).await
    }

    async fn count(&self, selection: &Selection) -> Result<u64, IndexError> {
        self.count_everywhere(selection).await
    }

    async fn discard(&self, collection: &str) -> Result<(), IndexError> {
        self.delete_collection(collection).await
    }

    async fn publish(&self) -> Result<(), IndexError> {
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
                self.state()
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
        self.state()
    }

    async fn stop(&self) {
        self.answered(false);
    }
}
