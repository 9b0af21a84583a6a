//! Deletes and renames files and directories.

use std::collections::BTreeMap;

use memory_agent_contract::document::{DocumentName, NewDocument};
use memory_agent_contract::memory_file::{DELETED_FILES, FILES, FilePath};
use memory_contract::{memory::MemoryOwner, precondition::Precondition};
use memory_database::{
    MemoryFileError, StoreError,
    rows::{column, only},
};
use memory_postgres::{Params, Query, Transaction, query};
use tokio_postgres::{Row, types::ToSql};

use super::begin::{AT, Begun, Place};
use super::edit::KEEP_VERSIONS;
use super::read::{LIST, ListedFile, listed};
use super::stored::{Gone, gone_document, gone_of, gone_seconds, versions_of};
use crate::MemoryFileStore;
use crate::document_calls::{DELETE, DeleteCall, Names, PUT, PutCall, list, owner_digest};

/// What the audit log records.
const ACTION: &str = "delete_memory_file";
/// The query that erases all versions of files.
const ERASE_VERSIONS: Query = query!("memory_files/erase_versions");
const RENAME: Query = query!("memory_files/rename");

/// The most files of which something is left at a path, besides the one that was deleted last.
const REPLACED: usize = 20;

/// Files with their paths.
type Named = Vec<(FilePath, Gone)>;
/// What is left of deleted files at their paths, the last one first.
type Left = BTreeMap<FilePath, Vec<Gone>>;

