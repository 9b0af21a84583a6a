//! The service for files of agents.

mod compare;
mod directory;
mod lines;
mod request;

use memory_agent_contract::memory_file::{FileEdit, FileLines, FilePath};
use memory_contract::limits;
use memory_contract::memory::MemoryOwner;
use memory_contract::precondition::Precondition;
use memory_contract::proto::get_memory_file_response::Entry;
use memory_contract::proto::memory_file_service_server::MemoryFileService;
use memory_contract::proto::{
    CompareMemoryFileVersionsRequest, CompareMemoryFileVersionsResponse, DeleteMemoryFileRequest,
    DeleteMemoryFileResponse, FoundMemoryFile, GetMemoryFileRequest, GetMemoryFileResponse,
    InsertIntoMemoryFileRequest, InsertIntoMemoryFileResponse, ListMemoryFileVersionsRequest,
    ListMemoryFileVersionsResponse, MemoryFileContent, PutMemoryFileRequest, PutMemoryFileResponse,
    RenameMemoryFileRequest, RenameMemoryFileResponse, ReplaceInMemoryFileRequest,
    ReplaceInMemoryFileResponse, RestoreMemoryFileRequest, RestoreMemoryFileResponse,
    SearchMemoryFilesRequest, SearchMemoryFilesResponse,
};
use memory_grpc::{ApiError, caller_of};
use memory_recall::{FoundDocuments, Recall};
use memory_store::{
    Caller, ChangedFile, ComparedVersions, FoundDocument, FoundPath, Store, StoreError,
    memory_file_of,
};
use tonic::{Request, Response, Status, async_trait};

use self::compare::unified_diff;
use self::directory::directory;
use self::lines::{Comparison, matching_lines, shown_around};
use self::request::{
    Wanted, compared_from, deleted_from, inserted_from, put_from, renamed_from, replaced_from,
    restored_from, searched_from, versions_from, wanted_from,
};
use super::recall::{degradation, searched_by};
use crate::storage_quota::{Amount, StorageQuotas};

/// About the most bytes of what a search matches of a file: the text that has a vector, and the words of
/// the first 64 KiB.
const INDEXED_BYTES: usize = 96 * 1024;

/// Implements `MemoryFileService`.
#[derive(Clone)]
pub struct MemoryFiles {
    pub(crate) store: Store,
    pub(crate) recall: Recall,
    pub(crate) quotas: StorageQuotas,
}

#[async_trait]
impl MemoryFileService for MemoryFiles {
    async fn get_memory_file(
        &self,
        request: Request<GetMemoryFileRequest>,
    ) -> Result<Response<GetMemoryFileResponse>, Status> {
        Ok(Response::new(self.get(request).await?))
    }

    async fn put_memory_file(
        &self,
        request: Request<PutMemoryFileRequest>,
    ) -> Result<Response<PutMemoryFileResponse>, Status> {
        Ok(Response::new(self.put(request).await?))
    }

    async fn replace_in_memory_file(
        &self,
        request: Request<ReplaceInMemoryFileRequest>,
    ) -> Result<Response<ReplaceInMemoryFileResponse>, Status> {
        Ok(Response::new(self.replace(request).await?))
    }

    async fn insert_into_memory_file(
        &self,
        request: Request<InsertIntoMemoryFileRequest>,
    ) -> Result<Response<InsertIntoMemoryFileResponse>, Status> {
        Ok(Response::new(self.insert(request).await?))
    }

    async fn delete_memory_file(
        &self,
        request: Request<DeleteMemoryFileRequest>,
    ) -> Result<Response<DeleteMemoryFileResponse>, Status> {
        Ok(Response::new(self.delete(request).await?))
    }

    async fn rename_memory_file(
        &self,
        request: Request<RenameMemoryFileRequest>,
    ) -> Result<Response<RenameMemoryFileResponse>, Status> {
        Ok(Response::new(self.rename(request).await?))
    }

    async fn search_memory_files(
        &self,
        request: Request<SearchMemoryFilesRequest>,
    ) -> Result<Response<SearchMemoryFilesResponse>, Status> {
        Ok(Response::new(self.search(request).await?))
    }

