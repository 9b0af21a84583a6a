//! The document service.

mod request;

use memory_agent_contract::document::NewDocument;
use memory_agent_contract::memory_file::{FILES, RESERVED};
use memory_contract::proto::document_service_server::DocumentService;
use memory_contract::proto::{
    self, DeleteDocumentsRequest, DeleteDocumentsResponse, ExportedDocument, GetDocumentsRequest,
    GetDocumentsResponse, ListNamespacesRequest, ListNamespacesResponse, Namespace,
    PutDocumentsRequest, PutDocumentsResponse, SearchDocumentsRequest, SearchDocumentsResponse,
    UserRef,
};
use memory_contract::{limits, memory::MemoryOwner, page::PageToken};
use memory_grpc::request::{Fields, next_token, required_user_from};
use memory_grpc::{ApiError, caller_of};
use memory_recall::{FoundDocuments, Recall};
use memory_store::{Caller, FoundDocument, ReadDocuments, Store, check_reserved};
use prost::Message as _;
use tonic::{Request, Response, Status, async_trait};

use self::request::{
    document_names_from, document_query_from, documents_from, exported_document_from,
    namespace_query_from,
};
use super::recall::{degradation, searched_by};
use crate::storage_quota::{Amount, StorageQuotas};

/// Implements `DocumentService`.
#[derive(Clone)]
pub struct Documents {
    pub(crate) store: Store,
    pub(crate) recall: Recall,
    pub(crate) quotas: StorageQuotas,
}

#[async_trait]
impl DocumentService for Documents {
    async fn put_documents(
        &self,
        request: Request<PutDocumentsRequest>,
    ) -> Result<Response<PutDocumentsResponse>, Status> {
        Ok(Response::new(self.put(request).await?))
    }

    async fn get_documents(
        &self,
        request: Request<GetDocumentsRequest>,
    ) -> Result<Response<GetDocumentsResponse>, Status> {
        Ok(Response::new(self.get(request).await?))
    }

    async fn search_documents(
        &self,
        request: Request<SearchDocumentsRequest>,
    ) -> Result<Response<SearchDocumentsResponse>, Status> {
        Ok(Response::new(self.search(request).await?))
    }

    async fn list_namespaces(
        &self,
        request: Request<ListNamespacesRequest>,
    ) -> Result<Response<ListNamespacesResponse>, Status> {
        Ok(Response::new(self.list(request).await?))
    }

    async fn delete_documents(
        &self,
        request: Request<DeleteDocumentsRequest>,
    ) -> Result<Response<DeleteDocumentsResponse>, Status> {
        Ok(Response::new(self.delete(request).await?))
    }
}

impl Documents {
    async fn put(
        &self,
        request: Request<PutDocumentsRequest>,
    ) -> Result<PutDocumentsResponse, ApiError> {
        let caller = caller_of(&request)?;
        let request = request.into_inner();
        let bytes = request.encoded_len();
        let PutDocumentsRequest { user, documents } = request;
        let mut fields = Fields::default();
        let owner = owner_from(&mut fields, user);
        let documents = fields.get_all(documents_from("documents", documents));
        let (owner, documents) = fields.all(owner.zip(documents))?;
        let created_count = self.store(&caller, &owner, &documents, bytes).await?;
        Ok(PutDocumentsResponse { created_count })
    }

    /// The stored document that has the name of an exported one.
    pub async fn exported(
        &self,
        caller: &Caller,
        named: &ExportedDocument,
    ) -> Result<Option<ExportedDocument>, ApiError> {
        let mut fields = Fields::default();
        let owner = owner_of(&mut fields, named);
        let document = fields.get_all(exported_document_from(named.clone()));
        let (owner, document) = fields.all(owner.zip(document))?;
        let documents = self.store.documents(caller);
        let found = documents.exported_document(&owner, &document.name).await?;
        Ok(found.map(Into::into))
    }

    /// Stores an exported document in place of one with its name. In a namespace of Recollect's own it
    /// must be one that a call may have stored.
    pub async fn put_exported(
        &self,
        caller: &Caller,
        document: ExportedDocument,
    ) -> Result<(), ApiError> {
        let bytes = document.encoded_len();
        let mut fields = Fields::default();
        let owner = owner_of(&mut fields, &document);
        let document = fields.get_all(exported_document_from(document));
        let (owner, document) = fields.all(owner.zip(document))?;
        let label = document.name.namespace.first().map(String::as_str);
        if label.is_some_and(|label| label.starts_with(RESERVED)) {
            check_reserved(&document)?;
        }
        if label == Some(FILES) {
            let wanted = || Amount::of_request(0, bytes);
            let _admitted = self.quotas.admit(caller, wanted).await?;
            let files = self.store.memory_files(caller);
            files.import(&owner, &document).await?;
            return Ok(());
        }
        self.store(caller, &owner, &[document], bytes).await?;
        Ok(())
    }

    /// Stores documents of a request of this many bytes. Returns how many are new.
    async fn store(
        &self,
        caller: &Caller,
        owner: &MemoryOwner,
        documents: &[NewDocument],
        bytes: usize,
    ) -> Result<i64, ApiError> {
        let wanted = || Amount::of_request(0, bytes);
        let _admitted = self.quotas.admit(caller, wanted).await?;
        let stored = self.store.documents(caller);
        Ok(stored.put_documents(owner, documents).await?)
    }

