//! Qdrant's points service.

use qdrant_client::qdrant::{
    BatchResult, CountPoints, CountResponse, CountResult, CreateFieldIndexCollection, FacetCounts,
    FacetHit, FacetResponse, FacetValue as WireFacetValue, FieldType, Filter as WireFilter,
    GetPoints, GetResponse, PointStruct as WirePoint, PointsOperationResponse, PointsSelector,
    QueryBatchPoints, QueryBatchResponse, QueryPoints, RetrievedPoint, ScoredPoint as WireScored,
    ScrollPoints, ScrollResponse, UpdateBatchPoints, UpdateBatchResponse, UpdateResult,
    UpdateStatus, UpsertPoints, facet_value, payload_index_params::IndexParams,
    points_selector::PointsSelectorOneOf, points_server::Points,
    points_update_operation::Operation, query, value::Kind, vector_input,
    with_payload_selector::SelectorOptions, with_vectors_selector,
};
use qdrant_edge::{
    CountRequest, CreateIndex, EdgeShard, FacetRequest, FacetValue, FieldIndexOperations, Filter,
    IntegerIndexParams, KeywordIndexParams, NamedQuery, OperationError, OperationResult,
    PayloadFieldSchema, PayloadSchemaParams, PayloadSelector, PayloadSelectorInclude,
    PointInsertOperations, PointOperations, QueryEnum, Record, ScrollRequest, SearchRequest,
    SparseVector, UpdateOperation, UuidIndexParams, VectorInternal, WithPayloadInterface,
    WithVector,
};
use tonic::{Request, Response, Status};

use crate::convert::{filter, id, path, payload, point, vectors, wire_id};
use crate::state::{Fault, State, refused};

impl State {
    /// Writes points, unless the fault refuses them.
    fn write(&self, shard: &EdgeShard, points: Vec<WirePoint>) -> Result<(), Status> {
        match &self.lock().fault {
            Fault::FullDisk => return Err(full_disk()),
            Fault::RefuseSpeaker(speaker) => {
                let spoken = |point: &WirePoint| {
                    let name = point
                        .payload
                        .get("name")
                        .and_then(|name| name.kind.as_ref());
                    matches!(name, Some(Kind::StringValue(name)) if name == speaker)
                };
                if points.iter().any(spoken) {
                    return Err(Status::invalid_argument("the test refuses this speaker"));
                }
            }
            Fault::None | Fault::Unavailable | Fault::Slow(_) => {}
        }
        let points = points
            .into_iter()
            .map(point)
            .collect::<Result<Vec<_>, _>>()?;
        let points = points.into_iter().map(Into::into).collect();
        change(
            shard,
            PointOperations::UpsertPoints(PointInsertOperations::PointsList(points)),
        )
    }

    fn delete_points(
        &self,
        shard: &EdgeShard,
        which: Option<PointsSelector>,
    ) -> Result<(), Status> {
        if self.lock().fault == Fault::FullDisk {
            return Err(full_disk());
        }
        match which.and_then(|which| which.points_selector_one_of) {
            Some(PointsSelectorOneOf::Points(points)) => {
                let ids = points
                    .ids
                    .into_iter()
                    .map(|found| id(Some(found)))
                    .collect::<Result<_, _>>()?;
                change(shard, PointOperations::DeletePoints { ids })
            }
            Some(PointsSelectorOneOf::Filter(wire)) => {
                change(shard, PointOperations::DeletePointsByFilter(filter(wire)?))
            }
            None => Err(Status::invalid_argument("PointsSelector is missing")),
        }
    }
}

#[tonic::async_trait]
impl Points for State {
    async fn upsert(
        &self,
        request: Request<UpsertPoints>,
    ) -> Result<Response<PointsOperationResponse>, Status> {
        let request = self.meet(request).await?;
        self.write(&*self.shard(&request.collection_name)?, request.points)?;
        done()
    }

