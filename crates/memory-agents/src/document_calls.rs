//! The queries that store and erase documents, with their parameters.

use memory_agent_contract::document::{DocumentName, NewDocument};
use memory_agent_contract::memory_file::FILES;
use memory_contract::{limits, memory::MemoryOwner};
use memory_database::{StoreError, rows::column, words};
use memory_postgres::{Caller, Query, query};
use serde_json::Value;
use tokio_postgres::{Row, types::ToSql};

/// The query that stores documents.
pub(crate) const PUT: Query = query!("documents/put");
/// The query that erases documents.
pub(crate) const DELETE: Query = query!("documents/delete");

/// Names as the columns of a query.
pub(crate) struct Names {
    /// JSON lists of labels.
    pub(crate) namespaces: Vec<String>,
    pub(crate) keys: Vec<String>,
}

impl Names {
    pub(crate) fn of<'a>(names: impl Iterator<Item = &'a DocumentName>) -> Self {
        let (namespaces, keys) = names
            .map(|name| (list(&name.namespace), name.key.clone()))
            .unzip();
        Self { namespaces, keys }
    }
}

/// The parameters of [`PUT`].
pub(crate) struct PutCall<'a> {
    tenant: &'a str,
    actor: &'a str,
    app: &'a str,
    user: &'a str,
    owner: Vec<u8>,
    names: Names,
    values: Vec<&'a str>,
    texts: Vec<Option<&'a str>>,
    words: Vec<Option<String>>,
    ttls: Vec<Option<f64>>,
    max_bytes: i64,
    may_erase: bool,
    action: Option<&'a str>,
}

impl<'a> PutCall<'a> {
    /// Stores documents. The audit log records `action`: `None` is that of documents, and an empty
    /// one nothing.
    pub(crate) fn of(
        caller: &'a Caller,
        owner: &'a MemoryOwner,
        documents: &'a [NewDocument],
        may_erase: bool,
        action: Option<&'a str>,
    ) -> Self {
        let words = |one: &NewDocument| {
            let text = one.text.as_deref()?;
            let whole = file_text(one);
            Some(words::of_document(whole.as_deref().unwrap_or(text)))
        };
        Self {
            tenant: caller.tenant.as_str(),
            actor: &caller.actor,
            app: owner.app.as_str(),
            user: owner.user.as_str(),
            owner: owner_digest(owner),
            names: Names::of(documents.iter().map(|one| &one.name)),
            values: documents.iter().map(|one| one.json.as_str()).collect(),
            texts: documents.iter().map(|one| one.text.as_deref()).collect(),
            words: documents.iter().map(words).collect(),
            ttls: documents
                .iter()
                .map(|one| one.ttl.map(|ttl| ttl.as_secs_f64()))
                .collect(),
            max_bytes: i64::try_from(limits::DOCUMENT_BYTES).unwrap_or(i64::MAX),
            may_erase,
            action,
        }
    }

    /// Bytes of the values and of what queries match.
    pub(crate) fn bytes(&self) -> i64 {
        let values: usize = self.values.iter().copied().map(str::len).sum();
        let texts: usize = self.texts.iter().flatten().copied().map(str::len).sum();
        let words: usize = self.words.iter().flatten().map(String::len).sum();
        i64::try_from(values + texts + words).unwrap_or(i64::MAX)
    }

    /// In the order of the query.
    pub(crate) fn params(&self) -> [&(dyn ToSql + Sync); 14] {
        [
            &self.tenant,
            &self.actor,
            &self.app,
            &self.user,
            &self.owner,
            &self.names.namespaces,
            &self.names.keys,
            &self.values,
            &self.texts,
            &self.words,
            &self.ttls,
            &self.max_bytes,
            &self.may_erase,
            &self.action,
        ]
    }
}

/// Reads the row of [`PUT`]: how many documents are new.
///
/// # Errors
/// `NeedsErase`, `DocumentTooLarge`.
pub(crate) fn created_count(row: &Row) -> Result<i64, StoreError> {
    if let Some(index) = column::<Option<i64>>(row, "needs_erase")? {
        let field = format!("documents[{index}]");
        return Err(StoreError::NeedsErase { field });
    }
    match column(row, "too_large")? {
        Some(index) => Err(StoreError::DocumentTooLarge { index }),
        None => column(row, "created_count"),
    }
}

/// The parameters of [`DELETE`].
pub(crate) struct DeleteCall<'a> {
    tenant: &'a str,
    actor: &'a str,
    app: &'a str,
    owner: Vec<u8>,
    names: Names,
    action: Option<&'a str>,
}

impl<'a> DeleteCall<'a> {
    /// Erases documents. `action` is as in [`PutCall::of`].
    pub(crate) fn of(
        caller: &'a Caller,
        owner: &'a MemoryOwner,
        names: &[DocumentName],
        action: Option<&'a str>,
    ) -> Self {
        Self {
            tenant: caller.tenant.as_str(),
            actor: &caller.actor,
            app: owner.app.as_str(),
            owner: owner_digest(owner),
            names: Names::of(names.iter()),
            action,
        }
    }

    /// In the order of the query.
    pub(crate) fn params(&self) -> [&(dyn ToSql + Sync); 7] {
        [
            &self.tenant,
            &self.actor,
            &self.app,
            &self.owner,
            &self.names.namespaces,
            &self.names.keys,
            &self.action,
        ]
    }
}

/// What stands for the owner in the key of a document.
pub(crate) fn owner_digest(owner: &MemoryOwner) -> Vec<u8> {
    words::digest(&[owner.app.as_str(), owner.user.as_str()])[..16].to_vec()
}

/// A JSON list of texts.
pub(crate) fn list(texts: &[String]) -> String {
    // A list of texts serializes.
    serde_json::to_string(texts).unwrap_or_default()
}

/// The text of a file of an agent. All of it is searched by word, not only what has a vector.
fn file_text(document: &NewDocument) -> Option<String> {
    if document.name.namespace.first()? != FILES {
        return None;
    }
    match serde_json::from_str::<Value>(&document.json).ok()? {
        Value::Object(mut file) => match file.remove("text")? {
            Value::String(text) => Some(text),
            _ => None,
        },
        _ => None,
    }
}
