//! Conversions between Qdrant's gRPC messages and the edge engine.

use std::collections::HashMap;

use qdrant_client::qdrant::{
    Condition as WireCondition, FieldCondition as WireField, Filter as WireFilter,
    NamedVectorsOutput, PointId as WireId, PointStruct as WirePoint, Range as WireRange,
    SparseVector as WireSparse, Value as WireValue, Vector as WireVector, VectorOutput,
    VectorsOutput, condition::ConditionOneOf, r#match::MatchValue, point_id::PointIdOptions,
    vector, vector_output, vectors::VectorsOptions, vectors_output,
};
use qdrant_edge::external::ordered_float::OrderedFloat;
use qdrant_edge::external::serde_json::{Map, Value};
use qdrant_edge::external::uuid::Uuid;
use qdrant_edge::{
    Condition, FieldCondition, Filter, HasIdCondition, JsonPath, Match, PointId, PointStruct,
    Range, Vector, VectorInternal, VectorStructInternal, Vectors,
};
use tonic::Status;

/// The path of a payload field. The names contain nothing to parse.
pub(crate) fn path(field: &str) -> JsonPath {
    JsonPath {
        first_key: field.to_owned(),
        rest: Vec::new(),
    }
}

pub(crate) fn filter(filter: WireFilter) -> Result<Filter, Status> {
    if !filter.must_not.is_empty() || filter.min_should.is_some() {
        return Err(Status::unimplemented(
            "filters other than `must` and `should`",
        ));
    }
    Ok(Filter {
        must: conditions(filter.must)?,
        should: conditions(filter.should)?,
        ..Filter::default()
    })
}

/// The conditions; `None` without any.
fn conditions(conditions: Vec<WireCondition>) -> Result<Option<Vec<Condition>>, Status> {
    if conditions.is_empty() {
        return Ok(None);
    }
    conditions
        .into_iter()
        .map(condition)
        .collect::<Result<_, _>>()
        .map(Some)
}

fn condition(condition: WireCondition) -> Result<Condition, Status> {
    let field = match condition.condition_one_of {
        Some(ConditionOneOf::Field(field)) => field,
        Some(ConditionOneOf::HasId(wanted)) => {
            let ids = wanted.has_id.into_iter().map(|point| id(Some(point)));
            let ids = ids.collect::<Result<HasIdCondition, Status>>()?;
            return Ok(Condition::HasId(ids));
        }
        Some(ConditionOneOf::Filter(inner)) => return Ok(Condition::Filter(filter(inner)?)),
        Some(_) | None => {
            return Err(Status::unimplemented(
                "conditions other than on fields and ids, and filters",
            ));
        }
    };
    let WireField {
        key,
        r#match,
        range,
        ..
    } = field;
    let path = path(&key);
    if let Some(range) = range {
        let WireRange { lt, gt, gte, lte } = range;
        let [lt, gt, gte, lte] = [lt, gt, gte, lte].map(|bound| bound.map(OrderedFloat));
        return Ok(Condition::Field(FieldCondition::new_range(
            path,
            Range { lt, gt, gte, lte },
        )));
    }
    let wanted = match r#match.and_then(|wanted| wanted.match_value) {
        Some(MatchValue::Keyword(text)) => Match::from(text),
        Some(MatchValue::Keywords(texts)) => Match::from(texts.strings),
        Some(_) | None => return Err(Status::unimplemented("this kind of match")),
    };
    Ok(Condition::Field(FieldCondition::new_match(path, wanted)))
}

pub(crate) fn id(id: Option<WireId>) -> Result<PointId, Status> {
    match id.and_then(|id| id.point_id_options) {
        Some(PointIdOptions::Uuid(text)) => Uuid::parse_str(&text)
            .map(PointId::Uuid)
            .map_err(|_| Status::invalid_argument(format!("Unable to parse UUID: {text}"))),
        Some(PointIdOptions::Num(number)) => Ok(PointId::NumId(number)),
        None => Err(Status::invalid_argument("Empty ID is not allowed")),
    }
}

pub(crate) fn wire_id(id: PointId) -> WireId {
    match id {
        PointId::Uuid(id) => WireId::from(id.to_string()),
        PointId::NumId(number) => WireId::from(number),
    }
}

pub(crate) fn point(point: WirePoint) -> Result<PointStruct, Status> {
    let named = match point.vectors.and_then(|vectors| vectors.vectors_options) {
        Some(VectorsOptions::Vectors(named)) => named.vectors,
        Some(VectorsOptions::Vector(_)) => {
            return Err(Status::unimplemented("vectors without a name"));
        }
        None => HashMap::new(),
    };
    let mut vectors = Vec::with_capacity(named.len());
    for (name, vector) in named {
        vectors.push((name, self::vector(vector)?));
    }
    let payload: Map<String, Value> = point
        .payload
        .into_iter()
        .map(|(key, value)| (key, value.into_json()))
        .collect();
    Ok(PointStruct::new(
        id(point.id)?,
        Vectors::new_named(vectors),
        Value::Object(payload),
    ))
}

fn vector(wire: WireVector) -> Result<Vector, Status> {
    match wire.vector {
        Some(vector::Vector::Dense(dense)) => Ok(Vector::new_dense(dense.data)),
        Some(vector::Vector::Sparse(sparse)) => Vector::new_sparse(sparse.indices, sparse.values)
            .map_err(|error| Status::invalid_argument(error.to_string())),
        Some(_) => Err(Status::unimplemented("this kind of vector")),
        None => old_vector(wire),
    }
}

/// The fields that clients before 1.16 set, and newer ones for older servers.
#[expect(deprecated, reason = "a server has to read what clients send")]
fn old_vector(wire: WireVector) -> Result<Vector, Status> {
    match wire.indices {
        Some(indices) => Vector::new_sparse(indices.data, wire.data)
            .map_err(|error| Status::invalid_argument(error.to_string())),
        None => Ok(Vector::new_dense(wire.data)),
    }
}

/// The sparse vectors among a point's.
pub(crate) fn vectors(vectors: VectorStructInternal) -> VectorsOutput {
    let named = match vectors {
        VectorStructInternal::Named(named) => named,
        VectorStructInternal::Single(_) | VectorStructInternal::MultiDense(_) => HashMap::new(),
    };
    let vectors = named.into_iter().filter_map(|(name, vector)| match vector {
        VectorInternal::Sparse(sparse) => {
            let sparse = WireSparse {
                indices: sparse.indices,
                values: sparse.values,
            };
            let vector = VectorOutput {
                vector: Some(vector_output::Vector::Sparse(sparse)),
                ..VectorOutput::default()
            };
            Some((name, vector))
        }
        VectorInternal::Dense(_) | VectorInternal::MultiDense(_) => None,
    });
    let named = NamedVectorsOutput {
        vectors: vectors.collect(),
    };
    VectorsOutput {
        vectors_options: Some(vectors_output::VectorsOptions::Vectors(named)),
    }
}

pub(crate) fn payload(payload: Map<String, Value>) -> HashMap<String, WireValue> {
    payload
        .into_iter()
        .map(|(key, value)| (key, WireValue::from(value)))
        .collect()
}