    async fn get(
        &self,
        request: Request<GetDocumentsRequest>,
    ) -> Result<GetDocumentsResponse, ApiError> {
        let caller = caller_of(&request)?;
        let GetDocumentsRequest {
            user,
            documents,
            refresh_ttl,
        } = request.into_inner();
        let mut fields = Fields::default();
        let owner = owner_from(&mut fields, user);
        let names = fields.get_all(document_names_from("documents", documents));
        let (owner, names) = fields.all(owner.zip(names))?;
        let ReadDocuments { documents, read } = self
            .store
            .documents(&caller)
            .get_documents(&owner, &names, refresh_ttl)
            .await?;
        Ok(GetDocumentsResponse {
            documents: documents.into_iter().map(Into::into).collect(),
            read_count: count(read),
        })
    }

    async fn search(
        &self,
        request: Request<SearchDocumentsRequest>,
    ) -> Result<SearchDocumentsResponse, ApiError> {
        let caller = caller_of(&request)?;
        let mut request = request.into_inner();
        let identity = (
            "documents",
            caller.tenant.as_str(),
            SearchDocumentsRequest {
                page_size: 0,
                page_token: String::new(),
                skip: 0,
                ..request.clone()
            }
            .encode_to_vec(),
        );
        let mut fields = Fields::default();
        let start = fields.take(PageToken::key(&identity, &request.page_token));
        let owner = owner_from(&mut fields, request.user.take());
        let query = fields.get_all(document_query_from(request));
        let (owner, mut query) = fields.all(owner.zip(query))?;
        query.offset = start_of(start, query.offset);
        let FoundDocuments {
            found: page,
            method,
            degradations,
        } = self.recall.documents(&caller, &owner, &query).await?;
        let asks = !query.text.trim().is_empty();
        Ok(SearchDocumentsResponse {
            next_page_token: next_token(
                &identity,
                next(query.offset, page.documents.len(), page.more)
                    .filter(|next| !asks || *next <= i64::from(limits::MATCHED_OFFSET_MAX)),
            ),
            documents: page.documents.into_iter().map(found).collect(),
            degradations: degradations.into_iter().map(degradation).collect(),
            method: searched_by(method),
        })
    }

    async fn list(
        &self,
        request: Request<ListNamespacesRequest>,
    ) -> Result<ListNamespacesResponse, ApiError> {
        let caller = caller_of(&request)?;
        let mut request = request.into_inner();
        let identity = (
            "namespaces",
            caller.tenant.as_str(),
            ListNamespacesRequest {
                page_size: 0,
                page_token: String::new(),
                skip: 0,
                ..request.clone()
            }
            .encode_to_vec(),
        );
        let mut fields = Fields::default();
        let start = fields.take(PageToken::key(&identity, &request.page_token));
        let owner = owner_from(&mut fields, request.user.take());
        let query = fields.get_all(namespace_query_from(request));
        let (owner, mut query) = fields.all(owner.zip(query))?;
        query.offset = start_of(start, query.offset);
        let (namespaces, more) = self
            .store
            .documents(&caller)
            .list_namespaces(&owner, &query)
            .await?;
        Ok(ListNamespacesResponse {
            next_page_token: next_token(&identity, next(query.offset, namespaces.len(), more)),
            namespaces: namespaces
                .into_iter()
                .map(|labels| Namespace { labels })
                .collect(),
        })
    }

    async fn delete(
        &self,
        request: Request<DeleteDocumentsRequest>,
    ) -> Result<DeleteDocumentsResponse, ApiError> {
        let caller = caller_of(&request)?;
        let DeleteDocumentsRequest { user, documents } = request.into_inner();
        let mut fields = Fields::default();
        let owner = owner_from(&mut fields, user);
        let names = fields.get_all(document_names_from("documents", documents));
        let (owner, names) = fields.all(owner.zip(names))?;
        let deleted = self.store.documents(&caller);
        Ok(DeleteDocumentsResponse {
            deleted_count: deleted.delete_documents(&owner, &names).await?,
        })
    }
}

fn owner_from(fields: &mut Fields, user: Option<UserRef>) -> Option<MemoryOwner> {
    let (app, user) = fields.get_all(required_user_from(user))?;
    Some(MemoryOwner { app, user })
}

fn owner_of(fields: &mut Fields, document: &ExportedDocument) -> Option<MemoryOwner> {
    let user = UserRef {
        app_id: document.app_id.clone(),
        user_id: document.user_id.clone(),
    };
    owner_from(fields, Some(user))
}

fn found(found: FoundDocument) -> proto::FoundDocument {
    let FoundDocument { document, score } = found;
    proto::FoundDocument {
        document: Some(document.into()),
        score,
    }
}

fn count(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

/// The place of the first entry of the next page; `None` after the last one.
fn next(offset: u32, returned: usize, more: bool) -> Option<i64> {
    more.then(|| i64::from(count(returned)) + i64::from(offset))
}

/// The place where a page starts: that of its token, and as many entries after it as are to
/// be skipped.
fn start_of(token: Option<i64>, skip: u32) -> u32 {
    let start = token.map_or(0, |start| u32::try_from(start).unwrap_or_default());
    start.saturating_add(skip)
}
