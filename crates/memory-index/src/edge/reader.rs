//! Searches the embedded engine.

use std::collections::HashMap;

use memory_contract::TenantId;
use qdrant_edge::external::ordered_float::OrderedFloat;
use qdrant_edge::{
    Condition as EdgeCondition, CountRequest, EdgeShard, FieldCondition, Filter, JsonPath, Match,
    NamedQuery, PointId, QuantizationSearchParams, QueryEnum, Range, ScoredPoint, ScrollRequest,
    SearchParams, SearchRequest, VectorInternal, VectorStructInternal, WithPayloadInterface,
    WithVector,
};
use uuid::Uuid;

use super::engine::guarded;
use crate::candidate::Candidate;
use crate::candidate_cache::CandidateCache;
use crate::error::IndexError;
use crate::filter::{Condition, Graph, Selection, field};
use crate::payload::candidate;
use crate::schema::LEXICAL;
use crate::vocabulary::Vocabulary;
use crate::word_counts::{PAGE, WordCounts};

/// Converts a selection.
pub(super) fn filter_of(selection: &Selection) -> Filter {
    let tenant = FieldCondition::new_match(
        path(field::TENANT),
        Match::from(selection.tenant_id().as_str().to_owned()),
    );
    let mut must = vec![EdgeCondition::Field(tenant)];
    must.extend(
        selection
            .conditions()
            .iter()
            .map(|condition| match condition {
                Condition::AnyOf(field, values) => {
                    let values = match values.as_slice() {
                        [one] => Match::from(one.clone()),
                        many => Match::from(many.to_vec()),
                    };
                    EdgeCondition::Field(FieldCondition::new_match(path(field), values))
                }
                Condition::Between(field, from, below) => range(field, *from, *below),
                Condition::AnyFrom(fields) => {
                    let any = fields.map(|(field, from)| range(field, Some(from), None));
                    EdgeCondition::Filter(Filter {
                        should: Some(any.into()),
                        ..Filter::default()
                    })
                }
            }),
    );
    Filter {
        must: Some(must),
        ..Filter::default()
    }
}

fn range(field: &str, from: Option<i64>, below: Option<i64>) -> EdgeCondition {
    EdgeCondition::Field(FieldCondition::new_range(
        path(field),
        Range {
            gte: from.map(|from| OrderedFloat(from as f64)),
            lt: below.map(|below| OrderedFloat(below as f64)),
            gt: None,
            lte: None,
        },
    ))
}

/// The path of a payload field. The names contain nothing to parse.
pub(super) fn path(field: &str) -> JsonPath {
    JsonPath {
        first_key: field.to_owned(),
        rest: Vec::new(),
    }
}

/// Counts the points that a filter selects; approximately, unless `exact`.
pub(super) fn count(shard: &EdgeShard, filter: Filter, exact: bool) -> Result<u64, IndexError> {
    let request = CountRequest {
        filter: Some(filter),
        exact,
    };
    guarded("count", || shard.count(request)).map(|count| count as u64)
}

/// Whether a search by meaning has to compare each selected point.
pub(super) fn is_exact(shard: &EdgeShard, selection: &Selection) -> Result<bool, IndexError> {
    Ok(match selection.graph() {
        Graph::OfGroup => false,
        Graph::OfLargerGroup(group) => {
            let all = count(shard, filter_of(&group), false)?;
            Graph::is_large(all)
                && Graph::is_too_small_a_part(count(shard, filter_of(selection), true)?, all)
        }
        Graph::None => true,
    })
}

/// The `limit` nearest points by one of the vectors, best first; of dense vectors, if `exact`,
/// without a graph.
pub(super) fn list(
    shard: &EdgeShard,
    using: &str,
    query: VectorInternal,
    exact: bool,
    filter: Filter,
    limit: usize,
) -> Result<Vec<ScoredPoint>, IndexError> {
    let request = SearchRequest {
        query: QueryEnum::Nearest(NamedQuery {
            query,
            using: Some(using.to_owned()),
        }),
        filter: Some(filter),
        // Quantized vectors find, the full ones score.
        params: Some(SearchParams {
            exact,
            quantization: Some(QuantizationSearchParams {
                rescore: Some(true),
                ..QuantizationSearchParams::default()
            }),
            ..SearchParams::default()
        }),
        limit,
        offset: 0,
        with_payload: Some(WithPayloadInterface::Bool(false)),
        with_vector: Some(WithVector::Bool(false)),
        score_threshold: None,
    };
    guarded("search", || shard.search(request))
}

/// Converts points to candidates, and reads the candidates that are not cached. Leaves out
/// points deleted since the search.
pub(super) fn candidates(
    shard: &EdgeShard,
    cache: &CandidateCache,
    points: Vec<ScoredPoint>,
) -> Result<Vec<Candidate>, IndexError> {
    let id = |point: &PointId| match point {
        PointId::Uuid(id) => *id,
        PointId::NumId(_) => Uuid::nil(),
    };
    let found = cache.look_up(points.iter().map(|point| (id(&point.id), point.score)));
    let missing: Vec<PointId> = found.missing().map(PointId::Uuid).collect();
    let mut read = HashMap::new();
    if !missing.is_empty() {
        let payload = Some(WithPayloadInterface::Bool(true));
        let records = guarded("read points", || shard.retrieve(&missing, payload, None))?;
        read.extend(
            records.iter().filter_map(|record| {
                Some((id(&record.id), candidate(&record.payload.as_ref()?.0)?))
            }),
        );
    }
    let candidates = found.complete(&read);
    cache.put(read);
    Ok(candidates)
}

/// Counts the words of the tenant's points with the lowest ids, at most `most` points.
pub(super) fn count_words(
    shard: &EdgeShard,
    tenant: &TenantId,
    most: usize,
) -> Result<WordCounts, IndexError> {
    let filter = filter_of(&Selection::tenant(tenant));
    let vocabulary = Vocabulary::new(tenant);
    let mut counts = WordCounts::default();
    let mut offset = None;
    loop {
        let request = ScrollRequest {
            offset,
            limit: Some(PAGE.min(most)),
            filter: Some(filter.clone()),
            with_payload: Some(WithPayloadInterface::Bool(false)),
            with_vector: WithVector::Selector(vec![LEXICAL.to_owned()]),
            order_by: None,
        };
        let (page, next) = guarded("count words", || shard.scroll(request))?;
        for point in page {
            if let Some(VectorStructInternal::Named(mut vectors)) = point.vector
                && let Some(VectorInternal::Sparse(words)) = vectors.remove(LEXICAL)
            {
                counts.add(&vocabulary.words(words.indices));
            }
        }
        offset = next;
        if offset.is_none() || counts.are_enough(most) {
            return Ok(counts);
        }
    }
}
