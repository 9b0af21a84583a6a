//! Changes of the text of one file.

use memory_agent_contract::document::NewDocument;
use memory_agent_contract::memory_file::{DELETED_FILES, FileEdit, FilePath, MemoryFile};
use memory_contract::{key::KeyScope, limits, memory::MemoryOwner, precondition::Precondition};
use memory_database::{
    MemoryFileError, StoreError,
    rows::{column, only},
};
use memory_postgres::{Params, Query, query};
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::begin::{AT, Begun, Place};
use super::stored::{
    Gone, LAST_VERSION, file_document, file_of, gone_document, version_document, version_key,
    version_name, versions_of,
};
use super::text::{self, Edited};
use crate::MemoryFileStore;
use crate::document_calls::{DELETE, DeleteCall, PUT, PutCall, list, owner_digest};

/// Bytes that a document has besides the JSON of a file: spaces that Postgres writes.
pub(super) const SPACES: usize = 64;

/// The query that lets versions live for a time from now on.
pub(super) const KEEP_VERSIONS: Query = query!("memory_files/keep_versions");
/// The query that erases the versions before one of them.
const TRIM_VERSIONS: Query = query!("memory_files/trim_versions");

/// A file after a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedFile {
    /// The file.
    pub file: MemoryFile,
    /// Whether there was none at its path.
    pub created: bool,
    /// The number of the first changed line, from 1.
    pub line: usize,
    /// By about how many bytes what is stored has grown.
    pub stored_bytes: i64,
}

/// A change that may be made.
struct Planned {
    /// The file after it.
    file: MemoryFile,
    line: usize,
}