    async fn list_memory_file_versions(
        &self,
        request: Request<ListMemoryFileVersionsRequest>,
    ) -> Result<Response<ListMemoryFileVersionsResponse>, Status> {
        Ok(Response::new(self.versions(request).await?))
    }

    async fn compare_memory_file_versions(
        &self,
        request: Request<CompareMemoryFileVersionsRequest>,
    ) -> Result<Response<CompareMemoryFileVersionsResponse>, Status> {
        Ok(Response::new(self.compare(request).await?))
    }

    async fn restore_memory_file(
        &self,
        request: Request<RestoreMemoryFileRequest>,
    ) -> Result<Response<RestoreMemoryFileResponse>, Status> {
        Ok(Response::new(self.restore(request).await?))
    }
}

impl MemoryFiles {
    async fn get(
        &self,
        request: Request<GetMemoryFileRequest>,
    ) -> Result<GetMemoryFileResponse, ApiError> {
        let caller = caller_of(&request)?;
        let Wanted {
            owner,
            path,
            first_line,
            last_line,
            version,
            depth,
        } = wanted_from(request.into_inner())?;
        let files = self.store.memory_files(&caller);
        let found = match version {
            Some(version) => FoundPath::File(files.version(&owner, &path, version).await?),
            None => files.get(&owner, &path).await?,
        };
        let entry = match found {
            FoundPath::File(file) => Entry::File(MemoryFileContent {
                file: Some((&file).into()),
                lines: Some(FileLines::of(&file.text, first_line, last_line).into()),
            }),
            FoundPath::Directory(files, truncated) => {
                Entry::Directory(directory(&path, &files, truncated, depth))
            }
        };
        Ok(GetMemoryFileResponse { entry: Some(entry) })
    }

    async fn put(
        &self,
        request: Request<PutMemoryFileRequest>,
    ) -> Result<PutMemoryFileResponse, ApiError> {
        let caller = caller_of(&request)?;
        let change = put_from(request.into_inner())?;
        let changed = self.edit(&caller, change).await?;
        Ok(PutMemoryFileResponse {
            file: Some((&changed.file).into()),
            created: changed.created,
        })
    }

    async fn replace(
        &self,
        request: Request<ReplaceInMemoryFileRequest>,
    ) -> Result<ReplaceInMemoryFileResponse, ApiError> {
        let caller = caller_of(&request)?;
        let change = replaced_from(request.into_inner())?;
        let changed = self.edit(&caller, change).await?;
        Ok(ReplaceInMemoryFileResponse {
            file: Some((&changed.file).into()),
            lines: Some(shown_around(&changed.file.text, changed.line).into()),
        })
    }

    async fn insert(
        &self,
        request: Request<InsertIntoMemoryFileRequest>,
    ) -> Result<InsertIntoMemoryFileResponse, ApiError> {
        let caller = caller_of(&request)?;
        let change = inserted_from(request.into_inner())?;
        let changed = self.edit(&caller, change).await?;
        Ok(InsertIntoMemoryFileResponse {
            file: Some((&changed.file).into()),
            lines: Some(shown_around(&changed.file.text, changed.line).into()),
        })
    }

    async fn restore(
        &self,
        request: Request<RestoreMemoryFileRequest>,
    ) -> Result<RestoreMemoryFileResponse, ApiError> {
        let caller = caller_of(&request)?;
        let change = restored_from(request.into_inner())?;
        let changed = self.edit(&caller, change).await?;
        Ok(RestoreMemoryFileResponse {
            file: Some((&changed.file).into()),
        })
    }

    /// Changes the text of a file.
    async fn edit(
        &self,
        caller: &Caller,
        (owner, path, precondition, edit): (MemoryOwner, FilePath, Precondition, FileEdit),
    ) -> Result<ChangedFile, ApiError> {
        let wanted = || most_stored(&edit);
        let admitted = self.quotas.admit(caller, wanted).await?;
        let files = self.store.memory_files(caller);
        let changed = files.edit(&owner, &path, &precondition, &edit).await;
        match &changed {
            Ok(changed) => admitted.stored(Amount {
                messages: 0,
                bytes: changed.stored_bytes,
            }),
            Err(StoreError::MemoryFile(_) | StoreError::EtagChanged { .. }) => {
                admitted.stored(Amount::default());
            }
            // What is stored is not known.
            Err(_) => {}
        }
        Ok(changed?)
    }

