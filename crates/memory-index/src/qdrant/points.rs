//! Writes, reads and counts points.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use qdrant_client::qdrant::{
    CountPointsBuilder, GetPointsBuilder, PayloadIncludeSelector, PointId, PointsUpdateOperation,
    QuantizationSearchParamsBuilder, Query, QueryPoints, QueryPointsBuilder, SearchParamsBuilder,
    UpdateBatchPoints, VectorInput, WriteOrdering, WriteOrderingType,
};
use uuid::Uuid;

use super::connection::QdrantIndex;
use super::wire::{candidates, filter_of, removal};
use crate::backend::Backend;
use crate::candidate::Candidate;
use crate::error::IndexError;
use crate::filter::{Graph, Selection, field};

impl QdrantIndex {
    /// Writes, and distinguishes an outage from refused changes.
    pub(super) async fn write(
        &self,
        operations: Vec<PointsUpdateOperation>,
    ) -> Result<(), IndexError> {
        let Err(refused) = self.update(operations.clone()).await else {
            return Ok(());
        };
        let IndexError::Refused { source, .. } = refused else {
            return Err(refused);
        };
        // Qdrant reports a full disk and a lost replica as internal errors. They fail a write
        // without an effect too, and are no defect of the changes.
        let no_point = removal(vec![Uuid::nil()]);
        if self.update(vec![no_point]).await.is_err() {
            return Err(IndexError::Unavailable {
                backend: Backend::Qdrant,
                source,
            });
        }
        self.update(operations).await
    }

    /// Writes, and waits until every active replica has the result.
    async fn update(&self, operations: Vec<PointsUpdateOperation>) -> Result<(), IndexError> {
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
    pub(super) async fn is_exact(
        &self,
        selection: &Selection,
        by: Instant,
    ) -> Result<bool, IndexError> {
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

    /// Reads the candidates of points, without points that do not exist.
    pub(super) async fn read_candidates(
        &self,
        points: HashSet<Uuid>,
        by: Instant,
    ) -> Result<HashMap<Uuid, Candidate>, IndexError> {
        if points.is_empty() {
            return Ok(HashMap::new());
        }
        let ids: Vec<PointId> = points.into_iter().map(|id| id.to_string().into()).collect();
        let fields = vec![field::CANDIDATE.to_owned()];
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

    /// Counts the selected points of a collection; approximately, unless `exact`.
    pub(super) async fn count_in(
        &self,
        collection: &str,
        selection: &Selection,
        exact: bool,
        limit: Duration,
    ) -> Result<u64, IndexError> {
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

    pub(super) fn query(
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
pub(super) fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}