impl MemoryFileStore<'_> {
    /// Changes the text of a file. Changes of the files of one user happen one after the other, so
    /// none is lost. A change to the same text makes no version.
    ///
    /// # Errors
    /// `EtagChanged`, `DeletionInProgress`; of [`MemoryFileError`] all but those of renaming.
    pub async fn edit(
        self,
        owner: &MemoryOwner,
        path: &FilePath,
        precondition: &Precondition,
        edit: &FileEdit,
    ) -> Result<ChangedFile, StoreError> {
        let begun = self.begin(owner, path).await?;
        let planned = self.planned(&begun, owner, path, precondition, edit).await;
        let Begun {
            transaction, place, ..
        } = begun;
        let Planned { file, line } = match planned {
            Ok(planned) => planned,
            Err(error) => {
                transaction.rollback().await?;
                return Err(error);
            }
        };
        let Place {
            file: before,
            bytes: bytes_before,
            gone,
            ..
        } = place;
        let created = before.is_none();
        if let Some(file) = before.filter(|before| before.text == file.text) {
            transaction.rollback().await?;
            return Ok(ChangedFile {
                file,
                created,
                line,
                stored_bytes: 0,
            });
        }
        let is_gone = |gone: &Gone| gone.id == file.id;
        let restored = created && gone.iter().any(is_gone);
        let left: Vec<Gone> = gone.into_iter().filter(|gone| !is_gone(gone)).collect();

        let documents = [file_document(&file)];
        let versions = [version_document(&file, edit.change())];
        let left: Vec<NewDocument> = gone_document(path, &left).into_iter().collect();
        let put_file = PutCall::of(self.caller, owner, &documents, true, Some(edit.action()));
        let put_version = PutCall::of(self.caller, owner, &versions, true, Some(""));
        let put_left = PutCall::of(self.caller, owner, &left, true, Some(""));
        let no_longer_left = [path.document(DELETED_FILES)];
        let delete_left = DeleteCall::of(self.caller, owner, &no_longer_left, Some(""));
        let stored_bytes = put_file.bytes() + put_version.bytes() - bytes_before;
        let (put_file, put_version) = (put_file.params(), put_version.params());
        let (put_left, delete_left) = (put_left.params(), delete_left.params());
        let (tenant, digest) = (self.caller.tenant.as_str(), owner_digest(owner));
        let namespace = list(&versions_of(&file.id));
        let namespaces = [namespace.as_str()];
        let without_end: Option<f64> = None;
        let keep: [&(dyn ToSql + Sync); 4] =
            [&tenant, &digest, &namespaces.as_slice(), &without_end];
        let first = first_kept(file.version);
        let trim: [&(dyn ToSql + Sync); 4] = [&tenant, &digest, &namespace, &first];
        let names = path.names();
        let at: [&(dyn ToSql + Sync); 3] = [&tenant, &digest, &names];

        let mut queries: Vec<(Query, Params<'_>)> =
            vec![(PUT, put_file.as_slice()), (PUT, put_version.as_slice())];
        if restored {
            queries.push(match left.is_empty() {
                true => (DELETE, delete_left.as_slice()),
                false => (PUT, put_left.as_slice()),
            });
            queries.push((KEEP_VERSIONS, keep.as_slice()));
        }
        // Without the scope nothing that is stored is erased: a later change does it.
        if first.is_some() && self.caller.scopes.allow(KeyScope::Delete) {
            queries.push((TRIM_VERSIONS, trim.as_slice()));
        }
        queries.push((AT, at.as_slice()));
        let mut results = transaction.commit(&queries).await?;
        let stored = Place::read(path, &only(results.pop().unwrap_or_default())?)?;
        Ok(ChangedFile {
            file: stored.file.unwrap_or(file),
            created,
            line,
            stored_bytes,
        })
    }

    /// The file after a change, if the change may be made.
    async fn planned(
        self,
        begun: &Begun<'_>,
        owner: &MemoryOwner,
        path: &FilePath,
        precondition: &Precondition,
        edit: &FileEdit,
    ) -> Result<Planned, StoreError> {
        let place = &begun.place;
        place.check(precondition)?;
        let file = || place.file.as_ref().ok_or_else(|| place.no_file());
        let mut continued = place.newest();
        let edited = match edit {
            FileEdit::Put { text } => {
                place.check_free()?;
                Edited {
                    text: text.clone(),
                    line: 1,
                }
            }
            FileEdit::Replace { old, new } => text::replace(&file()?.text, old, new)?,
            FileEdit::Insert { line, text } => text::insert(&file()?.text, *line, text)?,
            FileEdit::Restore { version } => {
                place.check_free()?;
                let (text, restored) = self.restored(begun, owner, *version).await?;
                continued = Some(restored);
                Edited { text, line: 1 }
            }
        };
        let Edited { text, line } = edited;
        if text.len() > limits::MEMORY_FILE_BYTES {
            return Err(MemoryFileError::TooLarge.into());
        }
        let file = next_version(path, continued, text)?;
        let bytes = file_document(&file).json.len() + SPACES;
        if bytes > limits::DOCUMENT_BYTES {
            return Err(MemoryFileError::TooLarge.into());
        }
        begun.check_room(bytes)?;
        Ok(Planned { file, line })
    }

    /// The text of a version of a file that exists, or of the file deleted last that has the version;
    /// and what is known of that file.
    async fn restored(
        self,
        begun: &Begun<'_>,
        owner: &MemoryOwner,
        version: Option<i64>,
    ) -> Result<(String, Gone), StoreError> {
        let place = &begun.place;
        let files: Vec<Gone> = match place.file {
            Some(_) => place.newest().into_iter().collect(),
            None => place.gone.clone(),
        };
        if files.is_empty() {
            return Err(MemoryFileError::NotFound.into());
        }
        for file in files {
            let name = version_name(&file.id, version.unwrap_or(file.version));
            let params: Params<'_> = &[
                &self.caller.tenant.as_str(),
                &owner_digest(owner),
                &list(&name.namespace),
                &name.key,
            ];
            let found = query!("documents/exported");
            let rows = begun.transaction.query(found, params).await?;
            if let Some(row) = rows.first() {
                let json: String = column(row, "value")?;
                return Ok((file_of(FilePath::default(), &json).text, file));
            }
        }
        Err(MemoryFileError::VersionNotFound.into())
    }
}

/// A file with a text, after the version that it continues.
fn next_version(
    path: &FilePath,
    continued: Option<Gone>,
    text: String,
) -> Result<MemoryFile, StoreError> {
    let Gone { id, version } = continued
        .filter(|known| !known.id.is_empty())
        .unwrap_or_else(|| Gone {
            id: Uuid::now_v7().to_string(),
            version: 0,
        });
    let next = version.checked_add(1).filter(|next| *next <= LAST_VERSION);
    Ok(MemoryFile {
        path: path.clone(),
        id,
        version: next.ok_or_else(|| StoreError::Corrupt {
            what: "memory file",
            why: "its version is the last number".to_owned(),
        })?,
        text,
        created: None,
        updated: None,
    })
}

/// The key of the first version that is kept; `None`: all are.
fn first_kept(newest: i64) -> Option<String> {
    let kept = i64::try_from(limits::MEMORY_FILE_VERSIONS).unwrap_or(i64::MAX);
    (newest > kept).then(|| version_key(newest - kept + 1))
}