    async fn update_batch(
        &self,
        request: Request<UpdateBatchPoints>,
    ) -> Result<Response<UpdateBatchResponse>, Status> {
        let request = self.meet(request).await?;
        let shard = self.shard(&request.collection_name)?;
        let mut result = Vec::new();
        for operation in request
            .operations
            .into_iter()
            .filter_map(|operation| operation.operation)
        {
            match operation {
                Operation::Upsert(list) => self.write(&shard, list.points)?,
                Operation::DeletePoints(which) => self.delete_points(&shard, which.points)?,
                _ => return Err(Status::unimplemented("this kind of operation")),
            }
            result.push(completed());
        }
        Ok(Response::new(UpdateBatchResponse {
            result,
            ..UpdateBatchResponse::default()
        }))
    }

    async fn create_field_index(
        &self,
        request: Request<CreateFieldIndexCollection>,
    ) -> Result<Response<PointsOperationResponse>, Status> {
        let request = self.meet(request).await?;
        let shard = self.shard(&request.collection_name)?;
        let params = request
            .field_index_params
            .as_ref()
            .and_then(|params| params.index_params.as_ref());
        let tenant =
            matches!(params, Some(IndexParams::KeywordIndexParams(params)) if params.is_tenant());
        let schema = match request.field_type() {
            FieldType::Keyword => PayloadSchemaParams::Keyword(KeywordIndexParams {
                is_tenant: Some(tenant),
                ..KeywordIndexParams::default()
            }),
            FieldType::Uuid => PayloadSchemaParams::Uuid(UuidIndexParams::default()),
            FieldType::Integer => PayloadSchemaParams::Integer(IntegerIndexParams::default()),
            _ => return Err(Status::unimplemented("this kind of field")),
        };
        let create = CreateIndex {
            field_name: path(&request.field_name),
            field_schema: Some(PayloadFieldSchema::FieldParams(schema)),
        };
        let operation =
            UpdateOperation::FieldIndexOperation(FieldIndexOperations::CreateIndex(create));
        answered(shard.update(operation))?;
        done()
    }

    async fn get(&self, request: Request<GetPoints>) -> Result<Response<GetResponse>, Status> {
        let request = self.meet(request).await?;
        let shard = self.shard(&request.collection_name)?;
        let ids = request
            .ids
            .into_iter()
            .map(|found| id(Some(found)))
            .collect::<Result<Vec<_>, Status>>()?;
        let found = answered(shard.retrieve(&ids, Some(WithPayloadInterface::Bool(true)), None))?;
        let result = found
            .into_iter()
            .map(|record| RetrievedPoint {
                id: Some(wire_id(record.id)),
                payload: record
                    .payload
                    .map(|found| payload(found.0))
                    .unwrap_or_default(),
                ..RetrievedPoint::default()
            })
            .collect();
        Ok(Response::new(GetResponse {
            result,
            ..GetResponse::default()
        }))
    }

    async fn count(
        &self,
        request: Request<CountPoints>,
    ) -> Result<Response<CountResponse>, Status> {
        let request = self.meet(request).await?;
        let shard = self.shard(&request.collection_name)?;
        let counted = CountRequest {
            filter: some_filter(request.filter)?,
            exact: true,
        };
        let count = answered(shard.count(counted))? as u64;
        Ok(Response::new(CountResponse {
            result: Some(CountResult { count }),
            ..CountResponse::default()
        }))
    }

    async fn scroll(
        &self,
        request: Request<ScrollPoints>,
    ) -> Result<Response<ScrollResponse>, Status> {
        let request = self.meet(request).await?;
        let shard = self.shard(&request.collection_name)?;
        let wanted = request
            .with_vectors
            .and_then(|wanted| wanted.selector_options);
        let names = match wanted {
            Some(with_vectors_selector::SelectorOptions::Include(wanted)) => wanted.names,
            Some(_) | None => Vec::new(),
        };
        let page = ScrollRequest {
            offset: request.offset.map(|point| id(Some(point))).transpose()?,
            limit: request.limit.map(|limit| limit as usize),
            filter: some_filter(request.filter)?,
            with_payload: Some(WithPayloadInterface::Bool(false)),
            with_vector: WithVector::Selector(names),
            order_by: None,
        };
        let (found, next) = answered(shard.scroll(page))?;
        let result = found
            .into_iter()
            .map(|record| RetrievedPoint {
                id: Some(wire_id(record.id)),
                vectors: record.vector.map(vectors),
                ..RetrievedPoint::default()
            })
            .collect();
        Ok(Response::new(ScrollResponse {
            result,
            next_page_offset: next.map(wire_id),
            ..ScrollResponse::default()
        }))
    }

