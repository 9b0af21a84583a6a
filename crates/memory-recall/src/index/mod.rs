//! The vector index: one trait, two backends.

mod candidate_cache;
mod edge;
mod filter;
mod paired;
mod payload;
mod qdrant;
mod record;
mod schema;
mod unavailable;
mod vocabulary;
mod word_counts;

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use memory_contract::{AppId, JsonObject, MemoryId, MessageId, Role, TenantId, ThreadId, UserId};
use memory_store::MemoryRecord;
use time::OffsetDateTime;
use uuid::Uuid;

use crate::config::IndexConfig;
use crate::error::RecallError;
use crate::text::Form;

pub use edge::EdgeIndex;
pub(crate) use edge::describe_metrics;
#[cfg(feature = "test-server")]
pub(crate) use edge::path;
pub use filter::Selection;
pub use paired::{PairedIndex, ServingPlace};
pub(crate) use payload::Entry;
pub use qdrant::QdrantIndex;
pub use schema::IndexSchema;
pub use unavailable::UnavailableIndex;
pub use word_counts::WordCounts;

/// A vector index with the points of all tenants. Every method may be called at any
/// time and from any task.
#[async_trait]
pub trait Index: Send + Sync + 'static {
    /// The backend that keeps the points.
    fn backend(&self) -> Backend;

    /// The model and text recipe of the points.
    fn schema(&self) -> &IndexSchema;

    /// Creates what is missing of the collection, its payload indexes and the alias.
    /// Returns whether the points have to be written again because the collection is
    /// new or was lost. Idempotent.
    ///
    /// # Errors
    /// [`RecallError::IndexUnavailable`], [`RecallError::IndexTimeout`],
    /// [`RecallError::IndexRefused`].
    async fn prepare(&self) -> Result<Prepared, RecallError>;

    /// Applies changes in order. When it returns, they are durable and visible to every
    /// later search. After an error some may have been applied; each is idempotent.
    ///
    /// # Errors
    /// As [`Index::prepare`], and [`RecallError::Dimensions`].
    async fn apply(&self, changes: Vec<Change>) -> Result<(), RecallError>;

    /// Finds candidates by dense vector, by sparse vector, or by both in one request.
    ///
    /// # Errors
    /// As [`Index::apply`].
    async fn search(&self, search: Search) -> Result<Candidates, RecallError>;

    /// The speakers' names of the selected points, the most frequent first, at most
    /// `limit`. Counts may be approximate.
    ///
    /// # Errors
    /// As [`Index::prepare`].
    async fn names(&self, selection: &Selection, limit: usize) -> Result<Vec<String>, RecallError>;

    /// Counts how many of a tenant's points have each word, for the weights of
    /// [`Search::lexical`]: of `most` points, or of all if there are fewer.
    ///
    /// # Errors
    /// As [`Index::prepare`].
    async fn word_counts(&self, tenant: &TenantId, most: usize) -> Result<WordCounts, RecallError>;

    /// Marks the index as being rebuilt or as complete. Until the first mark
    /// [`Index::prepare`] returns [`Prepared::New`]. The mark is durable.
    ///
    /// # Errors
    /// As [`Index::prepare`].
    async fn mark_rebuilding(&self, rebuilding: bool) -> Result<(), RecallError>;

    /// Erases the selected points from every index that there is, those of former models
    /// included, and as far as the backend can from its files.
    ///
    /// # Errors
    /// As [`Index::prepare`].
    async fn erase(&self, selection: &Selection) -> Result<(), RecallError>;

    /// Counts the selected points in every index that there is.
    ///
    /// # Errors
    /// As [`Index::prepare`].
    async fn count(&self, selection: &Selection) -> Result<u64, RecallError>;

    /// Removes a collection with all its points: this one, which [`Index::prepare`] then
    /// creates anew, or one that no index of this process uses. Idempotent.
    ///
    /// # Errors
    /// As [`Index::prepare`].
    async fn discard(&self, collection: &str) -> Result<(), RecallError>;

    /// Whether it is known that the collection does not exist, because it was discarded.
    fn is_discarded(&self) -> bool {
        false
    }

    /// Shows people that this collection serves: Qdrant's alias points to it. No search
    /// depends on that.
    ///
    /// # Errors
    /// As [`Index::prepare`].
    async fn publish(&self) -> Result<(), RecallError> {
        Ok(())
    }

    /// Asks the index for its state and the number of the tenant's points. An index
    /// that does not answer is [`IndexState::Unavailable`], not an error.
    async fn status(&self, tenant: &TenantId) -> IndexStatus;

    /// The state at the last answer, without asking the index.
    fn last_state(&self) -> IndexState;

    /// A permanent problem that keeps the index from answering, with its remedy, in
    /// words; `None` without one.
    fn flaw(&self) -> Option<&str> {
        None
    }

    /// Writes what is left to write, and closes the index. Later calls fail.
    async fn stop(&self);
}

