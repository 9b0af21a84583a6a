//! Conversions to and from Qdrant's gRPC messages.

use std::collections::HashMap;

use qdrant_client::Payload;
use qdrant_client::qdrant::{
    Condition as QdrantCondition, Filter, NamedVectors, PointId, PointStruct, PointsIdsList,
    PointsSelector, PointsUpdateOperation, Range, RetrievedPoint, ScoredPoint, Vector,
    r#match::MatchValue, point_id::PointIdOptions, points_selector::PointsSelectorOneOf,
    points_update_operation as operation, vector_output,
};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::candidate::Candidate;
use crate::filter::{Condition, Selection, field};
use crate::payload::{Batch, EncodedPoint, candidate};
use crate::schema::{DENSE, LEXICAL};

/// Converts a selection.
pub(super) fn filter_of(selection: &Selection) -> Filter {
    let tenant = QdrantCondition::matches(field::TENANT, keyword(selection.tenant_id().as_str()));
    let conditions = selection
        .conditions()
        .iter()
        .map(|condition| match condition {
            Condition::AnyOf(field, values) => match values.as_slice() {
                [one] => QdrantCondition::matches(*field, keyword(one)),
                many => QdrantCondition::matches(*field, many.to_vec()),
            },
            Condition::Between(field, from, below) => range(field, *from, *below),
            Condition::AnyFrom(fields) => {
                let any = fields.map(|(field, from)| range(field, Some(from), None));
                QdrantCondition::from(Filter::should(any))
            }
        });
    Filter::must(std::iter::once(tenant).chain(conditions))
}

fn range(field: &str, from: Option<i64>, below: Option<i64>) -> QdrantCondition {
    QdrantCondition::range(
        field,
        Range {
            gte: from.map(|from| from as f64),
            lt: below.map(|below| below as f64),
            gt: None,
            lte: None,
        },
    )
}

/// A match of the whole text. By default the client treats text with a space as a
/// full-text query.
fn keyword(text: &str) -> MatchValue {
    MatchValue::Keyword(text.to_owned())
}

/// Batches of changes as operations, in order.
pub(super) fn operations(batches: Vec<Batch>) -> Vec<PointsUpdateOperation> {
    let operation = |batch| match batch {
        Batch::Upsert(entries) => PointsUpdateOperation {
            operation: Some(operation::Operation::Upsert(operation::PointStructList {
                points: entries.into_iter().map(point_of).collect(),
                shard_key_selector: None,
                update_filter: None,
                update_mode: None,
            })),
        },
        Batch::Delete(ids) => removal(ids),
        Batch::Purge(selection) => deletion(&selection),
    };
    batches.into_iter().map(operation).collect()
}

/// The deletion of points by their ids.
pub(super) fn removal(ids: Vec<Uuid>) -> PointsUpdateOperation {
    let ids = ids.into_iter().map(|id| id.to_string().into()).collect();
    delete(PointsSelectorOneOf::Points(PointsIdsList { ids }))
}

/// The deletion of the selected points.
pub(super) fn deletion(selection: &Selection) -> PointsUpdateOperation {
    delete(PointsSelectorOneOf::Filter(filter_of(selection)))
}

fn delete(which: PointsSelectorOneOf) -> PointsUpdateOperation {
    let points = operation::DeletePoints {
        points: Some(PointsSelector {
            points_selector_one_of: Some(which),
        }),
        shard_key_selector: None,
    };
    PointsUpdateOperation {
        operation: Some(operation::Operation::DeletePoints(points)),
    }
}

fn point_of(entry: EncodedPoint) -> PointStruct {
    let EncodedPoint {
        id,
        candidate: _,
        payload,
        dense,
        lexical,
        vocabulary,
    } = entry;
    let words = vocabulary.number(lexical);
    let mut vectors = NamedVectors::default();
    if !words.indices.is_empty() {
        let words = Vector::new_sparse(words.indices, words.values);
        vectors = vectors.add_vector(LEXICAL, words);
    }
    if let Some(dense) = dense {
        vectors = vectors.add_vector(DENSE, Vector::new_dense(dense));
    }
    PointStruct::new(id.to_string(), vectors, Payload::from(payload))
}

/// The ids of found points with their scores, in their order.
pub(super) fn scored(points: Vec<ScoredPoint>) -> impl Iterator<Item = (Uuid, f32)> {
    let scored = |point: ScoredPoint| Some((uuid(point.id)?, point.score));
    points.into_iter().filter_map(scored)
}

/// The candidates of points that were read with their payload.
pub(super) fn candidates(points: Vec<RetrievedPoint>) -> HashMap<Uuid, Candidate> {
    let read = |point: RetrievedPoint| {
        let payload = point.payload.into_iter();
        let fields: Map<String, Value> = payload
            .map(|(field, value)| (field, value.into_json()))
            .collect();
        Some((uuid(point.id)?, candidate(&fields)?))
    };
    points.into_iter().filter_map(read).collect()
}

fn uuid(point: Option<PointId>) -> Option<Uuid> {
    match point?.point_id_options? {
        PointIdOptions::Uuid(id) => id.parse().ok(),
        PointIdOptions::Num(_) => None,
    }
}

/// The words of a point's lexical vector.
pub(super) fn lexical(point: RetrievedPoint) -> Option<Vec<u32>> {
    match point.vectors?.get_vector_by_name(LEXICAL)? {
        vector_output::Vector::Sparse(words) => Some(words.indices),
        vector_output::Vector::Dense(_) | vector_output::Vector::MultiDense(_) => None,
    }
}