    async fn query_batch(
        &self,
        request: Request<QueryBatchPoints>,
    ) -> Result<Response<QueryBatchResponse>, Status> {
        let request = self.meet(request).await?;
        let shard = self.shard(&request.collection_name)?;
        let mut result = Vec::with_capacity(request.query_points.len());
        for query in request.query_points {
            result.push(BatchResult {
                result: search(&shard, query)?,
            });
        }
        Ok(Response::new(QueryBatchResponse {
            result,
            ..QueryBatchResponse::default()
        }))
    }

    async fn facet(
        &self,
        request: Request<FacetCounts>,
    ) -> Result<Response<FacetResponse>, Status> {
        let request = self.meet(request).await?;
        let shard = self.shard(&request.collection_name)?;
        let facet = FacetRequest {
            key: path(&request.key),
            limit: usize::try_from(request.limit.unwrap_or(10)).unwrap_or(10),
            filter: some_filter(request.filter)?,
            exact: request.exact.unwrap_or_default(),
        };
        let hits = answered(shard.facet(facet))?
            .hits
            .into_iter()
            .filter_map(|hit| match hit.value {
                FacetValue::Keyword(text) => Some(FacetHit {
                    value: Some(WireFacetValue {
                        variant: Some(facet_value::Variant::StringValue(text)),
                    }),
                    count: hit.count as u64,
                }),
                FacetValue::Int(_) | FacetValue::Uuid(_) | FacetValue::Bool(_) => None,
            })
            .collect();
        Ok(Response::new(FacetResponse {
            hits,
            ..FacetResponse::default()
        }))
    }

    refused! {
        delete(DeletePoints) -> PointsOperationResponse
        update_vectors(UpdatePointVectors) -> PointsOperationResponse
        delete_vectors(DeletePointVectors) -> PointsOperationResponse
        set_payload(SetPayloadPoints) -> PointsOperationResponse
        overwrite_payload(SetPayloadPoints) -> PointsOperationResponse
        delete_payload(DeletePayloadPoints) -> PointsOperationResponse
        clear_payload(ClearPayloadPoints) -> PointsOperationResponse
        delete_field_index(DeleteFieldIndexCollection) -> PointsOperationResponse
        create_vector_name(CreateVectorNameRequest) -> PointsOperationResponse
        delete_vector_name(DeleteVectorNameRequest) -> PointsOperationResponse
        search(SearchPoints) -> SearchResponse
        search_batch(SearchBatchPoints) -> SearchBatchResponse
        search_groups(SearchPointGroups) -> SearchGroupsResponse
        recommend(RecommendPoints) -> RecommendResponse
        recommend_batch(RecommendBatchPoints) -> RecommendBatchResponse
        recommend_groups(RecommendPointGroups) -> RecommendGroupsResponse
        discover(DiscoverPoints) -> DiscoverResponse
        discover_batch(DiscoverBatchPoints) -> DiscoverBatchResponse
        query(QueryPoints) -> QueryResponse
        query_groups(QueryPointGroups) -> QueryGroupsResponse
        search_matrix_pairs(SearchMatrixPoints) -> SearchMatrixPairsResponse
        search_matrix_offsets(SearchMatrixPoints) -> SearchMatrixOffsetsResponse
    }
}

