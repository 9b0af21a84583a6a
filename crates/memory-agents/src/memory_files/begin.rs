//! What is at a path, for reading and at the begin of a change.

use memory_agent_contract::memory_file::{FilePath, MemoryFile};
use memory_contract::{limits, memory::MemoryOwner, precondition::Precondition};
use memory_database::{
    MemoryFileError, StoreError,
    rows::{column, only},
};
use memory_postgres::{Params, Query, Transaction, query};
use tokio::sync::OwnedMutexGuard;
use tokio_postgres::Row;

use super::stored::{Gone, file_of, gone_of};
use crate::MemoryFileStore;
use crate::document_calls::owner_digest;

/// The query for what is at a path.
pub(super) const AT: Query = query!("memory_files/at");

/// What is at a path.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) file: Option<MemoryFile>,
    /// Bytes of the file's document.
    pub(super) bytes: i64,
    /// What is left of the files that were deleted there, the last one first.
    pub(super) gone: Vec<Gone>,
    /// Whether files are below the path.
    pub(super) is_directory: bool,
    /// Whether the path leads through a file.
    pub(super) is_below_file: bool,
}

impl Place {
    /// Reads the row of [`AT`].
    pub(super) fn read(path: &FilePath, row: &Row) -> Result<Self, StoreError> {
        let file = match column::<Option<String>>(row, "value")? {
            Some(json) => Some(MemoryFile {
                created: column(row, "created_at")?,
                updated: column(row, "updated_at")?,
                ..file_of(path.clone(), &json)
            }),
            None => None,
        };
        Ok(Self {
            file,
            bytes: column::<Option<i64>>(row, "size_bytes")?.unwrap_or_default(),
            gone: column::<Option<String>>(row, "deleted")?
                .map(|json| gone_of(&json))
                .unwrap_or_default(),
            is_directory: column(row, "is_directory")?,
            is_below_file: column(row, "is_below_file")?,
        })
    }

    /// Checks the state that a change requires.
    pub(super) fn check(&self, precondition: &Precondition) -> Result<(), StoreError> {
        let etag = self.file.as_ref().map(MemoryFile::etag);
        match precondition.holds(etag.as_deref()) {
            true => Ok(()),
            false => Err(StoreError::EtagChanged { etag }),
        }
    }

    /// The file, or what is left of the one that was deleted last.
    pub(super) fn newest(&self) -> Option<Gone> {
        match &self.file {
            Some(file) => Some(Gone {
                id: file.id.clone(),
                version: file.version,
            }),
            None => self.gone.first().cloned(),
        }
    }

    /// Why there is no file at the path.
    pub(super) fn no_file(&self) -> MemoryFileError {
        match self.is_directory {
            true => MemoryFileError::IsDirectory,
            false => MemoryFileError::NotFound,
        }
    }

    /// Whether a file may be put at the path, in place of one or not.
    pub(super) fn check_free(&self) -> Result<(), MemoryFileError> {
        match self {
            Self { file: Some(_), .. } => Ok(()),
            Self {
                is_directory: true, ..
            } => Err(MemoryFileError::IsDirectory),
            Self {
                is_below_file: true,
                ..
            } => Err(MemoryFileError::BelowFile),
            _ => Ok(()),
        }
    }
}

/// A change of the files of a user that has begun: no other one has.
pub(super) struct Begun<'a> {
    pub(super) transaction: Transaction<'a>,
    /// The files of the user.
    file_count: i64,
    /// Their bytes.
    byte_count: i64,
    /// What is at the path.
    pub(super) place: Place,
    /// No other change of this process begins before it is dropped.
    _turn: OwnedMutexGuard<()>,
}

impl Begun<'_> {
    /// Checks that the user's files stay within their limits with one of so many bytes as JSON at the
    /// path.
    pub(super) fn check_room(&self, bytes: usize) -> Result<(), MemoryFileError> {
        let most = i64::try_from(limits::MEMORY_FILES).unwrap_or(i64::MAX);
        if self.place.file.is_none() && self.file_count >= most {
            return Err(MemoryFileError::TooMany);
        }
        let grown = i64::try_from(bytes).unwrap_or(i64::MAX) - self.place.bytes;
        match grown > 0 && self.byte_count + grown > limits::MEMORY_FILES_BYTES {
            true => Err(MemoryFileError::TooManyBytes),
            false => Ok(()),
        }
    }
}

impl<'a> MemoryFileStore<'a> {
    /// Begins a change. It waits for others of the same user, without a connection for those of this
    /// process.
    pub(super) async fn begin(
        self,
        owner: &MemoryOwner,
        path: &FilePath,
    ) -> Result<Begun<'a>, StoreError> {
        let tenant = self.caller.tenant.as_str();
        let digest = owner_digest(owner);
        let turn = self.turns.take(&self.caller.tenant, &digest).await?;
        let whose: Params<'_> = &[&tenant, &owner.app.as_str(), &owner.user.as_str(), &digest];
        let at: Params<'_> = &[&tenant, &digest, &path.names()];
        let queries = [(query!("memory_files/begin"), whose), (AT, at)];
        let (transaction, mut results) = self.store.pool.begin(self.caller, &queries).await?;
        let at = only(results.pop().unwrap_or_default())?;
        let begun = only(results.pop().unwrap_or_default())?;
        Ok(Begun {
            transaction,
            file_count: column(&begun, "file_count")?,
            byte_count: column(&begun, "byte_count")?,
            place: Place::read(path, &at)?,
            _turn: turn,
        })
    }

    /// What is at a path.
    pub(super) async fn place(
        self,
        owner: &MemoryOwner,
        path: &FilePath,
    ) -> Result<Place, StoreError> {
        let params: Params<'_> = &[
            &self.caller.tenant.as_str(),
            &owner_digest(owner),
            &path.names(),
        ];
        let rows = self.store.pool.within(self.caller, AT, params).await?;
        Place::read(path, &only(rows)?)
    }
}
