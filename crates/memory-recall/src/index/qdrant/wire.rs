//! What is said to Qdrant, and what it answers.

use qdrant_client::Payload;
use qdrant_client::qdrant::{
    Condition as QdrantCondition, Filter, NamedVectors, PointId, PointStruct, PointsIdsList,
    PointsSelector, PointsUpdateOperation, Range, ScoredPoint, Vector, r#match::MatchValue,
    points_selector::PointsSelectorOneOf, points_update_operation as operation,
};
use serde_json::{Map, Value};

use crate::index::filter::{Condition, Selection, field, point_id};
use crate::index::payload::{Entry, candidate};
use crate::index::schema::{DENSE, LEXICAL};
use crate::index::{Candidate, Change};

/// The filter of a selection.
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

/// Text that is compared as a whole. The client by itself would take one with a
/// space in it for words to be searched for.
fn keyword(text: &str) -> MatchValue {
    MatchValue::Keyword(text.to_owned())
}

/// The changes, in order, neighbors of a kind together.
pub(super) fn operations(changes: Vec<Change>) -> Vec<PointsUpdateOperation> {
    let mut operations = Vec::new();
    let mut points = Vec::new();
    let mut forgotten = Vec::new();
    for change in changes {
        match change {
            Change::Upsert(point) => {
                forget(&mut forgotten, &mut operations);
                points.push(point_of((*point).into()));
            }
            Change::UpsertMemory(point) => {
                forget(&mut forgotten, &mut operations);
                points.push(point_of((*point).into()));
            }
            Change::Delete { tenant, subject } => {
                learn(&mut points, &mut operations);
                forgotten.push(point_id(&tenant, subject).to_string().into());
            }
            Change::Purge {
                tenant,
                thread,
                up_to_seq,
            } => {
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
    operations.push(PointsUpdateOperation {
        operation: Some(operation::Operation::Upsert(list)),
    });
}

fn forget(ids: &mut Vec<PointId>, operations: &mut Vec<PointsUpdateOperation>) {
    if ids.is_empty() {
        return;
    }
    let ids = std::mem::take(ids);
    operations.push(delete(PointsSelectorOneOf::Points(PointsIdsList { ids })));
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

fn point_of(entry: Entry) -> PointStruct {
    let Entry {
        id,
        candidate: _,
        payload,
        dense,
        lexical,
    } = entry;
    let mut vectors = NamedVectors::default()
        .add_vector(LEXICAL, Vector::new_sparse(lexical.indices, lexical.values));
    if let Some(dense) = dense {
        vectors = vectors.add_vector(DENSE, Vector::new_dense(dense));
    }
    PointStruct::new(id.to_string(), vectors, Payload::from(payload))
}

pub(super) fn candidates(points: Vec<ScoredPoint>) -> Vec<Candidate> {
    let read = |point: ScoredPoint| {
        let fields: Map<String, Value> = point
            .payload
            .into_iter()
            .map(|(field, value)| (field, value.into_json()))
            .collect();
        candidate(&fields, point.score)
    };
    points.into_iter().filter_map(read).collect()
}
