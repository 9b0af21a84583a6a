//! Reads files, directories and versions.

use memory_agent_contract::document::DocumentName;
use memory_agent_contract::memory_file::{FILES, FilePath, FileVersion, MemoryFile};
use memory_contract::{limits, memory::MemoryOwner};
use memory_database::{MemoryFileError, StoreError, rows::column};
use memory_postgres::{Params, Query, query};
use time::OffsetDateTime;
use tokio_postgres::Row;

use super::begin::Place;
use super::stored::{Gone, file_of, version_name, versions_of};
use crate::MemoryFileStore;
use crate::document_calls::{list, owner_digest};

/// The query for the files below a directory.
pub(super) const LIST: Query = query!("memory_files/list");

/// What was found at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FoundPath {
    /// A file.
    File(MemoryFile),
    /// A directory: the files below it by path, and whether there are more.
    Directory(Vec<ListedFile>, bool),
}

/// A file without its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedFile {
    /// Where it is.
    pub path: FilePath,
    /// What stays when it is renamed.
    pub id: String,
    /// The number of the version.
    pub version: i64,
    /// Bytes of the text.
    pub bytes: i64,
    /// When the text was last changed.
    pub updated: OffsetDateTime,
}

/// Two versions of a file; the number 0 is the empty text before the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComparedVersions {
    /// The number and the text of the earlier one.
    pub from: (i64, String),
    /// Those of the later one.
    pub to: (i64, String),
}

impl MemoryFileStore<'_> {
    /// What is at a path.
    ///
    /// # Errors
    /// `MemoryFileError::NotFound`.
    pub async fn get(self, owner: &MemoryOwner, path: &FilePath) -> Result<FoundPath, StoreError> {
        match self.place(owner, path).await? {
            Place {
                file: Some(file), ..
            } => Ok(FoundPath::File(file)),
            Place {
                is_directory: true, ..
            } => {
                let limit = limits::MEMORY_FILES_LISTED;
                let mut files = self.list(owner, path, limit + 1).await?;
                let more = files.len() > limit;
                files.truncate(limit);
                Ok(FoundPath::Directory(files, more))
            }
            _ => Err(MemoryFileError::NotFound.into()),
        }
    }

    /// The text of a version of a file, also of a deleted one.
    ///
    /// # Errors
    /// `MemoryFileError::NotFound`, `IsDirectory` or `VersionNotFound`.
    pub async fn version(
        self,
        owner: &MemoryOwner,
        path: &FilePath,
        version: i64,
    ) -> Result<MemoryFile, StoreError> {
        let place = self.place(owner, path).await?;
        let Gone { id, .. } = known(&place)?;
        let text = self.text(owner, &version_name(&id, version)).await?;
        Ok(MemoryFile {
            path: path.clone(),
            id,
            version,
            text: text.ok_or(MemoryFileError::VersionNotFound)?,
            created: None,
            updated: None,
        })
    }

    /// The versions of a file, the newest first, and whether it was deleted.
    ///
    /// # Errors
    /// `MemoryFileError::NotFound` or `IsDirectory`.
    pub async fn versions(
        self,
        owner: &MemoryOwner,
        path: &FilePath,
    ) -> Result<(Vec<FileVersion>, bool), StoreError> {
        let place = self.place(owner, path).await?;
        let Gone { id, .. } = known(&place)?;
        let params: Params<'_> = &[
            &self.caller.tenant.as_str(),
            &owner_digest(owner),
            &versions_of(&id),
            &i64::try_from(limits::MEMORY_FILE_VERSIONS).unwrap_or(i64::MAX),
        ];
        let query = query!("memory_files/versions");
        let rows = self.store.pool.within(self.caller, query, params).await?;
        let versions = rows.iter().map(version_of).collect::<Result<_, _>>()?;
        Ok((versions, place.file.is_none()))
    }

    /// Two versions of a file. `to` is the newest by default, and `from` the one before `to`.
    ///
    /// # Errors
    /// As [`MemoryFileStore::version`].
    pub async fn compare(
        self,
        owner: &MemoryOwner,
        path: &FilePath,
        from: Option<i64>,
        to: Option<i64>,
    ) -> Result<ComparedVersions, StoreError> {
        let place = self.place(owner, path).await?;
        let Gone { id, version } = known(&place)?;
        let to = to.unwrap_or(version);
        let from = from.unwrap_or(to - 1);
        let to_text = self.text(owner, &version_name(&id, to)).await?;
        let from_text = match from {
            0 => Some(String::new()),
            from => self.text(owner, &version_name(&id, from)).await?,
        };
        Ok(ComparedVersions {
            from: (from, from_text.ok_or(MemoryFileError::VersionNotFound)?),
            to: (to, to_text.ok_or(MemoryFileError::VersionNotFound)?),
        })
    }

    /// The text of a stored version.
    async fn text(
        self,
        owner: &MemoryOwner,
        name: &DocumentName,
    ) -> Result<Option<String>, StoreError> {
        let params: Params<'_> = &[
            &self.caller.tenant.as_str(),
            &owner_digest(owner),
            &list(&name.namespace),
            &name.key,
        ];
        let query = query!("documents/exported");
        let rows = self.store.pool.within(self.caller, query, params).await?;
        let text = |row: &Row| {
            let json: String = column(row, "value")?;
            Ok(file_of(FilePath::default(), &json).text)
        };
        rows.first().map(text).transpose()
    }

    /// The files below a directory, by path.
    async fn list(
        self,
        owner: &MemoryOwner,
        directory: &FilePath,
        limit: usize,
    ) -> Result<Vec<ListedFile>, StoreError> {
        let params: Params<'_> = &[
            &self.caller.tenant.as_str(),
            &owner_digest(owner),
            &directory.namespace(FILES),
            &i64::try_from(limit).unwrap_or(i64::MAX),
        ];
        let rows = self.store.pool.within(self.caller, LIST, params).await?;
        rows.iter().map(listed).collect()
    }
}

/// Reads a row of [`LIST`].
pub(super) fn listed(row: &Row) -> Result<ListedFile, StoreError> {
    let name = DocumentName {
        namespace: column(row, "namespace")?,
        key: column(row, "key")?,
    };
    Ok(ListedFile {
        path: FilePath::of_document(&name),
        id: column::<Option<String>>(row, "file_id")?.unwrap_or_default(),
        version: column::<Option<String>>(row, "version")?
            .and_then(|version| version.parse().ok())
            .unwrap_or_default(),
        bytes: column(row, "text_bytes")?,
        updated: column(row, "updated_at")?,
    })
}

/// The file at a path, or what is left of a deleted one.
fn known(place: &Place) -> Result<Gone, MemoryFileError> {
    place.newest().ok_or_else(|| place.no_file())
}

fn version_of(row: &Row) -> Result<FileVersion, StoreError> {
    Ok(FileVersion {
        version: column::<String>(row, "key")?.parse().unwrap_or_default(),
        change: column::<Option<String>>(row, "change")?.unwrap_or_default(),
        bytes: column(row, "text_bytes")?,
        created: column(row, "created_at")?,
        expires: column(row, "expires_at")?,
    })
}
