//! JSON documents of a user or an app.

use std::time::Duration;

use time::OffsetDateTime;

use memory_contract::memory::MemoryOwner;

/// The name of a document among those of its owner.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DocumentName {
    /// The path of labels; at least one.
    pub namespace: Vec<String>,
    /// The key within the namespace.
    pub key: String,
}

/// A document to store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewDocument {
    /// Its name.
    pub name: DocumentName,
    /// A JSON object, as it was sent.
    pub json: String,
    /// How long it lives; `None` without end.
    pub ttl: Option<Duration>,
    /// The text that queries match; `None` if they do not match the document.
    pub text: Option<String>,
}

/// A stored document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// Its name.
    pub name: DocumentName,
    /// A JSON object.
    pub json: String,
    /// When it was first stored.
    pub created: OffsetDateTime,
    /// When it was last stored.
    pub updated: OffsetDateTime,
    /// How long it lives after it was stored or refreshed; `None` without end.
    pub ttl: Option<Duration>,
    /// When it becomes unreadable.
    pub expires: Option<OffsetDateTime>,
}

/// A stored document as an export has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedDocument {
    /// Whose it is.
    pub owner: MemoryOwner,
    /// The document.
    pub document: Document,
    /// The text that queries match; `None` if they do not match the document.
    pub text: Option<String>,
}

/// A comparison of a field with a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentCondition {
    /// The names of the field and of those around it, the outermost first.
    pub field: Vec<String>,
    /// `eq`, `ne`, `gt`, `gte`, `lt` or `lte`.
    pub operator: &'static str,
    /// The value as JSON.
    pub json: String,
}

/// What a search selects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DocumentQuery {
    /// The labels that a namespace begins with.
    pub prefix: Vec<String>,
    /// All of them must hold.
    pub conditions: Vec<DocumentCondition>,
    /// The text to match; empty: none.
    pub text: String,
    /// The largest number of documents.
    pub limit: u32,
    /// The documents to skip.
    pub offset: u32,
    /// Whether the documents found live for their time to live from now on.
    pub refresh: bool,
    /// Bytes of the documents of one answer together; the first may have more.
    pub room: i64,
}

/// Which namespaces are listed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamespaceQuery {
    /// What they begin with; `*` is any label.
    pub prefix: Vec<String>,
    /// What they end with; `*` is any label.
    pub suffix: Vec<String>,
    /// The labels that are kept of each; `None`: all.
    pub depth: Option<u32>,
    /// The largest number of namespaces.
    pub limit: u32,
    /// The namespaces to skip.
    pub offset: u32,
}
