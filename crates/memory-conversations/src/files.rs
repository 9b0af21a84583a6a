//! Registered files: their metadata.

use std::collections::HashMap;

use memory_contract::{
    file::{File, FileLocation, FileType, NewFile, TransferMethod},
    limits,
    size::file_bytes,
};
use memory_database::{
    Page, StoreError,
    page::one_more,
    rows::{column, only},
    words,
};
use memory_postgres::{Params, query};
use tokio_postgres::Row;

use crate::FileStore;

/// The result of [`FileStore::register_file`](crate::FileStore::register_file).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registered {
    /// The stored file.
    pub file: File,
    /// Whether it was not registered before.
    pub created: bool,
}

/// The metadata of the files that references name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundFiles(HashMap<FileLocation, Option<File>>);

/// The result of looking up one reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup<'a> {
    /// A registered file.
    Known(&'a File),
    /// No file is registered at the location.
    Unknown,
    /// It was not looked up.
    Unread,
}

impl FoundFiles {
    /// Looks up the file at a location.
    pub fn get(&self, location: &FileLocation) -> Lookup<'_> {
        match self.0.get(location) {
            Some(Some(file)) => Lookup::Known(file),
            Some(None) => Lookup::Unknown,
            None => Lookup::Unread,
        }
    }
}

impl FileStore<'_> {
    /// Registers a file, or replaces its metadata.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn register_file(self, file: NewFile) -> Result<Registered, StoreError> {
        let tenant = &self.caller.tenant;
        let NewFile {
            location,
            kind,
            storage_key,
            name,
            mime_type,
            size_bytes,
        } = &file;
        let params: Params<'_> = &[
            &tenant.as_str(),
            &digest(location),
            &location.transfer_method().as_str(),
            &location.as_str(),
            &kind.as_str(),
            storage_key,
            name,
            mime_type,
            size_bytes,
            &subject(location),
        ];
        let row = only(
            self.store
                .main
                .within(self.caller, query!("files/register"), params)
                .await?,
        )?;
        Ok(Registered {
            created: column(&row, "created")?,
            file: File {
                created: column(&row, "created_at")?,
                updated: column(&row, "updated_at")?,
                file,
            },
        })
    }

    /// Reads the metadata of a file.
    ///
    /// # Errors
    /// `FileNotFound`.
    pub async fn get_file(self, location: &FileLocation) -> Result<File, StoreError> {
        let tenant = &self.caller.tenant;
        let params: Params<'_> = &[&tenant.as_str(), &digest(location)];
        let rows = self
            .store
            .main
            .within(self.caller, query!("files/get"), params)
            .await?;
        file(rows.first().ok_or(StoreError::FileNotFound)?)
    }

    /// Lists files, the one created last first, after the key `after`; fewer
    /// than `limit` where more would not fit into an answer.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn list_files(
        self,
        method: Option<TransferMethod>,
        after: Option<i64>,
        limit: u32,
    ) -> Result<Page<File, i64>, StoreError> {
        let tenant = &self.caller.tenant;
        let name = tenant.as_str();
        let (before, limit_and_one) = (after.unwrap_or(i64::MAX), one_more(limit));
        let rows = match method.map(TransferMethod::as_str) {
            None => {
                let params: Params<'_> = &[&name, &before, &limit_and_one];
                self.store
                    .main
                    .within(self.caller, query!("files/list"), params)
                    .await?
            }
            Some(method) => {
                let params: Params<'_> = &[&name, &method, &before, &limit_and_one];
                self.store
                    .main
                    .within(self.caller, query!("files/list_by_method"), params)
                    .await?
            }
        };
        let files = rows
            .iter()
            .map(|row| Ok((column(row, "ordinal")?, file(row)?)))
            .collect::<Result<Vec<_>, StoreError>>()?;
        let mut bytes = 0;
        let fitting = files.iter().take_while(|(_, file)| {
            bytes += file_bytes(file);
            bytes <= limits::ANSWER_BYTES
        });
        let fitting = u32::try_from(fitting.count()).unwrap_or(u32::MAX);
        Ok(Page::cut(files, limit.min(fitting)))
    }

    /// Deletes the metadata of a file. Returns whether it was registered.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn delete_file(self, location: &FileLocation) -> Result<bool, StoreError> {
        let tenant = &self.caller.tenant;
        let params: Params<'_> = &[&tenant.as_str(), &digest(location), &subject(location)];
        let rows = self
            .store
            .main
            .within(self.caller, query!("files/delete"), params)
            .await?;
        Ok(!rows.is_empty())
    }

    /// Looks up the files that references name, in one query; without references, in
    /// none. The most important reference comes first: when the files' texts fill an
    /// answer, the rest is not read.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn files_of<'a>(
        self,
        references: impl IntoIterator<Item = &'a FileLocation>,
    ) -> Result<FoundFiles, StoreError> {
        let tenant = &self.caller.tenant;
        let mut found = HashMap::new();
        let mut wanted = Vec::new();
        for location in references {
            if found.insert(location.clone(), None).is_none() {
                wanted.push((location, digest(location)));
            }
        }
        if wanted.is_empty() {
            return Ok(FoundFiles::default());
        }
        let digests: Vec<&[u8]> = wanted.iter().map(|(_, digest)| digest.as_slice()).collect();
        let max_bytes = i64::try_from(limits::ANSWER_BYTES).unwrap_or(i64::MAX);
        let params: Params<'_> = &[&tenant.as_str(), &digests, &max_bytes];
        let rows = self
            .store
            .main
            .call(self.caller, query!("files/find"), params)
            .await?;
        let (mut bytes, mut last) = (0, 0);
        for row in &rows {
            let file = file(row)?;
            bytes += file.text_bytes();
            last = usize::try_from(column::<i64>(row, "place")?).unwrap_or_default();
            found.insert(file.file.location.clone(), Some(file));
        }
        if bytes >= limits::ANSWER_BYTES {
            for (location, _) in &wanted[last.min(wanted.len())..] {
                found.remove(*location);
            }
        }
        Ok(FoundFiles(found))
    }
}

/// Reads a file.
pub(crate) fn file(row: &Row) -> Result<File, StoreError> {
    let corrupt = |why: &str| StoreError::Corrupt {
        what: "file",
        why: why.to_owned(),
    };
    let method = TransferMethod::from_name(column(row, "transfer_method")?)
        .ok_or_else(|| corrupt("its transfer method is not known"))?;
    let kind = FileType::from_name(column(row, "type")?)
        .ok_or_else(|| corrupt("its type is not known"))?;
    Ok(File {
        file: NewFile {
            location: FileLocation::new(method, column(row, "reference")?),
            kind,
            storage_key: column(row, "storage_key")?,
            name: column(row, "name")?,
            mime_type: column(row, "mime_type")?,
            size_bytes: column(row, "size_bytes")?,
        },
        created: column(row, "created_at")?,
        updated: column(row, "updated_at")?,
    })
}

fn digest(location: &FileLocation) -> Vec<u8> {
    words::digest(&[location.transfer_method().as_str(), location.as_str()]).to_vec()
}

/// The name of the file in the audit log. Of a URL it has scheme, host and path only: user
/// info and query may be secret.
fn subject(location: &FileLocation) -> String {
    let name = location.as_str();
    let FileLocation::Url(_) = location else {
        return name.to_owned();
    };
    let open = name.split(['?', '#']).next().unwrap_or_default();
    let Some((scheme, rest)) = open.split_once("://") else {
        return open.to_owned();
    };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    format!("{scheme}://{host}{path}")
}

#[cfg(test)]
mod tests;
