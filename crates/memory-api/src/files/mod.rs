//! The file service, and the metadata of files in answers.

mod annotate;

use memory_context::read_contents;
use memory_contract::proto::file_service_server::FileService;
use memory_contract::proto::{
    DeleteFileRequest, DeleteFileResponse, GetFileContentRequest, GetFileContentResponse,
    GetFileRequest, GetFileResponse, ListFilesRequest, ListFilesResponse, RegisterFileRequest,
    RegisterFileResponse,
};
use memory_contract::{
    Invalid,
    convert::{file_location_from, new_file_from, transfer_method_from},
    file::{ContentDigest, FileLocation},
    limits,
    page::PageToken,
};
use memory_grpc::{ApiError, caller_of};
use memory_store::{Registered, Store, StoreError};
use tonic::{Request, Response, Status, async_trait};

pub(super) use annotate::{add_metadata, annotate, references, references_in, with_metadata};

use memory_grpc::request::{Fields, next_token, page_limit};

/// Implements `FileService`.
#[derive(Clone)]
pub struct Files {
    pub(crate) store: Store,
}

#[async_trait]
impl FileService for Files {
    async fn register_file(
        &self,
        request: Request<RegisterFileRequest>,
    ) -> Result<Response<RegisterFileResponse>, Status> {
        Ok(Response::new(self.register(request).await?))
    }

    async fn get_file(
        &self,
        request: Request<GetFileRequest>,
    ) -> Result<Response<GetFileResponse>, Status> {
        Ok(Response::new(self.get(request).await?))
    }

    async fn get_file_content(
        &self,
        request: Request<GetFileContentRequest>,
    ) -> Result<Response<GetFileContentResponse>, Status> {
        Ok(Response::new(self.content(request).await?))
    }

    async fn list_files(
        &self,
        request: Request<ListFilesRequest>,
    ) -> Result<Response<ListFilesResponse>, Status> {
        Ok(Response::new(self.list(request).await?))
    }

    async fn delete_file(
        &self,
        request: Request<DeleteFileRequest>,
    ) -> Result<Response<DeleteFileResponse>, Status> {
        Ok(Response::new(self.delete(request).await?))
    }
}

impl Files {
    /// Handles `RegisterFile`.
    pub async fn register(
        &self,
        request: Request<RegisterFileRequest>,
    ) -> Result<RegisterFileResponse, ApiError> {
        let caller = caller_of(&request)?;
        let RegisterFileRequest { file } = request.into_inner();
        let file = new_file_from("file", file)?;
        let Registered { file, created } = self.store.files(&caller).register_file(file).await?;
        Ok(RegisterFileResponse {
            file: Some(file.into()),
            created,
        })
    }

    /// Handles `GetFile`.
    pub async fn get(&self, request: Request<GetFileRequest>) -> Result<GetFileResponse, ApiError> {
        let caller = caller_of(&request)?;
        let GetFileRequest { location } = request.into_inner();
        let location = file_location_from(location.map(FileLocation::from))?;
        let file = self.store.files(&caller).get_file(&location).await?;
        Ok(GetFileResponse {
            file: Some(file.into()),
        })
    }

    async fn content(
        &self,
        request: Request<GetFileContentRequest>,
    ) -> Result<GetFileContentResponse, ApiError> {
        let caller = caller_of(&request)?;
        let GetFileContentRequest { url } = request.into_inner();
        let digest = ContentDigest::from_url(&url)
            .ok_or_else(|| Invalid::new("url", "is required: ni:///sha-256; and a digest"))?;
        let contents =
            read_contents(&self.store, &caller, &[digest], limits::MESSAGE_BYTES).await?;
        let content = contents.into_values().next();
        Ok(GetFileContentResponse {
            content: content.ok_or(StoreError::FileNotFound)?,
        })
    }

    async fn list(
        &self,
        request: Request<ListFilesRequest>,
    ) -> Result<ListFilesResponse, ApiError> {
        let caller = caller_of(&request)?;
        let ListFilesRequest {
            page_size,
            page_token,
            transfer_method,
        } = request.into_inner();
        let identity = ("files", caller.tenant.as_str(), transfer_method);
        let mut fields = Fields::default();
        let limit = fields.take(page_limit(page_size));
        let method = fields.take(transfer_method_from(transfer_method));
        let after = fields.take(PageToken::key(&identity, &page_token));
        fields.end()?;
        let page = self
            .store
            .files(&caller)
            .list_files(method, after, limit)
            .await?;
        Ok(ListFilesResponse {
            files: page.items.into_iter().map(Into::into).collect(),
            next_page_token: next_token(&identity, page.next),
        })
    }

    async fn delete(
        &self,
        request: Request<DeleteFileRequest>,
    ) -> Result<DeleteFileResponse, ApiError> {
        let caller = caller_of(&request)?;
        let DeleteFileRequest { location } = request.into_inner();
        let location = file_location_from(location.map(FileLocation::from))?;
        let deleted = self.store.files(&caller).delete_file(&location).await?;
        Ok(DeleteFileResponse { deleted })
    }
}