fn search(shard: &EdgeShard, request: QueryPoints) -> Result<Vec<WireScored>, Status> {
    let nearest = match request.query.and_then(|query| query.variant) {
        Some(query::Variant::Nearest(nearest)) => nearest,
        None => return filtered(shard, request.filter, request.limit),
        Some(_) => return Err(Status::unimplemented("queries other than for the nearest")),
    };
    let vector = match nearest.variant {
        Some(vector_input::Variant::Dense(dense)) => VectorInternal::Dense(dense.data),
        Some(vector_input::Variant::Sparse(sparse)) => VectorInternal::Sparse(
            SparseVector::new(sparse.indices, sparse.values)
                .map_err(|error| Status::invalid_argument(error.to_string()))?,
        ),
        Some(_) | None => return Err(Status::unimplemented("this kind of vector")),
    };
    let include = match request
        .with_payload
        .and_then(|wanted| wanted.selector_options)
    {
        Some(SelectorOptions::Include(fields)) => {
            fields.fields.iter().map(|field| path(field)).collect()
        }
        Some(_) | None => Vec::new(),
    };
    let found = answered(shard.search(SearchRequest {
        query: QueryEnum::Nearest(NamedQuery {
            query: vector,
            using: request.using,
        }),
        filter: some_filter(request.filter)?,
        params: None,
        limit: usize::try_from(request.limit.unwrap_or(10)).unwrap_or(10),
        offset: 0,
        with_payload: Some(WithPayloadInterface::Selector(PayloadSelector::Include(
            PayloadSelectorInclude { include },
        ))),
        with_vector: None,
        score_threshold: None,
    }))?;
    Ok(found
        .into_iter()
        .map(|point| WireScored {
            id: Some(wire_id(point.id)),
            payload: point
                .payload
                .map(|found| payload(found.0))
                .unwrap_or_default(),
            score: point.score,
            version: point.version,
            ..WireScored::default()
        })
        .collect())
}

/// The points of a query that has a filter alone, with their payload.
fn filtered(
    shard: &EdgeShard,
    filter: Option<WireFilter>,
    limit: Option<u64>,
) -> Result<Vec<WireScored>, Status> {
    let page = ScrollRequest {
        offset: None,
        limit: Some(usize::try_from(limit.unwrap_or(10)).unwrap_or(10)),
        filter: some_filter(filter)?,
        with_payload: Some(WithPayloadInterface::Bool(true)),
        with_vector: WithVector::Bool(false),
        order_by: None,
    };
    let (found, _) = answered(shard.scroll(page))?;
    let scored = |record: Record| WireScored {
        id: Some(wire_id(record.id)),
        payload: record
            .payload
            .map(|found| payload(found.0))
            .unwrap_or_default(),
        ..WireScored::default()
    };
    Ok(found.into_iter().map(scored).collect())
}

/// Qdrant's answer to a write for which its disk has no room.
fn full_disk() -> Status {
    Status::internal(
        "Service internal error: No space left on device: WAL buffer size exceeds available disk space",
    )
}

fn some_filter(wire: Option<WireFilter>) -> Result<Option<Filter>, Status> {
    wire.map(filter).transpose()
}

fn change(shard: &EdgeShard, operation: PointOperations) -> Result<(), Status> {
    answered(shard.update(UpdateOperation::PointOperation(operation)))
}

fn answered<T>(result: OperationResult<T>) -> Result<T, Status> {
    result.map_err(|error| match &error {
        OperationError::WrongVectorDimension { .. }
        | OperationError::VectorNameNotExists { .. }
        | OperationError::ValidationError { .. } => Status::invalid_argument(error.to_string()),
        _ => Status::internal(error.to_string()),
    })
}

fn completed() -> UpdateResult {
    UpdateResult {
        operation_id: Some(0),
        status: UpdateStatus::Completed.into(),
    }
}

fn done() -> Result<Response<PointsOperationResponse>, Status> {
    Ok(Response::new(PointsOperationResponse {
        result: Some(completed()),
        ..PointsOperationResponse::default()
    }))
}