    async fn delete(
        &self,
        request: Request<DeleteMemoryFileRequest>,
    ) -> Result<DeleteMemoryFileResponse, ApiError> {
        let caller = caller_of(&request)?;
        let (owner, path, precondition, erase) = deleted_from(request.into_inner())?;
        let files = self.store.memory_files(&caller);
        Ok(DeleteMemoryFileResponse {
            deleted_count: files.delete(&owner, &path, &precondition, erase).await?,
        })
    }

    async fn rename(
        &self,
        request: Request<RenameMemoryFileRequest>,
    ) -> Result<RenameMemoryFileResponse, ApiError> {
        let caller = caller_of(&request)?;
        let (owner, path, new_path, precondition) = renamed_from(request.into_inner())?;
        let files = self.store.memory_files(&caller);
        Ok(RenameMemoryFileResponse {
            renamed_count: files
                .rename(&owner, &path, &new_path, &precondition)
                .await?,
        })
    }

    async fn search(
        &self,
        request: Request<SearchMemoryFilesRequest>,
    ) -> Result<SearchMemoryFilesResponse, ApiError> {
        let caller = caller_of(&request)?;
        let (owner, query) = searched_from(request.into_inner())?;
        let FoundDocuments {
            found: page,
            method,
            degradations,
        } = self.recall.documents(&caller, &owner, &query).await?;
        let documents = page.documents;
        let files = tokio::task::spawn_blocking(move || found_files(&query.text, &documents));
        Ok(SearchMemoryFilesResponse {
            files: files.await.map_err(ApiError::Task)?,
            degradations: degradations.into_iter().map(degradation).collect(),
            method: searched_by(method),
        })
    }

    async fn versions(
        &self,
        request: Request<ListMemoryFileVersionsRequest>,
    ) -> Result<ListMemoryFileVersionsResponse, ApiError> {
        let caller = caller_of(&request)?;
        let (owner, path) = versions_from(request.into_inner())?;
        let files = self.store.memory_files(&caller);
        let (versions, deleted) = files.versions(&owner, &path).await?;
        Ok(ListMemoryFileVersionsResponse {
            versions: versions.into_iter().map(Into::into).collect(),
            deleted,
        })
    }

    async fn compare(
        &self,
        request: Request<CompareMemoryFileVersionsRequest>,
    ) -> Result<CompareMemoryFileVersionsResponse, ApiError> {
        let caller = caller_of(&request)?;
        let (owner, path, from, to) = compared_from(request.into_inner())?;
        let files = self.store.memory_files(&caller);
        let ComparedVersions { from, to } = files.compare(&owner, &path, from, to).await?;
        let (from_version, to_version) = (from.0, to.0);
        let diff = tokio::task::spawn_blocking(move || unified_diff(&path, &from, &to));
        Ok(CompareMemoryFileVersionsResponse {
            diff: diff.await.map_err(ApiError::Task)?,
            from_version,
            to_version,
        })
    }
}

/// The most bytes that a change may store: the file, a version with the same text, and what a search
/// matches.
fn most_stored(edit: &FileEdit) -> Amount {
    let text = match edit {
        FileEdit::Put { text } => text.len(),
        FileEdit::Replace { .. } | FileEdit::Insert { .. } | FileEdit::Restore { .. } => {
            limits::MEMORY_FILE_BYTES
        }
    };
    Amount::of_request(0, 2 * text + text.min(INDEXED_BYTES))
}

/// The files that a search has found, with the lines that match. Documents without a score do not
/// match.
fn found_files(query: &str, documents: &[FoundDocument]) -> Vec<FoundMemoryFile> {
    let mut comparison = Comparison::new(query);
    let files = documents.iter().filter_map(|found| {
        let FoundDocument { document, score } = found;
        let score = score.filter(|score| *score > 0.0)?;
        let file = memory_file_of(document);
        let lines = matching_lines(&mut comparison, &file.text);
        Some(FoundMemoryFile {
            file: Some((&file).into()),
            score: score.min(1.0),
            lines: lines.into_iter().map(Into::into).collect(),
        })
    });
    files.collect()
}
