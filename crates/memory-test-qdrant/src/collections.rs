//! Qdrant's collections service.

use std::fs;
use std::sync::Arc;

use qdrant_client::qdrant::{
    AliasDescription, ChangeAliases, CollectionDescription, CollectionExists,
    CollectionExistsRequest, CollectionExistsResponse, CollectionInfo, CollectionOperationResponse,
    CreateAlias, CreateCollection, DeleteAlias, DeleteCollection, Distance as WireDistance,
    GetCollectionInfoRequest, GetCollectionInfoResponse, ListAliasesRequest, ListAliasesResponse,
    ListCollectionsRequest, ListCollectionsResponse, PayloadSchemaInfo, UpdateCollection,
    alias_operations::Action, collections_server::Collections, vectors_config::Config,
};
use qdrant_edge::{
    Distance, EdgeConfig, EdgeShard, EdgeSparseVectorParams, EdgeVectorParams,
    ScalarQuantizationConfig, ScalarType,
};
use tonic::{Request, Response, Status};

use crate::state::{State, refused};

#[tonic::async_trait]
impl Collections for State {
    async fn create(
        &self,
        request: Request<CreateCollection>,
    ) -> Result<Response<CollectionOperationResponse>, Status> {
        let request = self.meet(request).await?;
        let config = config(&request)?;
        let mut inner = self.lock();
        let name = request.collection_name;
        if inner.collections.contains_key(&name) || inner.aliases.contains_key(&name) {
            return Err(Status::already_exists(format!(
                "Collection `{name}` already exists!"
            )));
        }
        inner.made += 1;
        let directory = self.directory.join(inner.made.to_string());
        fs::create_dir_all(&directory)?;
        let shard = EdgeShard::new(&directory, config)
            .map_err(|error| Status::internal(error.to_string()))?;
        inner.collections.insert(name, Arc::new(shard));
        done()
    }

    async fn collection_exists(
        &self,
        request: Request<CollectionExistsRequest>,
    ) -> Result<Response<CollectionExistsResponse>, Status> {
        let name = self.meet(request).await?.collection_name;
        Ok(Response::new(CollectionExistsResponse {
            result: Some(CollectionExists {
                exists: self.shard(&name).is_ok(),
            }),
            time: 0.0,
        }))
    }

    async fn get(
        &self,
        request: Request<GetCollectionInfoRequest>,
    ) -> Result<Response<GetCollectionInfoResponse>, Status> {
        let name = self.meet(request).await?.collection_name;
        let shard = self.shard(&name)?;
        let indexed = shard.info().payload_schema;
        let indexed = indexed
            .into_keys()
            .map(|field| (field.to_string(), PayloadSchemaInfo::default()));
        Ok(Response::new(GetCollectionInfoResponse {
            result: Some(CollectionInfo {
                payload_schema: indexed.collect(),
                ..CollectionInfo::default()
            }),
            ..GetCollectionInfoResponse::default()
        }))
    }

    async fn update(
        &self,
        _: Request<UpdateCollection>,
    ) -> Result<Response<CollectionOperationResponse>, Status> {
        Err(Status::unimplemented("the change of a collection"))
    }

    async fn delete(
        &self,
        request: Request<DeleteCollection>,
    ) -> Result<Response<CollectionOperationResponse>, Status> {
        let name = self.meet(request).await?.collection_name;
        let mut inner = self.lock();
        let existed = inner.collections.remove(&name).is_some();
        inner.aliases.retain(|_, collection| *collection != name);
        Ok(Response::new(CollectionOperationResponse {
            result: existed,
            time: 0.0,
        }))
    }

    async fn update_aliases(
        &self,
        request: Request<ChangeAliases>,
    ) -> Result<Response<CollectionOperationResponse>, Status> {
        let request = self.meet(request).await?;
        let mut inner = self.lock();
        for action in request
            .actions
            .into_iter()
            .filter_map(|operation| operation.action)
        {
            match action {
                Action::CreateAlias(CreateAlias {
                    collection_name,
                    alias_name,
                }) => {
                    if !inner.collections.contains_key(&collection_name) {
                        return Err(Status::not_found(collection_name));
                    }
                    inner.aliases.insert(alias_name, collection_name);
                }
                Action::DeleteAlias(DeleteAlias { alias_name }) => {
                    inner.aliases.remove(&alias_name);
                }
                Action::RenameAlias(_) => {
                    return Err(Status::unimplemented("renaming an alias"));
                }
            }
        }
        done()
    }

    async fn list_aliases(
        &self,
        request: Request<ListAliasesRequest>,
    ) -> Result<Response<ListAliasesResponse>, Status> {
        self.meet(request).await?;
        let aliases = self.lock().aliases.clone();
        let describe = |(alias_name, collection_name)| AliasDescription {
            alias_name,
            collection_name,
        };
        Ok(Response::new(ListAliasesResponse {
            aliases: aliases.into_iter().map(describe).collect(),
            time: 0.0,
        }))
    }

    async fn list(
        &self,
        request: Request<ListCollectionsRequest>,
    ) -> Result<Response<ListCollectionsResponse>, Status> {
        self.meet(request).await?;
        let names: Vec<String> = self.lock().collections.keys().cloned().collect();
        let describe = |name| CollectionDescription { name };
        Ok(Response::new(ListCollectionsResponse {
            collections: names.into_iter().map(describe).collect(),
            time: 0.0,
        }))
    }

    refused! {
        list_collection_aliases(ListCollectionAliasesRequest) -> ListAliasesResponse
        collection_cluster_info(CollectionClusterInfoRequest) -> CollectionClusterInfoResponse
        update_collection_cluster_setup(UpdateCollectionClusterSetupRequest) -> UpdateCollectionClusterSetupResponse
        create_shard_key(CreateShardKeyRequest) -> CreateShardKeyResponse
        delete_shard_key(DeleteShardKeyRequest) -> DeleteShardKeyResponse
        list_shard_keys(ListShardKeysRequest) -> ListShardKeysResponse
    }
}

fn config(request: &CreateCollection) -> Result<EdgeConfig, Status> {
    let mut config = EdgeConfig::builder().on_disk_payload(false);
    let vectors = request
        .vectors_config
        .as_ref()
        .and_then(|vectors| vectors.config.as_ref());
    match vectors {
        Some(Config::ParamsMap(named)) => {
            for (name, params) in &named.map {
                if params.distance() != WireDistance::Cosine {
                    return Err(Status::unimplemented("distances other than cosine"));
                }
                let size = usize::try_from(params.size).unwrap_or_default();
                let mut vector = EdgeVectorParams::builder(size, Distance::Cosine);
                if params.quantization_config.is_some() {
                    let int8 = ScalarQuantizationConfig {
                        r#type: ScalarType::Int8,
                        quantile: None,
                        always_ram: None,
                    };
                    vector = vector.quantization_config(int8.into());
                }
                config = config.vector(name, vector.build());
            }
        }
        Some(Config::Params(_)) => return Err(Status::unimplemented("vectors without a name")),
        None => {}
    }
    let sparse = request
        .sparse_vectors_config
        .as_ref()
        .map(|sparse| &sparse.map);
    for name in sparse.into_iter().flat_map(|sparse| sparse.keys()) {
        config = config.sparse_vector(name, EdgeSparseVectorParams::builder().build());
    }
    Ok(config.build())
}

fn done() -> Result<Response<CollectionOperationResponse>, Status> {
    Ok(Response::new(CollectionOperationResponse {
        result: true,
        time: 0.0,
    }))
}