/// Opens the configured index without contacting or loading it; [`Index::prepare`] does
/// that.
///
/// # Errors
/// [`RecallError::Config`] if the backend's settings are missing or invalid,
/// [`RecallError::IndexDirectory`] if the embedded engine's directory cannot be created
/// or is in use.
pub fn open_index(
    config: &IndexConfig,
    schema: IndexSchema,
) -> Result<Arc<dyn Index>, RecallError> {
    if config.uses_edge() {
        Ok(Arc::new(EdgeIndex::open(config, schema)?))
    } else {
        Ok(Arc::new(QdrantIndex::connect(config, schema)?))
    }
}

/// Opens two indexes of the same configuration with different schemas: the first as
/// [`open_index`] does, and another beside it.
///
/// # Errors
/// As [`open_index`].
pub fn open_indexes(
    config: &IndexConfig,
    first: IndexSchema,
    next: IndexSchema,
) -> Result<[Arc<dyn Index>; 2], RecallError> {
    if config.uses_edge() {
        let first = EdgeIndex::open(config, first)?;
        let next = first.open_beside(config, next)?;
        Ok([Arc::new(first), Arc::new(next)])
    } else {
        Ok([open_index(config, first)?, open_index(config, next)?])
    }
}

/// A kind of index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Backend {
    /// The embedded engine.
    Edge,
    /// A Qdrant cluster.
    Qdrant,
}