impl MemoryFileStore<'_> {
    /// Deletes a file, or all files below a directory. Their versions are kept for a while, unless
    /// `erase` erases them, and those of files that were deleted there before. Returns how many
    /// files there were.
    ///
    /// # Errors
    /// `EtagChanged`, `DeletionInProgress`, `MemoryFileError::NotFound`.
    pub async fn delete(
        self,
        owner: &MemoryOwner,
        path: &FilePath,
        precondition: &Precondition,
        erase: bool,
    ) -> Result<i64, StoreError> {
        let begun = self.begin(owner, path).await?;
        let found = self
            .found_below(&begun, owner, path, precondition, erase)
            .await;
        let transaction = begun.transaction;
        let (files, left) = match found {
            Ok(found) => found,
            Err(error) => {
                transaction.rollback().await?;
                return Err(error);
            }
        };
        let deleted = i64::try_from(files.len()).unwrap_or(i64::MAX);
        let names: Vec<_> = files.iter().map(|(path, _)| path.document(FILES)).collect();
        let delete = DeleteCall::of(self.caller, owner, &names, Some(ACTION));
        let left_names: Vec<_> = left
            .keys()
            .map(|path| path.document(DELETED_FILES))
            .collect();
        // One record of the call, also where only what is left is erased.
        let recorded = match files.is_empty() {
            true => ACTION,
            false => "",
        };
        let delete_left = DeleteCall::of(self.caller, owner, &left_names, Some(recorded));
        let (gone, forgotten): (Vec<NewDocument>, Vec<Gone>) = match erase {
            true => (Vec::new(), left.into_values().flatten().collect()),
            false => gone_now(&files, left),
        };
        let put_gone = PutCall::of(self.caller, owner, &gone, true, Some(""));
        let (tenant, digest) = (self.caller.tenant.as_str(), owner_digest(owner));
        let versions = |gone: &Gone| list(&versions_of(&gone.id));
        let kept: Vec<String> = files.iter().map(|(_, gone)| versions(gone)).collect();
        let mut erased: Vec<String> = forgotten.iter().map(versions).collect();
        if erase {
            erased.extend_from_slice(&kept);
        }
        let seconds = Some(gone_seconds());
        let keep: [&(dyn ToSql + Sync); 4] = [&tenant, &digest, &kept, &seconds];
        let erased: [&(dyn ToSql + Sync); 3] = [&tenant, &digest, &erased];
        let (delete, delete_left) = (delete.params(), delete_left.params());
        let put_gone = put_gone.params();
        let mut queries: Vec<(Query, Params<'_>)> = vec![(DELETE, delete.as_slice())];
        match erase {
            true => queries.push((DELETE, delete_left.as_slice())),
            false => {
                queries.push((PUT, put_gone.as_slice()));
                queries.push((KEEP_VERSIONS, keep.as_slice()));
            }
        }
        queries.push((ERASE_VERSIONS, erased.as_slice()));
        transaction.commit(&queries).await?;
        Ok(deleted)
    }

    /// The files at a path and below it, and what is left there of deleted ones; with `erase` that
    /// alone is enough.
    async fn found_below(
        self,
        begun: &Begun<'_>,
        owner: &MemoryOwner,
        path: &FilePath,
        precondition: &Precondition,
        erase: bool,
    ) -> Result<(Named, Left), StoreError> {
        let Begun {
            transaction, place, ..
        } = begun;
        place.check(precondition)?;
        let mut files = Vec::new();
        if place.file.is_some() {
            files.extend(place.newest().map(|file| (path.clone(), file)));
        } else if place.is_directory {
            let below = self
                .list_in(transaction, owner, path.namespace(FILES))
                .await?;
            files.extend(below.into_iter().map(named));
        }
        let mut left = Left::new();
        if !place.gone.is_empty() {
            left.insert(path.clone(), place.gone.clone());
        }
        if erase || place.is_directory {
            left.extend(self.left_below(transaction, owner, path).await?);
        }
        let is_enough = erase && !left.is_empty();
        match files.is_empty() && !is_enough && !path.is_root() {
            true => Err(MemoryFileError::NotFound.into()),
            false => Ok((files, left)),
        }
    }

    /// Gives a file, or all files below a directory, another path. Returns how many there are.
    ///
    /// # Errors
    /// `EtagChanged`, `DeletionInProgress`; of [`MemoryFileError`] `NotFound`, `Exists`, `BelowFile`,
    /// `IntoItself` and `PathTooLong`.
    pub async fn rename(
        self,
        owner: &MemoryOwner,
        path: &FilePath,
        new_path: &FilePath,
        precondition: &Precondition,
    ) -> Result<i64, StoreError> {
        let begun = self.begin(owner, path).await?;
        let moves = self
            .moves(&begun, owner, (path, new_path), precondition)
            .await;
        let transaction = begun.transaction;
        let moves = match moves {
            Ok(moves) => moves,
            Err(error) => {
                transaction.rollback().await?;
                return Err(error);
            }
        };
        let (from, to): (Vec<_>, Vec<_>) = moves
            .iter()
            .map(|(from, to)| (from.document(FILES), to.document(FILES)))
            .unzip();
        let (from, to) = (Names::of(from.iter()), Names::of(to.iter()));
        let params: Params<'_> = &[
            &self.caller.tenant.as_str(),
            &owner.app.as_str(),
            &owner.user.as_str(),
            &owner_digest(owner),
            &from.namespaces,
            &from.keys,
            &to.namespaces,
            &to.keys,
        ];
        let mut results = transaction.commit(&[(RENAME, params)]).await?;
        column(&only(results.pop().unwrap_or_default())?, "renamed_count")
    }

    /// The paths of files so far and from now on, if they may change.
    async fn moves(
        self,
        begun: &Begun<'_>,
        owner: &MemoryOwner,
        (path, new_path): (&FilePath, &FilePath),
        precondition: &Precondition,
    ) -> Result<Vec<(FilePath, FilePath)>, StoreError> {
        let Begun {
            transaction, place, ..
        } = begun;
        place.check(precondition)?;
        let files = match place {
            Place { file: Some(_), .. } => vec![path.clone()],
            Place {
                is_directory: true, ..
            } => {
                let below = self
                    .list_in(transaction, owner, path.namespace(FILES))
                    .await?;
                below.into_iter().map(|file| file.path).collect()
            }
            _ => return Err(MemoryFileError::NotFound.into()),
        };
        let params: Params<'_> = &[
            &self.caller.tenant.as_str(),
            &owner_digest(owner),
            &new_path.names(),
        ];
        let rows = transaction.query(AT, params).await?;
        let target = Place::read(new_path, &only(rows)?)?;
        if target.file.is_some() || target.is_directory {
            return Err(MemoryFileError::Exists.into());
        }
        if new_path.below(path).is_some() {
            return Err(MemoryFileError::IntoItself.into());
        }
        if target.is_below_file {
            return Err(MemoryFileError::BelowFile.into());
        }
        let moved = |file: FilePath| {
            let to = new_path.join(file.below(path).unwrap_or_default());
            match to.fits() {
                true => Ok((file, to)),
                false => Err(MemoryFileError::PathTooLong),
            }
        };
        let moves = files.into_iter().map(moved);
        Ok(moves.collect::<Result<Vec<_>, MemoryFileError>>()?)
    }

    /// What is left of deleted files below a directory.
    async fn left_below(
        self,
        transaction: &Transaction<'_>,
        owner: &MemoryOwner,
        path: &FilePath,
    ) -> Result<Left, StoreError> {
        let params: Params<'_> = &[
            &self.caller.tenant.as_str(),
            &owner_digest(owner),
            &path.namespace(DELETED_FILES),
        ];
        let left = query!("memory_files/left");
        let rows = transaction.query(left, params).await?;
        rows.iter().map(left_at).collect()
    }

    /// The files in a namespace and below it.
    async fn list_in(
        self,
        transaction: &Transaction<'_>,
        owner: &MemoryOwner,
        namespace: Vec<String>,
    ) -> Result<Vec<ListedFile>, StoreError> {
        let params: Params<'_> = &[
            &self.caller.tenant.as_str(),
            &owner_digest(owner),
            &namespace,
            &i64::MAX,
        ];
        let rows = transaction.query(LIST, params).await?;
        rows.iter().map(listed).collect()
    }
}

/// What is left at the paths of files from their deletion on, and of which files nothing is, because
/// too many were deleted at their path since.
fn gone_now(files: &[(FilePath, Gone)], mut left: Left) -> (Vec<NewDocument>, Vec<Gone>) {
    let mut forgotten = Vec::new();
    let documents = files.iter().filter_map(|(path, deleted)| {
        let mut gone = left.remove(path).unwrap_or_default();
        gone.retain(|one| one.id != deleted.id);
        gone.insert(0, deleted.clone());
        forgotten.extend(gone.drain(gone.len().min(REPLACED + 1)..));
        gone_document(path, &gone)
    });
    let documents = documents.collect();
    (documents, forgotten)
}

fn left_at(row: &Row) -> Result<(FilePath, Vec<Gone>), StoreError> {
    let name = DocumentName {
        namespace: column(row, "namespace")?,
        key: column(row, "key")?,
    };
    let json: String = column(row, "value")?;
    Ok((FilePath::of_document(&name), gone_of(&json)))
}

fn named(file: ListedFile) -> (FilePath, Gone) {
    let ListedFile {
        path, id, version, ..
    } = file;
    (path, Gone { id, version })
}