impl Backend {
    /// Its name: `qdrant-edge` or `qdrant`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Edge => "qdrant-edge",
            Self::Qdrant => "qdrant",
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The result of [`Index::prepare`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prepared {
    /// The collection is complete.
    Whole,
    /// A rebuild of the collection has not ended.
    Rebuilding,
    /// The collection is new or was lost; every message and memory has to be queued.
    New,
}

/// The point of a message.
#[derive(Clone, Debug)]
pub struct Point {
    /// The message. With the tenant it determines the point's id.
    pub message: MessageId,
    /// The owner of the message. Every search is filtered by it.
    pub tenant: TenantId,
    /// The app of its thread.
    pub app: AppId,
    /// The user of its thread; may be empty.
    pub user: UserId,
    /// The thread that it belongs to.
    pub thread: ThreadId,
    /// Its place in the thread, from 1.
    pub seq: i64,
    /// The branch of the thread, from 1.
    pub branch: i32,
    /// Messages on the path from the root to it, itself included.
    pub depth: i32,
    /// Whether it ends with a question mark.
    pub question: bool,
    /// Whether its text is short (under 60 characters).
    pub short: bool,
    /// The speaker's role.
    pub role: Role,
    /// The speaker's name; may be empty.
    pub name: String,
    /// Its creation time.
    pub said: OffsetDateTime,
    /// The words and traits of its text.
    pub form: Form,
    /// The caller's metadata. Strings, numbers, booleans and nulls can be filtered by.
    pub metadata: JsonObject,
    /// Dense vector of length 1; `None` in an index without a model.
    pub dense: Option<Vec<f32>>,
    /// BM25 weights of its words.
    pub lexical: LexicalVector,
}

/// The point of a long-term memory.
#[derive(Clone, Debug)]
pub struct MemoryPoint {
    /// The tenant. With the memory's id it determines the point's id.
    pub tenant: TenantId,
    /// The memory's text and the fields to filter by.
    pub memory: MemoryRecord,
    /// Dense vector of length 1; `None` in an index without a model.
    pub dense: Option<Vec<f32>>,
    /// BM25 weights of its words.
    pub lexical: LexicalVector,
}

/// The message or memory of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Subject {
    /// A message of a thread.
    Message(MessageId),
    /// A long-term memory.
    Memory(MemoryId),
}

/// A change of the index.
#[derive(Clone, Debug)]
pub enum Change {
    /// Adds or overwrites a message.
    Upsert(Box<Point>),
    /// Adds or overwrites a memory.
    UpsertMemory(Box<MemoryPoint>),
    /// Deletes a message or a memory.
    Delete {
        /// The owner of the point.
        tenant: TenantId,
        /// What to delete.
        subject: Subject,
    },
    /// Deletes the messages of a thread up to a seq.
    Purge {
        /// The owner of the thread.
        tenant: TenantId,
        /// The thread whose messages are deleted.
        thread: ThreadId,
        /// The last seq to delete, inclusive.
        up_to_seq: i64,
    },
}

/// A search for candidates.
#[derive(Clone, Debug)]
pub struct Search {
    /// The points that may be found.
    pub selection: Selection,
    /// The query's dense vector; `None` for no dense search.
    pub dense: Option<Vec<f32>>,
    /// The query's words, weighed by [`WordCounts::weigh`]; `None` for no lexical search.
    pub lexical: Option<LexicalVector>,
    /// Most candidates of each of the two searches.
    pub limit: usize,
}

/// The result of a search. Each list is ordered best first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Candidates {
    /// Dense candidates; the score is the cosine similarity.
    pub dense: Vec<Candidate>,
    /// Lexical candidates; the score is the dot product with the query, above 0.
    pub lexical: Vec<Candidate>,
    /// The ids of lexical candidates that have no vector yet. A hybrid ranking weighs them
    /// by their words alone.
    pub unembedded: HashSet<Uuid>,
}

/// A found message or memory with the fields that the ranking needs. For a memory only
/// `id` and `score` are meaningful.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The id of the message or the memory.
    pub id: Uuid,
    /// The thread that it belongs to.
    pub thread: ThreadId,
    /// Its place in the thread, from 1.
    pub seq: i64,
    /// The branch of the thread, from 1.
    pub branch: i32,
    /// Messages on the path from the root to it, itself included.
    pub depth: i32,
    /// The speaker's name; may be empty.
    pub name: Arc<str>,
    /// Whether it ends with a question mark.
    pub question: bool,
    /// Whether its text is short (under 60 characters).
    pub short: bool,
    /// Its creation time, in microseconds since 1970.
    pub said: i64,
    /// The words and traits of its text; `None` if its point was written before there were
    /// any.
    pub form: Option<Form>,
    /// Score within its list.
    pub score: f32,
}

/// The words of a text as a sparse vector.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LexicalVector {
    /// FNV-1a hashes of the words, ascending and distinct.
    pub indices: Vec<u32>,
    /// The weight of each word, in the same order.
    pub values: Vec<f32>,
}

impl LexicalVector {
    /// The words of a query, each with weight 1.
    pub fn of_query(query: &str) -> Self {
        crate::text::lexical_query(query, &[])
    }

    /// The sum of the products of the weights of the words that both have.
    pub(crate) fn dot(&self, document: &Self) -> f32 {
        let weight = |word: &u32| {
            let place = document.indices.binary_search(word).ok()?;
            document.values.get(place).copied()
        };
        let words = self.indices.iter().zip(&self.values);
        words
            .filter_map(|(word, value)| Some(value * weight(word)?))
            .sum()
    }
}

/// Whether an index answers, and completely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexState {
    /// It answers, and its points are complete.
    Ready,
    /// It is being rebuilt, and answers from the points that it has.
    Rebuilding,
    /// It does not answer.
    Unavailable,
}

/// The state and size of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexStatus {
    /// Whether it answers, and completely.
    pub state: IndexState,
    /// The name of the versioned collection.
    pub collection: String,
    /// The tenant's points; 0 if the index does not answer.
    pub points: u64,
}
